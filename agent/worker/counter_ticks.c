/* counter_ticks.c: ticks of the processor's constant clock (TSC, CNTVCT): never cycles of the core.
 */
#include "agent/worker/counter.h"

#include "agent/worker/host.h"
#include "agent/worker/ops.h"

#include <string.h>

/* The word stands in the first "flags" line of /proc/cpuinfo. */
static bool has_flag(const char *text, const char *word)
{
	const char *line = strstr(text, "\nflags"), *end, *at;
	const size_t len = strlen(word);

	if (line == NULL)
		return false;
	end = strchr(line + 1, '\n');
	for (at = strstr(line, word); at != NULL && (end == NULL || at < end);
	        at = strstr(at + 1, word))
		if (at[-1] == ' ' && (at[len] == ' ' || at[len] == '\n' || at[len] == '\0'))
			return true;
	return false;
}

static int open_tsc(struct fm_counter *c, int cpu)
{
	char text[8192];
	int rc;

	(void)cpu;
	if ((rc = fm_host_read("/proc/cpuinfo", text, sizeof text)) != FM_OK)
		return rc;
	if (!has_flag(text, "constant_tsc") || !has_flag(text, "nonstop_tsc"))
		return fm_fail(
		        FM_ERR_MISSING, "/proc/cpuinfo has not both constant_tsc and nonstop_tsc");
	return fm_ops->open(c->source->name, NULL) == 0 ? FM_OK : fm_fail_errno("the TSC");
}

static int open_cntvct(struct fm_counter *c, int cpu)
{
	(void)cpu;
	if (fm_ops->open(c->source->name, NULL) != 0)
		return fm_fail_errno("CNTVCT");
	if ((c->hz = fm_ops->ticks_claim()) == 0)
		return fm_fail(FM_ERR_MISSING, "CNTFRQ_EL0 is 0");
	return FM_OK;
}

static int read_ticks(struct fm_counter *c, uint64_t *value)
{
	(void)c;
	*value = fm_ops->ticks();
	return FM_OK;
}

const struct fm_counter_source fm_counter_tsc = {
        "tsc", FM_LABEL_REF_TICKS, open_tsc, read_ticks, NULL, NULL};
const struct fm_counter_source fm_counter_cntvct = {
        "cntvct", FM_LABEL_REF_TICKS, open_cntvct, read_ticks, NULL, NULL};
