/* order_kat.c: reads the keys of the task kat. */
#include "agent/worker/order_parts.h"

#include <string.h>

/* "<hex> strict <file>" or "<hex> vectors:<n> vectors.txt" */
static int parse_kat(struct fm_order_kat *k, const char *value, unsigned line)
{
	const char *mode = value + 65, *file;
	char number[21];
	size_t digits;

	if (strlen(value) < 67 || !fm_order_is_hex(value, 64) || value[64] != ' ' ||
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

/* "<tag> <seconds>" */
static int take_limit(struct fm_order *o, const char *value, unsigned line)
{
	struct fm_order_limit *l = fm_grow(&o->limits, &o->limit_count, sizeof *l);
	uint64_t seconds = 0;

	if (l == NULL)
		return FM_ERR_MEMORY;
	if (strlen(value) < 10 || value[8] != ' ' ||
	        fm_parse_u64(value + 9, FM_ORDER_SECONDS_MAX, &seconds) != FM_OK || seconds == 0)
		return fm_fail(FM_ERR_FORM,
		        "order line %u: file_seconds must be <tag of 8 characters> <1 to %d>", line,
		        FM_ORDER_SECONDS_MAX);
	memcpy(l->tag, value, 8);
	l->seconds = (unsigned)seconds;
	return FM_OK;
}

static int take_generate(struct fm_order *o, const char *value, unsigned line)
{
	char **name = fm_grow(&o->generate, &o->generate_count, sizeof *name);

	if (name == NULL || (*name = fm_strdup(value)) == NULL)
		return FM_ERR_MEMORY;
	if (strpbrk(value, " /") != NULL)
		return fm_fail(
		        FM_ERR_FORM, "order line %u: kat_generate must be a file's name", line);
	return FM_OK;
}

int fm_order_take_kat(struct fm_order *o, struct fm_text *t)
{
	const char *value;
	bool vectors = false;
	uint64_t seconds;
	int rc;

	if ((rc = fm_order_take_name(t, "kat_name", &o->kat_name)) != FM_OK)
		return rc;
	while (fm_text_maybe(t, "kat_line", &value)) {
		struct fm_order_kat *k = fm_grow(&o->kat, &o->kat_count, sizeof *k);

		if (k == NULL)
			return FM_ERR_MEMORY;
		if ((rc = parse_kat(k, value, t->line)) != FM_OK)
			return rc;
		vectors |= k->vectors > 0;
	}
	while (fm_text_maybe(t, "kat_generate", &value))
		if ((rc = take_generate(o, value, t->line)) != FM_OK)
			return rc;
	if ((rc = fm_order_maybe_copy(t, "vectors_file", &o->vectors_file)) != FM_OK ||
	        (rc = fm_order_maybe_copy(t, "message_file", &o->message_file)) != FM_OK ||
	        (rc = fm_order_take_range(t, "seconds", 1, FM_ORDER_SECONDS_MAX, &seconds)) !=
	                FM_OK)
		return rc;
	while (fm_text_maybe(t, "file_seconds", &value))
		if ((rc = take_limit(o, value, t->line)) != FM_OK)
			return rc;
	if (fm_text_maybe(t, "token", &value)) {
		if (strlen(value) != 16 || !fm_order_is_hex(value, 16))
			return fm_fail(
			        FM_ERR_FORM, "order line %u: token must be 16 hex digits", t->line);
		memcpy(o->token, value, 17);
	}
	if (vectors && o->vectors_file == NULL)
		return fm_fail(FM_ERR_FORM, "order: a kat_line with vectors needs vectors_file");
	o->seconds = (unsigned)seconds;
	return FM_OK;
}
