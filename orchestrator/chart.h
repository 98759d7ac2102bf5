/* chart.h: pictures as inline SVG, 360 units wide, two decimals, no script, every colour with its
 * own marker, dash and hatch. */
#ifndef FM_CHART_H
#define FM_CHART_H

#include "protocol/buf.h"

#define FM_CHART_MAX    (4u << 20) /* bytes of one picture */
#define FM_CHART_POINTS 16         /* sizes of one line */

struct fm_chart_point {
	double x, y, low, high; /* bytes; value and its interval, all above 0 */
	bool flagged;           /* drawn hollow */
};
struct fm_series {
	char name[96]; /* at the line's end */
	int look;      /* colour, marker, dash: 0, 1, 2 ... */
	struct fm_chart_point point[FM_CHART_POINTS];
	size_t count;
};

/* Size curves on log axes. number makes the ids of the picture unique on its page; unit is the axis
 * title. Series without points are left out; FM_OK and an empty out when nothing is left. */
FM_CHECK int fm_chart_curves(struct fm_buf *out, size_t number, const char *title, const char *unit,
        const struct fm_series *series, size_t count);

struct fm_bar {
	char group[96]; /* written above the first bar of a group; bars of a group stand together */
	int look;
	double value, low, high; /* NAN value: no bar, text alone */
	char text[64];           /* behind the bar */
};
/* Horizontal bars from 0, in the order given. systems: names for the legend by look. */
FM_CHECK int fm_chart_draw_bars(struct fm_buf *out, size_t number, const char *title,
        const char *unit, const struct fm_bar *bars, size_t count, const char *const *systems,
        size_t system_count);

/* One flagged cell: a mark per process, placed by its mean, first process on top. */
struct fm_strip {
	char name[160];
	const double *value; /* count means, 1 or more, above 0 */
	size_t count;
	double median;
	char least[32], middle[32], most[32]; /* the words for smallest, median, largest */
};
FM_CHECK int fm_chart_strips(struct fm_buf *out, size_t number, const char *title, const char *unit,
        const struct fm_strip *strips, size_t count);

/* Places of the same things in several columns, lines between them. */
#define FM_RANK_COLUMNS 8
struct fm_rank_line {
	char name[96];
	size_t rank[FM_RANK_COLUMNS]; /* 1 is the first; equal ones share a place in words */
};
FM_CHECK int fm_chart_ranks(struct fm_buf *out, size_t number, const char *title,
        const char *const *columns, size_t column_count, const struct fm_rank_line *lines,
        size_t count);

/* Parts shared by all. */
const char *fm_chart_colour(int look);
FM_CHECK int fm_chart_begin(struct fm_buf *out, size_t number, double height, const char *title,
        const char *description);

#endif
