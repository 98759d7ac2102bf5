/* order.c: reads the order the agent gives on descriptor 3. */
#include "agent/worker/order.h"

#include "protocol/jobtext.h"

#include <errno.h>
#include <inttypes.h>
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
};

static int take_copy(struct fm_text *t, const char *key, char **out)
{
	const char *value;
	int rc = fm_text_take(t, key, &value);

	if (rc != FM_OK)
		return rc;
	return (*out = fm_strdup(value)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

static int maybe_copy(struct fm_text *t, const char *key, char **out)
{
	const char *value;

	if (!fm_text_maybe(t, key, &value))
		return FM_OK;
	return (*out = fm_strdup(value)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

static int take_name(struct fm_text *t, const char *key, char **out)
{
	char name[65];
	int rc = fm_text_take_name(t, key, name);

	if (rc != FM_OK)
		return rc;
	return (*out = fm_strdup(name)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

static int take_range(struct fm_text *t, const char *key, uint64_t min, uint64_t max, uint64_t *out)
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
	        (rc = take_name(t, "candidate", &o->candidate)) != FM_OK ||
	        (rc = take_name(t, "instance", &o->instance)) != FM_OK ||
	        (rc = take_range(t, "digest_bits", 8, FM_ORDER_DIGEST_BITS_MAX, &bits)) != FM_OK)
		return rc;
	o->digest_bits = (unsigned)bits;
	return FM_OK;
}

static bool is_hex(const char *text, size_t len)
{
	return strspn(text, "0123456789abcdef") >= len;
}

/* "<hex> strict <file>" or "<hex> vectors:<n> vectors.txt" */
static int parse_kat(struct fm_order_kat *k, const char *value, unsigned line)
{
	const char *mode = value + 65, *file;
	char number[21];
	size_t digits;

	if (strlen(value) < 67 || !is_hex(value, 64) || value[64] != ' ' ||
	        (file = strchr(mode, ' ')) == NULL || file[1] == '\0' ||
	        strpbrk(file + 1, " /") != NULL)
		return fm_fail(
		        FM_ERR_FORM, "order line %u: kat_line must be <hex> <mode> <file>", line);
	memcpy(k->hex, value, 64);
	k->hex[64] = '\0';
	digits = (size_t)(file - mode);
	if (digits == 6 && memcmp(mode, "strict", 6) == 0) {
		k->vectors = 0;
	} else if (digits > 8 && digits - 8 < sizeof number && memcmp(mode, "vectors:", 8) == 0 &&
	           strcmp(file + 1, "vectors.txt") == 0) {
		memcpy(number, mode + 8, digits - 8);
		number[digits - 8] = '\0';
		if (fm_parse_u64(number, 1000000, &k->vectors) != FM_OK || k->vectors == 0)
			return fm_fail(FM_ERR_FORM,
			        "order line %u: vectors:N must have N from 1 to 1000000", line);
	} else {
		return fm_fail(FM_ERR_FORM,
		        "order line %u: mode must be strict, or vectors:<n> for vectors.txt", line);
	}
	return (k->file = fm_strdup(file + 1)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

static int take_kat(struct fm_order *o, struct fm_text *t)
{
	const char *value;
	bool vectors = false;
	uint64_t seconds;
	int rc;

	if ((rc = take_name(t, "kat_name", &o->kat_name)) != FM_OK)
		return rc;
	while (fm_text_maybe(t, "kat_line", &value)) {
		struct fm_order_kat *k = fm_grow(&o->kat, &o->kat_count, sizeof *k);

		if (k == NULL)
			return FM_ERR_MEMORY;
		if ((rc = parse_kat(k, value, t->line)) != FM_OK)
			return rc;
		vectors |= k->vectors > 0;
	}
	if ((rc = maybe_copy(t, "vectors_file", &o->vectors_file)) != FM_OK ||
	        (rc = maybe_copy(t, "message_file", &o->message_file)) != FM_OK ||
	        (rc = take_range(t, "seconds", 1, 1000000, &seconds)) != FM_OK)
		return rc;
	if (vectors && o->vectors_file == NULL)
		return fm_fail(FM_ERR_FORM, "order: a kat_line with vectors needs vectors_file");
	o->seconds = (unsigned)seconds;
	return FM_OK;
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

	if ((rc = take_range(t, "bytes", 1, FM_ORDER_BYTES_MAX, &value)) != FM_OK)
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

static int parse_seed(const char *value, unsigned line, uint64_t *seed)
{
	if (strlen(value) != 16 || !is_hex(value, 16))
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
	        (rc = take_range(t, "calls", 1, FM_ORDER_CALLS_MAX, &o->calls)) != FM_OK ||
	        (rc = take_range(t, "windows", 1, FM_ORDER_WINDOWS_MAX, &windows)) != FM_OK ||
	        (rc = fm_text_take_u64(t, "min_ns", 3600000000000u, &o->min_ns)) != FM_OK ||
	        (rc = fm_text_take_u64(t, "warm", 1, &warm)) != FM_OK ||
	        (rc = fm_text_take(t, "digest_sha256", &value)) != FM_OK)
		return rc;
	o->windows = (unsigned)windows;
	o->warm = warm == 1;
	if (strcmp(value, "none") != 0) {
		if (strlen(value) != 64 || !is_hex(value, 64))
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

static int take_task(struct fm_order *o, struct fm_text *t)
{
	const char *value;
	size_t i, count = sizeof tasks / sizeof tasks[0];
	int rc;

	if ((rc = fm_text_take(t, "task", &value)) != FM_OK)
		return rc;
	for (i = 0; i < count && strcmp(tasks[i].name, value) != 0; i++)
		;
	if (i == count)
		return fm_fail(FM_ERR_FORM,
		        "order line %u: task %s, known are selftest, counters, clock, kat, digest, "
		        "memory, time",
		        t->line, value);
	o->task = (enum fm_task)i;
	if (tasks[i].library && (rc = take_library(o, t)) != FM_OK)
		return rc;
	if (tasks[i].cpu && (rc = take_cpu(t, &o->cpu)) != FM_OK)
		return rc;
	switch (o->task) {
	case FM_TASK_SELFTEST:
		return maybe_copy(t, "message_file", &o->message_file);
	case FM_TASK_KAT:
		return take_kat(o, t);
	case FM_TASK_DIGEST:
		return take_bytes(o, t, true);
	case FM_TASK_MEMORY:
		return take_bytes(o, t, false);
	case FM_TASK_TIME:
		return take_time(o, t);
	case FM_TASK_COUNTERS:
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
	free(o->bytes);
	free(o->library);
	free(o->candidate);
	free(o->instance);
	free(o->kat_name);
	free(o->vectors_file);
	free(o->message_file);
	free(o->counter);
	memset(o, 0, sizeof *o);
}
