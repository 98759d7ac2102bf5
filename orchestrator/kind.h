/* kind.h: what a count is of, as a type: unlike kinds never meet in a column, a ratio or a ranking.
 */
#ifndef FM_KIND_H
#define FM_KIND_H

#include "orchestrator/cells.h"
#include "orchestrator/evidence.h"

enum fm_kind {
	FM_KIND_CORE_CYCLES,    /* of a hardware counter, user mode */
	FM_KIND_REF_TICKS,      /* of a constant clock; of one rate only */
	FM_KIND_NS,             /* wall time */
	FM_KIND_DERIVED_CYCLES, /* wall time x a core clock that passed its check */
	FM_KIND_EMULATED,       /* whatever an emulator counted: joins with nothing */
	FM_KINDS
};
extern const char *const fm_kind_name[FM_KINDS];

/* May these two meet? hz: the rate of ticks, else 0. FM_ERR_USAGE with "not comparable: a / b". */
FM_CHECK int fm_kind_join(enum fm_kind a, double hz_a, enum fm_kind b, double hz_b);

/* What a measured cell's counts are. */
enum fm_kind fm_cell_kind(const struct fm_cell_fig *c);

/* Core cycles from wall time. The clock counts when every check of it had IQR / median <= 0.5 % and
 * drift <= 0.5 %, first and last at least. */
struct fm_derived {
	double hz;    /* median of the checks; NAN: refused */
	double half;  /* relative half-width of the clock itself */
	char why[96]; /* the limit that failed, "" */
};
void fm_derived_clock(const struct fm_ev_clock *checks, size_t count, struct fm_derived *out);

/* seconds x clock: the half-width is that of the time plus that of the clock, both relative. */
double fm_derived_half(const struct fm_derived *d, double relative_half_of_time);

#endif
