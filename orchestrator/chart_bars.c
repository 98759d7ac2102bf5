/* chart_bars.c: draws horizontal bars from 0, grouped, each system with its colour and hatch. */
#include "orchestrator/chart.h"
#include "orchestrator/html.h"
#include "orchestrator/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 360.0
#define LEFT  6.0
#define RIGHT 74.0 /* room for the value */
#define TOP   40.0
#define BAR   11.0
#define GAP   3.0
#define NAME  15.0

struct draw {
	struct fm_buf *out;
	int error;
	double most; /* value at the right border */
};

static void svg(struct draw *d, const char *format, ...) FM_PRINTF(2, 3);
static void svg(struct draw *d, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (d->error == FM_OK)
		d->error = fm_buf_puts(d->out, text);
}

static void text(struct draw *d, double x, double y, const char *words)
{
	svg(d, "<text x=\"%.2f\" y=\"%.2f\">", x, y);
	if (d->error == FM_OK)
		d->error = fm_html_text(d->out, words, strlen(words));
	svg(d, "</text>\n");
}

/* Hatches by look: none, lines one way, lines the other way, dots. */
static void patterns(struct draw *d, size_t number, size_t looks)
{
	static const char *const shape[] = {"M0 0H6V6H0z", "M-1 7L7 -1M-1 1L1 -1M5 7L7 5",
	        "M-1 -1L7 7M-1 5L1 7M5 -1L7 1", "M1 3h1M4 0h1"};

	svg(d, "<defs>\n");
	for (size_t i = 0; i < looks; i++) {
		const char *c = fm_chart_colour((int)i);
		size_t k = (i % 4 + i / 4) % 4;
		svg(d,
		        "<pattern id=\"h%zu-%zu\" width=\"6\" height=\"6\" "
		        "patternUnits=\"userSpaceOnUse\"><path d=\"%s\" fill=\"%s\" "
		        "stroke=\"%s\" stroke-width=\"2\"/></pattern>\n",
		        number, i, shape[k], k == 0 ? c : "none", c);
	}
	svg(d, "</defs>\n");
}

static double at(const struct draw *d, double value)
{
	return LEFT + fmin(value / d->most, 1) * (WIDTH - RIGHT - LEFT);
}

static void one_bar(struct draw *d, size_t number, const struct fm_bar *b, double y)
{
	const char *c = fm_chart_colour(b->look);
	double end;

	if (!isfinite(b->value)) {
		text(d, LEFT + 4, y + BAR - 2, b->text);
		return;
	}
	end = at(d, b->value);
	svg(d,
	        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"url(#h%zu-%d)\" "
	        "stroke=\"%s\"/>\n",
	        LEFT, y, fmax(end - LEFT, 0.5), BAR, number, b->look, c);
	if (b->value > d->most) /* cut: two slanted strokes */
		svg(d, "<path class=\"axis\" d=\"M%.2f %.2fl4 %.2fm3 0l-4 -%.2f\"/>\n", end - 12,
		        y - 1, BAR + 2, BAR + 2);
	else if (at(d, b->high) - at(d, b->low) > 2)
		svg(d, "<path class=\"axis\" d=\"M%.2f %.2fv5m0 -2.5H%.2fm0 -2.5v5\"/>\n",
		        at(d, b->low), y + BAR / 2 - 2.5, at(d, b->high));
	text(d, fmax(end, at(d, b->high)) + 4, y + BAR - 2, b->text);
}

/* 1.1 x the 95th percentile, so that one slow candidate does not flatten all others. */
static int scale(struct draw *d, const struct fm_bar *bars, size_t count)
{
	double *v = fm_alloc_array(count + 1, sizeof *v), most = 0, limit;
	size_t n = 0;

	if (v == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < count; i++)
		if (isfinite(bars[i].value))
			v[n++] = bars[i].value;
	d->most = 1;
	if (n > 0) {
		fm_sort(v, n);
		most = v[n - 1];
		limit = 1.1 * fm_quantile(v, n, 0.95);
		d->most = most > limit ? limit : most;
	}
	free(v);
	return FM_OK;
}

/* The systems that have a bar here. */
static void legend(struct draw *d, size_t number, const struct fm_bar *bars, size_t bar_count,
        const char *const *systems, size_t count)
{
	double x = LEFT;

	for (size_t i = 0; i < count; i++) {
		bool used = false;
		for (size_t k = 0; k < bar_count; k++)
			used = used || bars[k].look == (int)i;
		if (!used || x > WIDTH - 60)
			continue;
		svg(d,
		        "<rect x=\"%.2f\" y=\"22\" width=\"14\" height=\"10\" "
		        "fill=\"url(#h%zu-%zu)\" stroke=\"%s\"/>\n",
		        x, number, i, fm_chart_colour((int)i));
		text(d, x + 18, 31, systems[i]);
		x += 26 + 6.5 * (double)strlen(systems[i]);
	}
}

static int describe(const struct fm_bar *bars, size_t count, const char *const *systems,
        const char *unit, struct fm_buf *out)
{
	int rc = fm_buf_printf(out, "Bars in %s. ", unit);

	for (size_t i = 0; i < count && rc == FM_OK && i < 200; i++)
		rc = fm_buf_printf(
		        out, "%s on %s: %s; ", bars[i].group, systems[bars[i].look], bars[i].text);
	return rc == FM_OK ? fm_buf_puts(out, "all figures stand in the table beside it.") : rc;
}

int fm_chart_draw_bars(struct fm_buf *out, size_t number, const char *title, const char *unit,
        const struct fm_bar *bars, size_t count, const char *const *systems, size_t system_count)
{
	struct draw d = {.out = out};
	struct fm_buf words = FM_BUF_INIT(262144);
	double y = TOP, height = TOP;
	int rc;

	for (size_t i = 0; i < count; i++)
		height += BAR + GAP +
		          (i == 0 || strcmp(bars[i].group, bars[i - 1].group) != 0 ? NAME + 2 : 0);
	if ((rc = scale(&d, bars, count)) != FM_OK ||
	        (rc = describe(bars, count, systems, unit, &words)) != FM_OK ||
	        (rc = fm_chart_begin(out, number, height + 4, title, words.data)) != FM_OK)
		goto out;
	patterns(&d, number, system_count);
	text(&d, LEFT, 14, unit);
	legend(&d, number, bars, count, systems, system_count);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || strcmp(bars[i].group, bars[i - 1].group) != 0) {
			y += NAME;
			text(&d, LEFT + 4, y - 3, bars[i].group);
			y += 2;
		}
		one_bar(&d, number, &bars[i], y);
		y += BAR + GAP;
	}
	svg(&d, "<path class=\"axis\" d=\"M%.2f %.2fV%.2f\"/>\n</svg>\n", LEFT, TOP, y);
	rc = d.error;
out:
	fm_buf_free(&words);
	return rc;
}
