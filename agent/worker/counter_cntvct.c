/* counter_cntvct.c: ticks of the aarch64 virtual counter: a constant clock, never cycles of the
 * core. */
#include "agent/worker/counter.h"

#if defined(__aarch64__)
static int open_cntvct(struct fm_counter *c, int cpu)
{
	uint64_t hz;

	(void)cpu;
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	if (hz == 0)
		return fm_fail(FM_ERR_MISSING, "CNTFRQ_EL0 is 0");
	c->hz = hz;
	return FM_OK;
}

static int read_cntvct(struct fm_counter *c, uint64_t *value)
{
	(void)c;
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(*value) : : "memory");
	return FM_OK;
}

const struct fm_counter_ops fm_counter_cntvct = {
        "cntvct", FM_LABEL_REF_TICKS, open_cntvct, read_cntvct, NULL, NULL};
#else
typedef int fm_counter_cntvct_is_arm; /* ISO C wants a declaration in every file */
#endif
