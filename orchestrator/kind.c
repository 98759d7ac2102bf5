/* kind.c: what a count is of, and what may be joined with what. */
#include "orchestrator/kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LIMIT_PPM 5000
#define CHECKS    64

const char *const fm_kind_name[FM_KINDS] = {
        "core_cycles", "ref_ticks", "ns", "derived_cycles", "emulated"};

int fm_kind_join(enum fm_kind a, double hz_a, enum fm_kind b, double hz_b)
{
	if (a != b || a == FM_KIND_EMULATED)
		return fm_fail(
		        FM_ERR_USAGE, "not comparable: %s / %s", fm_kind_name[a], fm_kind_name[b]);
	if (a == FM_KIND_REF_TICKS && hz_a != hz_b)
		return fm_fail(FM_ERR_USAGE,
		        "not comparable: ref_ticks of %.0f Hz / ref_ticks of %.0f Hz", hz_a, hz_b);
	return FM_OK;
}

enum fm_kind fm_cell_kind(const struct fm_cell_fig *c)
{
	return c->emulated                   ? FM_KIND_EMULATED
	       : c->count == FM_COUNT_CYCLES ? FM_KIND_CORE_CYCLES
	       : c->count == FM_COUNT_TICKS  ? FM_KIND_REF_TICKS
	                                     : FM_KIND_NS;
}

static void refuse(struct fm_derived *d, const char *what, int64_t ppm)
{
	snprintf(d->why, sizeof d->why, "%s of the core clock is %.2f %%, the limit 0.50 %%", what,
	        (double)ppm / 1e4);
}

void fm_derived_clock(const struct fm_ev_clock *checks, size_t count, struct fm_derived *out)
{
	double hz[CHECKS];
	int64_t iqr = 0, drift = 0;

	*out = (struct fm_derived){NAN, NAN, ""};
	if (count > CHECKS)
		count = CHECKS;
	for (size_t i = 0; i < count; i++) {
		if (checks[i].measured_hz <= 0 || checks[i].iqr_ppm < 0 ||
		        checks[i].drift_ppm < 0) {
			snprintf(out->why, sizeof out->why, "the core clock was not measured");
			return;
		}
		hz[i] = (double)checks[i].measured_hz;
		iqr = checks[i].iqr_ppm > iqr ? checks[i].iqr_ppm : iqr;
		drift = checks[i].drift_ppm > drift ? checks[i].drift_ppm : drift;
	}
	if (count < 2) {
		snprintf(out->why, sizeof out->why,
		        "the core clock was checked %zu times, not at "
		        "start and end",
		        count);
	} else if (iqr > LIMIT_PPM) {
		refuse(out, "IQR / median", iqr);
	} else if (drift > LIMIT_PPM) {
		refuse(out, "the drift", drift);
	} else {
		fm_sort(hz, count);
		out->hz = fm_median(hz, count);
		out->half = ((double)iqr / 2 + (double)drift) / 1e6;
	}
}

double fm_derived_half(const struct fm_derived *d, double relative_half_of_time)
{
	return d->half + relative_half_of_time;
}
