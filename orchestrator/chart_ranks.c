/* chart_ranks.c: draws how places change from system to system: a column each, a line per instance.
 */
#include "orchestrator/chart.h"
#include "orchestrator/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 360.0
#define TOP   30.0
#define STEP  20.0
#define RIGHT 300.0 /* of the last column: its words follow */

struct draw {
	struct fm_buf *out;
	const struct fm_rank_line *lines;
	size_t count, columns;
	double first;  /* x of the first column */
	size_t *place; /* [column * count + line]: 0 is on top */
};

/* Ranks may be shared, places not: lines of one rank stand in the order given. */
static void find_places(struct draw *d)
{
	for (size_t c = 0; c < d->columns; c++)
		for (size_t i = 0; i < d->count; i++) {
			size_t n = 0;
			for (size_t k = 0; k < d->count; k++)
				n += d->lines[k].rank[c] < d->lines[i].rank[c] ||
				     (d->lines[k].rank[c] == d->lines[i].rank[c] && k < i);
			d->place[c * d->count + i] = n;
		}
}

static double at_x(const struct draw *d, size_t column)
{
	return d->first + (RIGHT - d->first) * (double)column / (double)(d->columns - 1);
}

static double at_y(const struct draw *d, size_t column, size_t line)
{
	return TOP + STEP * ((double)d->place[column * d->count + line] + 0.5);
}

static int put_text(struct draw *d, double x, double y, const char *anchor, const char *words)
{
	int rc = fm_buf_printf(
	        d->out, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">", x, y, anchor);

	if (rc == FM_OK && (rc = fm_html_text(d->out, words, strlen(words))) == FM_OK)
		rc = fm_buf_puts(d->out, "</text>\n");
	return rc;
}

/* Behind the last column: its rank, and the way from the first one in words and sign. */
static void end_words(const struct fm_rank_line *l, size_t columns, char out[48])
{
	size_t from = l->rank[0], to = l->rank[columns - 1];

	if (from == to)
		snprintf(out, 48, "%zu (=)", to);
	else
		snprintf(out, 48, "%zu (%s %zu)", to, to < from ? "\xe2\x96\xb2" : "\xe2\x96\xbc",
		        to < from ? from - to : to - from);
}

static int one_line(struct draw *d, size_t i)
{
	const struct fm_rank_line *l = &d->lines[i];
	size_t last = d->columns - 1;
	bool up = l->rank[last]<l->rank[0], down = l->rank[last]> l->rank[0];
	const char *colour = up ? fm_chart_colour(2) : down ? fm_chart_colour(1) : "currentColor";
	char words[48];
	int rc = fm_buf_printf(d->out,
	        "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-dasharray=\"%s\" "
	        "d=\"",
	        colour, up || down ? "2" : "1", down ? "6 3" : "none");

	for (size_t c = 0; c < d->columns && rc == FM_OK; c++)
		rc = fm_buf_printf(
		        d->out, "%s%.2f %.2f", c == 0 ? "M" : "L", at_x(d, c), at_y(d, c, i));
	if (rc == FM_OK)
		rc = fm_buf_puts(d->out, "\"/>\n");
	for (size_t c = 0; c < d->columns && rc == FM_OK; c++)
		rc = fm_buf_printf(d->out,
		        "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3.5\" fill=\"%s\"/>\n", at_x(d, c),
		        at_y(d, c, i), colour);
	snprintf(words, sizeof words, "%.30s %zu", l->name, l->rank[0]);
	if (rc == FM_OK)
		rc = put_text(d, d->first - 8, at_y(d, 0, i) + 4, "end", words);
	end_words(l, d->columns, words);
	return rc == FM_OK ? put_text(d, RIGHT + 8, at_y(d, last, i) + 4, "start", words) : rc;
}

static int describe(const struct draw *d, const char *const *columns, struct fm_buf *out)
{
	int rc = fm_buf_puts(out, "Places from the first column to the last. ");
	char words[48];

	for (size_t i = 0; i < d->count && rc == FM_OK; i++) {
		end_words(&d->lines[i], d->columns, words);
		rc = fm_buf_printf(out, "%s: %zu on %s, %s on %s; ", d->lines[i].name,
		        d->lines[i].rank[0], columns[0], words, columns[d->columns - 1]);
	}
	return rc == FM_OK ? fm_buf_puts(out, "all ranks stand in the table beside it.") : rc;
}

int fm_chart_ranks(struct fm_buf *out, size_t number, const char *title, const char *const *columns,
        size_t column_count, const struct fm_rank_line *lines, size_t count)
{
	struct draw d = {out, lines, count,
	        column_count < FM_RANK_COLUMNS ? column_count : FM_RANK_COLUMNS, 60,
	        fm_alloc_array(FM_RANK_COLUMNS * count + 1, sizeof *d.place)};
	struct fm_buf words = FM_BUF_INIT(65536);
	int rc = FM_ERR_MEMORY;

	if (d.place == NULL || d.columns < 2)
		goto out;
	for (size_t i = 0; i < count; i++)
		d.first = fmax(d.first, fmin(26 + 6.4 * (double)strlen(lines[i].name), 210));
	find_places(&d);
	if ((rc = describe(&d, columns, &words)) != FM_OK ||
	        (rc = fm_chart_begin(
	                 out, number, TOP + STEP * (double)count + 6, title, words.data)) != FM_OK)
		goto out;
	for (size_t c = 0; c < d.columns && rc == FM_OK; c++) {
		rc = put_text(&d, at_x(&d, c), 14, "middle", columns[c]);
		if (rc == FM_OK)
			rc = fm_buf_printf(out, "<path class=\"grid\" d=\"M%.2f %.2fV%.2f\"/>\n",
			        at_x(&d, c), TOP - 8, TOP + STEP * (double)count);
	}
	for (size_t i = 0; i < count && rc == FM_OK; i++)
		rc = one_line(&d, i);
	if (rc == FM_OK)
		rc = fm_buf_puts(out, "</svg>\n");
out:
	free(d.place);
	fm_buf_free(&words);
	return rc;
}
