/* runner.h: gives the worker one order and reads its results strictly (FORMATS.md section 10). */
#ifndef FM_AGENT_RUNNER_H
#define FM_AGENT_RUNNER_H

#include "agent/agent.h"
#include "agent/spawn.h"
#include "protocol/jobtext.h"

struct fm_run_fact {
	const char *key, *value;
};
struct fm_run_window {
	uint64_t calls, ns, count; /* count 0 without a counter */
	bool counted;
	unsigned events;
};

/* What a worker said. Strings point into the struct's own copy. */
struct fm_run {
	char *copy;
	struct fm_run_fact *facts;
	size_t fact_count;
	struct fm_run_window *windows;
	size_t window_count;
	const char **logs; /* log lines in their order */
	size_t log_count;
	const char *status; /* of the gate; "" if none */
	const char *file;   /* last KAT file begun; "" if none */
	const char *reason; /* of `end fail`, "" after `end ok`, NULL without an end line */
	bool malformed;     /* a line that the form does not allow: the rest was not read */
};

/* Head and task of an order. */
FM_CHECK int fm_order_begin(struct fm_buf *order, const char *task);

/* Starts a worker on this order (job text, complete). */
FM_CHECK int fm_run_start(const struct fm_agent *a, const struct fm_buf *order, uint64_t timeout_ms,
        struct fm_child *c);

/* The same for the task memory, which fleetmark-weigh does. */
FM_CHECK int fm_run_weigh(const struct fm_agent *a, const struct fm_buf *order, uint64_t timeout_ms,
        struct fm_child *c);

/* Reads what the ended child wrote; FM_OK also for a bad end, only memory is an error. Free with
 * fm_run_free. */
FM_CHECK int fm_run_read(const struct fm_child *c, struct fm_run *out);
void fm_run_free(struct fm_run *r);

/* Good: `end ok`, exit status 0, no signal, nothing malformed. */
bool fm_run_good(const struct fm_child *c, const struct fm_run *r);

/* First fact of that key; NULL, or otherwise. */
const char *fm_run_fact(const struct fm_run *r, const char *key);
int64_t fm_run_int(const struct fm_run *r, const char *key, int64_t otherwise);

/* One order from start to end: keys of the task are in body (job text lines without head and end).
 */
FM_CHECK int fm_run_once(const struct fm_agent *a, const struct fm_buf *order, uint64_t timeout_ms,
        struct fm_child *c, struct fm_run *out);

#endif
