/* gate_order.c: what the workers of the gate are told, and how long they may take: deadlines come
 * from measured times. */
#include "agent/gate_order.h"

#include <string.h>

#define FLOOR_S       10u /* starting a process on a busy host, and the first calls */
#define EMULATED      4u  /* times the floor under an emulator */
#define SLACK         20u
#define MOST_S        900u
#define MOST_FULL_S   14400u
#define LONG_CHECK_S  120u /* SHA-256 over the 1 GiB message */
#define VECTORS_BYTES (8u << 20)
#define PACE_BYTES    4096u
#define PACE_CALLS    16u /* a worker's warm-up and batches, about */
#define WEIGH_CALLS   17u /* the first, and 16 over which a leak is told */
#define WEIGH_FEW     3u
#define WEIGH_LONG_NS 500000000u /* a call this long is made a few times only */
#define WEIGH_STACK   (1u << 20)

/* The files of the official generator; calls and message bytes of each. */
static const struct {
	const char *tag;
	uint64_t calls, bytes;
} files[] = {
        {"KAT_2_12", 4097, 4097 * 256},
        {"KAT_2_23", 3, (uint64_t)3 << 20},
        {"KAT_2_33", 3, (uint64_t)3 << 30},
        {"KAT_Loop", 1000001, (uint64_t)1000001 * 1024},
};
#define FILES (sizeof files / sizeof files[0])

static unsigned floor_s(const struct fm_job *j)
{
	return j->emulated ? FLOOR_S * EMULATED : FLOOR_S;
}

unsigned fm_gate_seconds(
        const struct fm_job *j, const struct fm_unit *u, uint64_t calls, uint64_t bytes)
{
	const unsigned most =
	        (strcmp(j->mandate.plan.kat, "standard") == 0 ? MOST_S : MOST_FULL_S) *
	        (j->emulated ? 10u : 1u);
	double one = u->pace_one_ns > 0 ? (double)u->pace_one_ns : 0, each = 0, seconds;

	if (u->pace_long_ns > u->pace_one_ns)
		each = (double)(u->pace_long_ns - u->pace_one_ns) / PACE_BYTES;
	seconds = floor_s(j) + SLACK * 1e-9 * (one * (double)calls + each * (double)bytes);
	return seconds < most ? (unsigned)seconds : most;
}

/* Files of this campaign beyond KAT_2_12 and KAT_2_23. */
static bool planned(const struct fm_job *j, const char *tag)
{
	const char *kat = j->mandate.plan.kat;

	if (strcmp(tag, "KAT_2_33") == 0)
		return strcmp(kat, "full") == 0;
	if (strcmp(tag, "KAT_Loop") == 0)
		return strcmp(kat, "standard") != 0 ||
		       strcmp(j->mandate.plan.profile, "rigorous") == 0;
	return true;
}

static bool has_reference(const struct fm_unit *u, const char *tag)
{
	const struct fm_jp_strings *lines = &u->instance->kat_lines;

	for (size_t i = 0; i < lines->count; i++) {
		const char *mode = strchr(lines->at[i], ' ');
		const char *file = mode == NULL ? NULL : strchr(mode + 1, ' ');

		if (file != NULL && strncmp(file + 1, tag, 8) == 0)
			return true;
	}
	return false;
}

bool fm_gate_long(const struct fm_job *j, const struct fm_unit *u)
{
	return planned(j, "KAT_2_33") || has_reference(u, "KAT_2_33");
}

/* Lines of the candidate's vectors file. */
static uint64_t vectors(const struct fm_unit *u)
{
	const struct fm_jp_strings *lines = &u->instance->kat_lines;
	uint64_t n = 0;

	for (size_t i = 0; i < lines->count; i++) {
		const char *mode = strstr(lines->at[i], " vectors:");

		for (const char *p = mode == NULL ? "" : mode + 9; *p >= '0' && *p <= '9'; p++)
			n = 10 * n + (uint64_t)(*p - '0');
	}
	return n;
}

static int kat_order(const struct fm_job *j, const struct fm_gate_task *t, struct fm_buf *order,
        uint64_t *limit_s)
{
	const struct fm_jp_instance *in = t->unit->instance;
	unsigned seconds = fm_gate_seconds(j, t->unit, vectors(t->unit) + 10, VECTORS_BYTES);
	unsigned char random[8];
	int rc = fm_text_put(order, "kat_name", "%s", in->kat_name);

	fm_random(random, sizeof random);
	fm_hex(random, sizeof random, t->unit->kat_token);
	for (size_t i = 0; rc == FM_OK && i < in->kat_lines.count; i++)
		rc = fm_text_put(order, "kat_line", "%s", in->kat_lines.at[i]);
	for (size_t i = 0; rc == FM_OK && i < FILES; i++)
		if (planned(j, files[i].tag) && !has_reference(t->unit, files[i].tag) &&
		        (in->kat_lines.count == 0 || i >= 2))
			rc = fm_text_put(
			        order, "kat_generate", "%s_%s.txt", files[i].tag, in->kat_name);
	if (rc == FM_OK && t->candidate->plan->vectors_file != NULL)
		rc = fm_text_put(order, "vectors_file", "%s/jobs/%s/plan/%s", j->agent->path,
		        j->mandate.plan.campaign, t->candidate->plan->vectors_file);
	if (rc == FM_OK && fm_gate_long(j, t->unit))
		rc = fm_text_put(order, "message_file", "%s/" FM_GATE_MESSAGE, j->agent->path);
	if (rc == FM_OK)
		rc = fm_text_put(order, "seconds", "%u", seconds);
	*limit_s = floor_s(j) + (vectors(t->unit) > 0 ? 2 : 1) * seconds;
	for (size_t i = 0; rc == FM_OK && i < FILES; i++) {
		if (!planned(j, files[i].tag) && !has_reference(t->unit, files[i].tag))
			continue;
		seconds = fm_gate_seconds(j, t->unit, files[i].calls, files[i].bytes);
		rc = fm_text_put(order, "file_seconds", "%s %u", files[i].tag, seconds);
		*limit_s += seconds;
	}
	if (rc == FM_OK)
		rc = fm_text_put(order, "token", "%s", t->unit->kat_token);
	if (fm_gate_long(j, t->unit))
		*limit_s += LONG_CHECK_S * (j->emulated ? 10u : 1u);
	return rc;
}

/* Slow calls are weighed over fewer. */
static uint64_t weigh_calls(const struct fm_gate_task *t)
{
	const struct fm_unit *u = t->unit;
	double ns = u->pace_one_ns > 0 ? (double)u->pace_one_ns : 0;

	if (u->pace_long_ns > u->pace_one_ns)
		ns += (double)(u->pace_long_ns - u->pace_one_ns) / PACE_BYTES * t->cell->bytes;
	return ns < WEIGH_LONG_NS ? WEIGH_CALLS : WEIGH_FEW;
}

int fm_gate_order(const struct fm_job *j, const struct fm_gate_task *t, int cpu,
        struct fm_buf *order, uint64_t *limit_ms)
{
	static const char *const names[] = {"digest", "kat", "sound", "memory"};
	const struct fm_jp_instance *in = t->unit->instance;
	uint64_t seconds = 0, calls;
	int rc = fm_order_library(order, names[t->kind], t->candidate, t->unit, cpu);

	if (rc != FM_OK)
		return rc;
	switch (t->kind) {
	case FM_GATE_PACE:
		seconds = 2 * floor_s(j);
		if ((rc = fm_text_put(order, "bytes", "1")) == FM_OK)
			rc = fm_text_put(order, "bytes", "%u", PACE_BYTES);
		break;
	case FM_GATE_KAT:
		rc = kat_order(j, t, order, &seconds);
		t->unit->kat_limit_s = (unsigned)seconds;
		break;
	case FM_GATE_SOUND:
		seconds = fm_gate_seconds(j, t->unit, 400, 400 * 512);
		if ((rc = fm_text_put(order, "digest", "%s", in->digest)) == FM_OK)
			rc = fm_text_put(order, "seconds", "%llu", (unsigned long long)seconds);
		seconds = 20 * (seconds + 3); /* that many checks, each within its seconds */
		break;
	case FM_GATE_MEMORY:
		calls = weigh_calls(t);
		seconds = fm_gate_seconds(j, t->unit, calls, calls * t->cell->bytes);
		if ((rc = fm_text_put(order, "bytes", "%u", t->cell->bytes)) == FM_OK &&
		        (rc = fm_text_put(order, "calls", "%llu", (unsigned long long)calls)) ==
		                FM_OK)
			rc = fm_text_put(order, "stack_region", "%u", WEIGH_STACK);
		break;
	}
	*limit_ms = seconds * 1000u;
	return rc != FM_OK ? rc : fm_text_end(order);
}
