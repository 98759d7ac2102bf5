/* chart_curves.c: draws size curves on log axes. */
#include "orchestrator/chart.h"
#include "orchestrator/html.h"
#include "orchestrator/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH  360.0
#define HEIGHT 270.0
#define LEFT   40.0
#define TOP    26.0
#define BOTTOM 40.0
#define LETTER 6.9 /* width of a letter of 11 units */

/* Colours that people with any kind of colour blindness tell apart, 3:1 or better on white and on
 * #14171a. */
const char *fm_chart_colour(int look)
{
	static const char *const colour[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7"};
	return colour[look % 4];
}

int fm_chart_begin(struct fm_buf *out, size_t number, double height, const char *title,
        const char *description)
{
	int rc = fm_buf_printf(out,
	        "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"ct%zu cd%zu\" "
	        "font-size=\"11\" "
	        "font-family=\"system-ui, sans-serif\">\n<title id=\"ct%zu\">",
	        WIDTH, height, number, number, number);

	if (rc == FM_OK && (rc = fm_html_text(out, title, strlen(title))) == FM_OK &&
	        (rc = fm_buf_printf(out, "</title>\n<desc id=\"cd%zu\">", number)) == FM_OK &&
	        (rc = fm_html_text(out, description, strlen(description))) == FM_OK)
		rc = fm_buf_puts(out, "</desc>\n");
	return rc;
}

struct frame {
	struct fm_buf *out;
	int error;
	double right;          /* where the plot ends */
	double x0, x1, y0, y1; /* logarithms of the borders */
};

static void svg(struct frame *f, const char *format, ...) FM_PRINTF(2, 3);
static void svg(struct frame *f, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (f->error == FM_OK)
		f->error = fm_buf_puts(f->out, text);
}

static double at_x(const struct frame *f, double bytes)
{
	return f->x1 > f->x0 ? LEFT + (log2(bytes) - f->x0) / (f->x1 - f->x0) * (f->right - LEFT)
	                     : (LEFT + f->right) / 2;
}

static double at_y(const struct frame *f, double value)
{
	return HEIGHT - BOTTOM - (log10(value) - f->y0) / (f->y1 - f->y0) * (HEIGHT - BOTTOM - TOP);
}

/* Borders: the points, and on y the next ticks of 1-2-5 around them. */
static double tick_below(double v, bool above)
{
	static const double step[] = {1, 2, 5, 10};
	double ten = pow(10, floor(log10(v)));

	for (int i = 0; i < 4; i++)
		if (above ? step[i] * ten >= v * 0.999999
		          : i == 3 || step[i + 1] * ten > v * 1.000001)
			return step[i] * ten;
	return 10 * ten;
}

static void borders(struct frame *f, const struct fm_series *s, size_t count)
{
	double least = INFINITY, most = 0, small = INFINITY, large = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < s[i].count; k++) {
			const struct fm_chart_point *p = &s[i].point[k];
			least = fmin(least, fmin(p->y, p->low));
			most = fmax(most, fmax(p->y, p->high));
			small = fmin(small, p->x);
			large = fmax(large, p->x);
		}
	f->x0 = log2(small);
	f->x1 = log2(large);
	f->y0 = log10(tick_below(least, false));
	f->y1 = log10(tick_below(most, true));
	if (f->y1 - f->y0 < 0.05)
		f->y1 = f->y0 + 0.3;
}

static void axes(struct frame *f, const struct fm_series *s, size_t count, const char *unit)
{
	double label[FM_CHART_POINTS];
	size_t labelled = 0;

	for (int e = (int)floor(f->y0) - 1; e <= (int)ceil(f->y1); e++)
		for (int m = 0; m < 3; m++) {
			double v = (m == 0 ? 1 : m == 1 ? 2 : 5) * pow(10, e), l = log10(v);
			if (l < f->y0 - 1e-9 || l > f->y1 + 1e-9)
				continue;
			svg(f, "<path class=\"grid\" d=\"M%.2f %.2fH%.2f\"/>\n", LEFT, at_y(f, v),
			        f->right);
			svg(f, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\">%g</text>\n",
			        LEFT - 4, at_y(f, v) + 4, v);
		}
	for (size_t i = 0; i < count; i++) /* sizes of any line, once */
		for (size_t k = 0; k < s[i].count; k++) {
			double x = at_x(f, s[i].point[k].x);
			bool seen = false;
			for (size_t j = 0; j < i; j++)
				for (size_t n = 0; n < s[j].count; n++)
					seen = seen || s[j].point[n].x == s[i].point[k].x;
			if (seen)
				continue;
			svg(f, "<path class=\"grid\" d=\"M%.2f %.2fV%.2f\"/>\n", x, TOP,
			        HEIGHT - BOTTOM);
			bool near = false; /* labels that would touch are left out */
			for (size_t n = 0; n < labelled; n++)
				near = near || fabs(x - label[n]) < 24;
			if (near || labelled == FM_CHART_POINTS)
				continue;
			label[labelled++] = x;
			double bytes = s[i].point[k].x;
			svg(f,
			        bytes < 1024 ? "<text x=\"%.2f\" y=\"%.2f\" "
			                       "text-anchor=\"middle\">%.0f</text>\n"
			                     : "<text x=\"%.2f\" y=\"%.2f\" "
			                       "text-anchor=\"middle\">%.0fK</text>\n",
			        x, HEIGHT - BOTTOM + 14, bytes < 1024 ? bytes : bytes / 1024);
		}
	svg(f, "<path class=\"axis\" d=\"M%.2f %.2fV%.2fH%.2f\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
	        f->right);
	svg(f,
	        "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">message, bytes (K = "
	        "1024)</text>\n",
	        (LEFT + f->right) / 2, HEIGHT - 8);
	svg(f, "<text x=\"4\" y=\"14\">%s</text>\n", unit);
}

/* Circle, square, triangle, diamond; hollow when flagged. */
static void marker(struct frame *f, int look, double x, double y, bool hollow)
{
	const char *c = fm_chart_colour(look), *fill = hollow ? "var(--bg)" : c;

	switch ((look % 4 + look / 4) % 4) {
	case 0:
		svg(f, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3\" fill=\"%s\" stroke=\"%s\"/>\n", x,
		        y, fill, c);
		break;
	case 1:
		svg(f,
		        "<rect x=\"%.2f\" y=\"%.2f\" width=\"6\" height=\"6\" fill=\"%s\" "
		        "stroke=\"%s\"/>\n",
		        x - 3, y - 3, fill, c);
		break;
	case 2:
		svg(f, "<path d=\"M%.2f %.2fl3.5 6h-7z\" fill=\"%s\" stroke=\"%s\"/>\n", x, y - 3.5,
		        fill, c);
		break;
	default:
		svg(f, "<path d=\"M%.2f %.2fl3.5 4l-3.5 4l-3.5 -4z\" fill=\"%s\" stroke=\"%s\"/>\n",
		        x, y - 4, fill, c);
	}
}

static void line(struct frame *f, const struct fm_series *s)
{
	static const char *const dash[] = {"none", "6 3", "2 2", "8 3 2 3"};

	svg(f,
	        "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" stroke-dasharray=\"%s\" "
	        "d=\"",
	        fm_chart_colour(s->look), dash[(s->look % 4 + s->look / 4) % 4]);
	for (size_t k = 0; k < s->count; k++)
		svg(f, "%s%.2f %.2f", k == 0 ? "M" : "L", at_x(f, s->point[k].x),
		        at_y(f, s->point[k].y));
	svg(f, "\"/>\n");
	for (size_t k = 0; k < s->count; k++) {
		const struct fm_chart_point *p = &s->point[k];
		double x = at_x(f, p->x), low = at_y(f, p->low), high = at_y(f, p->high);
		if (low - high > 8)
			svg(f,
			        "<path fill=\"none\" stroke=\"%s\" d=\"M%.2f %.2fh6m-3 0V%.2fm-3 "
			        "0h6\"/>\n",
			        fm_chart_colour(s->look), x - 3, high, low);
		marker(f, s->look, x, at_y(f, p->y), p->flagged);
	}
}

struct name {
	const struct fm_series *s;
	double y;
};

static int from_top(const void *a, const void *b)
{
	double x = ((const struct name *)a)->y, y = ((const struct name *)b)->y;
	return (x > y) - (x < y);
}

/* Names with their markers at the ends of the lines, moved apart where they would touch; a thin
 * line leads to each. */
static int names(struct frame *f, const struct fm_series *s, size_t count)
{
	struct name *list = fm_alloc_array(count + 1, sizeof *list);
	double least = TOP, lowest = HEIGHT - BOTTOM + 4;

	if (list == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < count; i++)
		list[i] = (struct name){&s[i], at_y(f, s[i].point[s[i].count - 1].y)};
	qsort(list, count, sizeof *list, from_top);
	for (size_t i = 0; i < count; i++) {
		list[i].y = fmax(list[i].y, least);
		least = list[i].y + 12;
	}
	for (size_t i = count; i-- > 0;) {
		list[i].y = fmin(list[i].y, lowest);
		lowest = list[i].y - 12;
	}
	for (size_t i = 0; i < count; i++) {
		const struct fm_chart_point *p = &list[i].s->point[list[i].s->count - 1];
		svg(f, "<path fill=\"none\" stroke=\"%s\" d=\"M%.2f %.2fL%.2f %.2f\"/>\n",
		        fm_chart_colour(list[i].s->look), at_x(f, p->x) + 4, at_y(f, p->y),
		        f->right + 10, list[i].y);
		marker(f, list[i].s->look, f->right + 14, list[i].y, false);
		svg(f, "<text x=\"%.2f\" y=\"%.2f\">", f->right + 20, list[i].y + 4);
		if (f->error == FM_OK)
			f->error = fm_html_text(f->out, list[i].s->name, strlen(list[i].s->name));
		svg(f, "</text>\n");
	}
	free(list);
	return f->error;
}

/* What the picture says, in words: the value of every line at its largest size. */
static int describe(const struct fm_series *s, size_t count, const char *unit, struct fm_buf *out)
{
	int rc = fm_buf_puts(out, "Both axes are logarithmic. ");

	for (size_t i = 0; i < count && rc == FM_OK; i++) {
		const struct fm_chart_point *p = &s[i].point[s[i].count - 1];
		rc = fm_buf_printf(out, "%s: %s %s at %.0f bytes; ", s[i].name,
		        fm_n_decimals(p->y, 2).s, unit, p->x);
	}
	return rc == FM_OK ? fm_buf_puts(out, "all figures stand in the table beside it.") : rc;
}

int fm_chart_curves(struct fm_buf *out, size_t number, const char *title, const char *unit,
        const struct fm_series *all, size_t total)
{
	struct fm_series *s = fm_alloc_array(total + 1, sizeof *s);
	struct fm_buf words = FM_BUF_INIT(65536);
	struct frame f = {.out = out};
	size_t count = 0, longest = 0;
	int rc = FM_ERR_MEMORY;

	if (s == NULL)
		goto out;
	for (size_t i = 0; i < total; i++)
		if (all[i].count > 0) {
			s[count++] = all[i];
			longest = strlen(all[i].name) > longest ? strlen(all[i].name) : longest;
		}
	rc = FM_OK;
	if (count == 0)
		goto out;
	f.right = WIDTH - fmin(fmax((double)longest * LETTER + 24, 60), 158);
	borders(&f, s, count);
	if ((rc = describe(s, count, unit, &words)) != FM_OK ||
	        (rc = fm_chart_begin(out, number, HEIGHT, title, words.data)) != FM_OK)
		goto out;
	axes(&f, s, count, unit);
	for (size_t i = 0; i < count; i++)
		line(&f, &s[i]);
	if ((rc = names(&f, s, count)) == FM_OK)
		rc = fm_buf_puts(out, "</svg>\n");
out:
	fm_buf_free(&words);
	free(s);
	return rc;
}
