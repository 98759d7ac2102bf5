/* chart_strips.c: draws the single processes of flagged cells, a strip each. */
#include "orchestrator/chart.h"
#include "orchestrator/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH  360.0
#define LEFT   12.0
#define RIGHT  348.0
#define NAME   16.0 /* height of the name above a strip */
#define FIGURE 20.0 /* of the figures below it */

static double height_of(const struct fm_strip *s)
{
	return fmin(fmax(7.0 * (double)s->count, 20), 140);
}

static int put_text(struct fm_buf *out, double x, double y, const char *anchor, const char *words)
{
	int rc =
	        fm_buf_printf(out, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">", x, y, anchor);

	if (rc == FM_OK && (rc = fm_html_text(out, words, strlen(words))) == FM_OK)
		rc = fm_buf_puts(out, "</text>\n");
	return rc;
}

/* Smallest at the left border, largest at the right one, the median as a line across. */
static int one_strip(struct fm_buf *out, const struct fm_strip *s, double top)
{
	double low = s->value[0], high = s->value[0], h = height_of(s), bottom = top + NAME + h, x;
	int rc;

	for (size_t i = 1; i < s->count; i++) {
		low = fmin(low, s->value[i]);
		high = fmax(high, s->value[i]);
	}
#define AT(v) (high > low ? LEFT + ((v)-low) / (high - low) * (RIGHT - LEFT) : (LEFT + RIGHT) / 2)
	x = AT(s->median);
	if ((rc = put_text(out, 4, top + 11, "start", s->name)) != FM_OK ||
	        (rc = fm_buf_printf(out,
	                 "<path class=\"grid\" d=\"M%.2f %.2fV%.2fH%.2fV%.2f\"/>\n<path "
	                 "class=\"axis\" stroke-dasharray=\"3 2\" d=\"M%.2f %.2fV%.2f\"/>\n",
	                 LEFT, top + NAME, bottom, RIGHT, top + NAME, x, top + NAME, bottom)) !=
	                FM_OK)
		return rc;
	for (size_t i = 0; i < s->count && rc == FM_OK; i++)
		rc = fm_buf_printf(out,
		        "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3\" fill=\"%s\" stroke=\"var(--bg)\" "
		        "stroke-width=\"0.6\"/>\n",
		        AT(s->value[i]), top + NAME + ((double)i + 0.5) * h / (double)s->count,
		        fm_chart_colour(0));
#undef AT
	if (rc == FM_OK)
		rc = put_text(out, LEFT - 8, bottom + 13, "start", s->least);
	if (rc == FM_OK)
		rc = put_text(out, RIGHT + 8, bottom + 13, "end", s->most);
	if (rc == FM_OK && x > LEFT + 90 &&
	        x < RIGHT - 90) /* else its line alone: the table has it */
		rc = put_text(out, x, bottom + 13, "middle", s->middle);
	return rc;
}

static int describe(const struct fm_strip *s, size_t count, struct fm_buf *out)
{
	int rc = fm_buf_puts(out, "A mark per process, the first on top; the dashed line is the "
	                          "median; every strip has its own scale. ");

	for (size_t i = 0; i < count && rc == FM_OK; i++)
		rc = fm_buf_printf(out, "%s: %s to %s, median %s; ", s[i].name, s[i].least,
		        s[i].most, s[i].middle);
	return rc == FM_OK ? fm_buf_puts(out, "all figures stand in the table beside it.") : rc;
}

int fm_chart_strips(struct fm_buf *out, size_t number, const char *title, const char *unit,
        const struct fm_strip *strips, size_t count)
{
	struct fm_buf words = FM_BUF_INIT(65536);
	double y = 20, height = 24;
	int rc = FM_OK;

	for (size_t i = 0; i < count; i++)
		height += NAME + height_of(&strips[i]) + FIGURE;
	if ((rc = describe(strips, count, &words)) == FM_OK &&
	        (rc = fm_chart_begin(out, number, height, title, words.data)) == FM_OK)
		rc = put_text(out, 4, 12, "start", unit);
	for (size_t i = 0; i < count && rc == FM_OK; i++) {
		rc = one_strip(out, &strips[i], y);
		y += NAME + height_of(&strips[i]) + FIGURE;
	}
	if (rc == FM_OK)
		rc = fm_buf_puts(out, "</svg>\n");
	fm_buf_free(&words);
	return rc;
}
