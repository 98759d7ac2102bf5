/* order.c: reads the order the agent gives on descriptor 3. */
#include "agent/worker/order_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	bool library, cpu;
} tasks[] = {
        [FM_TASK_SELFTEST] = {"selftest", false, false},
        [FM_TASK_COUNTERS] = {"counters", false, true},
        [FM_TASK_CLOCK] = {"clock", false, true},
        [FM_TASK_KAT] = {"kat", true, true},
        [FM_TASK_DIGEST] = {"digest", true, true},
        [FM_TASK_MEMORY] = {"memory", true, true},
        [FM_TASK_TIME] = {"time", true, true},
        [FM_TASK_SOUND] = {"sound", true, true},
};

static int take_copy(struct fm_text *t, const char *key, char **out)
{
	const char *value;
	int rc = fm_text_take(t, key, &value);

	if (rc != FM_OK)
		return rc;
	return (*out = fm_strdup(value)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

int fm_order_maybe_copy(struct fm_text *t, const char *key, char **out)
{
	const char *value;

	if (!fm_text_maybe(t, key, &value))
		return FM_OK;
	return (*out = fm_strdup(value)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

int fm_order_take_name(struct fm_text *t, const char *key, char **out)
{
	char name[65];
	int rc = fm_text_take_name(t, key, name);

	if (rc != FM_OK)
		return rc;
	return (*out = fm_strdup(name)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

int fm_order_take_range(
        struct fm_text *t, const char *key, uint64_t min, uint64_t max, uint64_t *out)
{
	int rc = fm_text_take_u64(t, key, max, out);

	if (rc == FM_OK && *out < min)
		rc = fm_fail(FM_ERR_FORM,
		        "order line %u: %s %" PRIu64 ", allowed are %" PRIu64 " to %" PRIu64,
		        t->line, key, *out, min, max);
	return rc;
}

static int take_cpu(struct fm_text *t, int *cpu)
{
	int64_t value;
	int rc = fm_text_take_i64(t, "cpu", &value);

	if (rc != FM_OK)
		return rc;
	if (value < -1 || value > 65535)
		return fm_fail(FM_ERR_FORM,
		        "order line %u: cpu %" PRId64 ", allowed are -1 to 65535", t->line, value);
	*cpu = (int)value;
	return FM_OK;
}

static int take_library(struct fm_order *o, struct fm_text *t)
{
	uint64_t bits;
	int rc;

	if ((rc = take_copy(t, "library", &o->library)) != FM_OK)
		return rc;
	if (o->library[0] != '/')
		return fm_fail(
		        FM_ERR_FORM, "order line %u: library must be an absolute path", t->line);
	if ((rc = fm_text_take_hex(t, "library_sha256", o->library_sha256)) != FM_OK ||
	        (rc = fm_order_take_name(t, "candidate", &o->candidate)) != FM_OK ||
	        (rc = fm_order_take_name(t, "instance", &o->instance)) != FM_OK ||
	        (rc = fm_order_take_range(t, "digest_bits", 8, FM_ORDER_DIGEST_BITS_MAX, &bits)) !=
	                FM_OK)
		return rc;
	o->digest_bits = (unsigned)bits;
	return FM_OK;
}

bool fm_order_is_hex(const char *text, size_t len)
{
	return strspn(text, "0123456789abcdef") >= len;
}

static int take_sound(struct fm_order *o, struct fm_text *t)
{
	const char *value;
	uint64_t seconds;
	int rc;

	if ((rc = fm_text_take(t, "digest", &value)) != FM_OK)
		return rc;
	if (strcmp(value, "fixed") != 0 && strcmp(value, "any") != 0)
		return fm_fail(FM_ERR_FORM, "order line %u: digest must be fixed or any", t->line);
	o->any = strcmp(value, "any") == 0;
	rc = fm_order_take_range(t, "seconds", 1, FM_ORDER_SECONDS_MAX, &seconds);
	o->seconds = rc == FM_OK ? (unsigned)seconds : 0;
	return rc;
}

static int add_bytes(struct fm_order *o, uint64_t value)
{
	uint64_t *place = fm_grow(&o->bytes, &o->bytes_count, sizeof *place);

	if (place == NULL)
		return FM_ERR_MEMORY;
	*place = value;
	return FM_OK;
}

/* The first is required; more only if several. */
static int take_bytes(struct fm_order *o, struct fm_text *t, bool several)
{
	const char *text;
	uint64_t value;
	int rc;

	if ((rc = fm_order_take_range(t, "bytes", 1, FM_ORDER_BYTES_MAX, &value)) != FM_OK)
		return rc;
	rc = add_bytes(o, value);
	while (rc == FM_OK && several && fm_text_maybe(t, "bytes", &text)) {
		if (fm_parse_u64(text, FM_ORDER_BYTES_MAX, &value) != FM_OK || value == 0)
			return fm_fail(FM_ERR_FORM, "order line %u: bytes must be 1 to %d", t->line,
			        FM_ORDER_BYTES_MAX);
		rc = add_bytes(o, value);
	}
	return rc;
}

/* At least three calls: the first, and two on the painted stack. */
static int take_memory(struct fm_order *o, struct fm_text *t)
{
	uint64_t region;
	int rc;

	if ((rc = take_bytes(o, t, false)) != FM_OK ||
	        (rc = fm_order_take_range(t, "calls", 3, FM_ORDER_WEIGH_CALLS_MAX, &o->calls)) !=
	                FM_OK ||
	        (rc = fm_order_take_range(t, "stack_region", 65536, 1u << 30, &region)) != FM_OK)
		return rc;
	if ((region & (region - 1)) != 0)
		return fm_fail(
		        FM_ERR_FORM, "order line %u: stack_region must be a power of two", t->line);
	o->stack_region = region;
	return FM_OK;
}

static int parse_seed(const char *value, unsigned line, uint64_t *seed)
{
	if (strlen(value) != 16 || !fm_order_is_hex(value, 16))
		return fm_fail(FM_ERR_FORM, "order line %u: seed must be 16 hex digits", line);
	*seed = strtoull(value, NULL, 16);
	return FM_OK;
}

static int take_time(struct fm_order *o, struct fm_text *t)
{
	const char *value;
	uint64_t windows, warm;
	int rc;

	if ((rc = take_bytes(o, t, false)) != FM_OK ||
	        (rc = fm_order_take_range(t, "calls", 1, FM_ORDER_CALLS_MAX, &o->calls)) != FM_OK ||
	        (rc = fm_order_take_range(t, "windows", 1, FM_ORDER_WINDOWS_MAX, &windows)) !=
	                FM_OK ||
	        (rc = fm_text_take_u64(t, "min_ns", 3600000000000u, &o->min_ns)) != FM_OK ||
	        (rc = fm_text_take_u64(t, "warm", 1, &warm)) != FM_OK ||
	        (rc = fm_text_take(t, "digest_sha256", &value)) != FM_OK)
		return rc;
	o->windows = (unsigned)windows;
	o->warm = warm == 1;
	if (strcmp(value, "none") != 0) {
		if (strlen(value) != 64 || !fm_order_is_hex(value, 64))
			return fm_fail(FM_ERR_FORM,
			        "order line %u: digest_sha256 must be 64 hex digits or none",
			        t->line);
		memcpy(o->digest_sha256, value, 65);
	}
	if ((rc = fm_text_take(t, "seed", &value)) != FM_OK ||
	        (rc = parse_seed(value, t->line, &o->seed)) != FM_OK)
		return rc;
	return take_copy(t, "counter", &o->counter);
}

#ifdef FLEETMARK_TESTING
static int take_world(struct fm_order *o, struct fm_text *t)
{
	int rc = fm_order_maybe_copy(t, "world", &o->world);

	if (rc != FM_OK || o->world == NULL)
		return rc;
	if ((rc = fm_text_take_u64(t, "world_turn", UINT32_MAX, &o->world_turn)) != FM_OK)
		return rc;
	return fm_text_take_u64(t, "world_cell_turn", UINT32_MAX, &o->world_cell_turn);
}
#endif

static int take_task(struct fm_order *o, struct fm_text *t)
{
	const char *value;
	size_t i, count = sizeof tasks / sizeof tasks[0];
	int rc;

#ifdef FLEETMARK_TESTING
	if ((rc = take_world(o, t)) != FM_OK)
		return rc;
#endif
	if ((rc = fm_text_take(t, "task", &value)) != FM_OK)
		return rc;
	for (i = 0; i < count && strcmp(tasks[i].name, value) != 0; i++)
		;
	if (i == count)
		return fm_fail(FM_ERR_FORM,
		        "order line %u: task %s, known are selftest, counters, clock, kat, digest, "
		        "memory, time, sound",
		        t->line, value);
	o->task = (enum fm_task)i;
	if (tasks[i].library && (rc = take_library(o, t)) != FM_OK)
		return rc;
	if (tasks[i].cpu && (rc = take_cpu(t, &o->cpu)) != FM_OK)
		return rc;
	switch (o->task) {
	case FM_TASK_SELFTEST:
		return fm_order_maybe_copy(t, "message_file", &o->message_file);
	case FM_TASK_KAT:
		return fm_order_take_kat(o, t);
	case FM_TASK_DIGEST:
		return take_bytes(o, t, true);
	case FM_TASK_MEMORY:
		return take_memory(o, t);
	case FM_TASK_TIME:
		return take_time(o, t);
	case FM_TASK_SOUND:
		return take_sound(o, t);
	case FM_TASK_COUNTERS:
		return fm_order_maybe_copy(t, "counter", &o->counter);
	case FM_TASK_CLOCK:
		return FM_OK;
	}
	return FM_ERR_INTERNAL;
}

int fm_order_parse(struct fm_order *o, const char *bytes, size_t len)
{
	struct fm_text t;
	int rc;

	memset(o, 0, sizeof *o);
	o->cpu = -1;
	if ((rc = fm_text_open(&t, "order", bytes, len)) != FM_OK)
		return rc;
	if ((rc = take_task(o, &t)) == FM_OK)
		rc = fm_text_close(&t);
	fm_text_free(&t);
	if (rc != FM_OK)
		fm_order_free(o);
	return rc;
}

int fm_order_read(struct fm_order *o, int fd)
{
	struct fm_buf text = FM_BUF_INIT(FM_TEXT_MAX);
	int rc = FM_ERR_INTERNAL;

	memset(o, 0, sizeof *o);
	for (;;) {
		char chunk[4096];
		ssize_t n = read(fd, chunk, sizeof chunk);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			rc = fm_fail_errno("reading the order from descriptor %d", fd);
			goto out;
		}
		if (n == 0)
			break;
		if ((rc = fm_buf_put(&text, chunk, (size_t)n)) != FM_OK)
			goto out;
	}
	rc = fm_order_parse(o, text.data == NULL ? "" : text.data, text.len);
out:
	close(fd);
	fm_buf_free(&text);
	return rc;
}

void fm_order_free(struct fm_order *o)
{
	for (size_t i = 0; i < o->kat_count; i++)
		free(o->kat[i].file);
	free(o->kat);
	for (size_t i = 0; i < o->generate_count; i++)
		free(o->generate[i]);
	free(o->generate);
	free(o->limits);
	free(o->bytes);
	free(o->library);
	free(o->candidate);
	free(o->instance);
	free(o->kat_name);
	free(o->vectors_file);
	free(o->message_file);
	free(o->counter);
#ifdef FLEETMARK_TESTING
	free(o->world);
#endif
	memset(o, 0, sizeof *o);
}
