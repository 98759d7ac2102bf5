/* fields.c: reads JSON objects into structs from tables. */
#include "orchestrator/fields.h"
#include "protocol/path.h"
#include <stdio.h>
#include <string.h>

/* The member's name may be a field, or a field's name and "_why". */
static bool known(const struct fm_field *fields, const char *key)
{
	for (; fields->key != NULL; fields++) {
		size_t len = strlen(fields->key);

		if (strncmp(key, fields->key, len) == 0 &&
		        (key[len] == '\0' || strcmp(key + len, "_why") == 0))
			return true;
	}
	return false;
}

static bool seed_ok(const char *s)
{
	return strlen(s) == 16 && strspn(s, "0123456789abcdef") == 16;
}

static bool text_ok(enum fm_field_type type, const char *s)
{
	switch (type) {
	case FM_NAME:
		return fm_name_ok(s);
	case FM_HEX:
	case FM_OPT_HEX:
		return fm_hex64_ok(s);
	case FM_HEX0:
		return s[0] == '\0' || fm_hex64_ok(s);
	case FM_SEED:
		return seed_ok(s);
	case FM_STAMP:
		return fm_stamp_ok(s);
	case FM_STAMP0:
		return s[0] == '\0' || fm_stamp_ok(s);
	default:
		return true;
	}
}

/* True if the field is not there but its reason is, or it may be left out. */
static bool excused(const struct fm_json_node *o, const struct fm_field *f)
{
	char why[80];

	if (fm_json_has(o, f->key))
		return false;
	if (f->type == FM_OPT_INT || f->type == FM_OPT_HEX)
		return true;
	(void)snprintf(why, sizeof why, "%s_why", f->key);
	return fm_json_has(o, why);
}

static int read_field(const struct fm_json_node *o, const struct fm_field *f, char *base)
{
	bool number = f->type == FM_INT || f->type == FM_OPT_INT;
	const char *text = "";
	int rc;

	if (excused(o, f)) {
		if (base == NULL)
			return FM_OK;
		if (number)
			*(int64_t *)(void *)(base + f->offset) = -1;
		else
			*(const char **)(void *)(base + f->offset) =
			        f->type == FM_OPT_HEX ? NULL : "";
		return FM_OK;
	}
	if (number) {
		int64_t value;

		if ((rc = fm_json_int(o, f->key, &value)) == FM_OK && base != NULL)
			*(int64_t *)(void *)(base + f->offset) = value;
		return rc;
	}
	if ((rc = fm_json_str(o, f->key, &text)) != FM_OK)
		return rc;
	if (!text_ok(f->type, text)) {
		char shown[100];

		return fm_fail(FM_ERR_FORM, "%s: '%s' is not of the form this field has", f->key,
		        fm_escape(text, strlen(text), shown, sizeof shown));
	}
	if (base != NULL)
		*(const char **)(void *)(base + f->offset) = text;
	return FM_OK;
}

int fm_fields_read(const struct fm_json_node *o, const struct fm_field *fields, void *base)
{
	const struct fm_json_node *m;
	int rc;

	for (m = fm_json_first(o); m != NULL; m = fm_json_next(m))
		if (!known(fields, fm_json_key(m)))
			return fm_fail(FM_ERR_FORM, "unknown field '%s'", fm_json_key(m));
	for (; fields->key != NULL; fields++)
		if (fields->type != FM_SUB && (rc = read_field(o, fields, base)) != FM_OK)
			return rc;
	return FM_OK;
}

int fm_fields_object(
        const struct fm_json_node *o, const char *key, const struct fm_field *fields, void *base)
{
	const struct fm_json_node *sub;
	int rc = fm_json_object(o, key, &sub);

	return rc != FM_OK ? rc : fm_wrap(fm_fields_read(sub, fields, base), "%s", key);
}

/* Array of objects of one kind into fresh memory. */
int fm_fields_array(const struct fm_json_node *o, const char *key, const struct fm_field *fields,
        size_t size, void *out, size_t *count)
{
	const struct fm_json_node *array, *e;
	size_t n = 0;
	char *items;
	int rc;

	if ((rc = fm_json_array(o, key, &array)) != FM_OK)
		return rc;
	if (fm_json_count(array) == 0)
		return FM_OK;
	if ((items = fm_alloc_array(fm_json_count(array), size)) == NULL)
		return FM_ERR_MEMORY;
	*(void **)out = items; /* owned by the evidence from here on, also after an error */
	for (e = fm_json_first(array); e != NULL; e = fm_json_next(e), n++)
		if ((rc = fm_fields_read(e, fields, items + n * size)) != FM_OK)
			return fm_wrap(rc, "%s[%zu]", key, n);
	*count = n;
	return FM_OK;
}

int fm_fields_strings(
        const struct fm_json_node *o, const char *key, const char ***out, size_t *count)
{
	const struct fm_json_node *array, *e;
	size_t n = 0;
	int rc;

	if ((rc = fm_json_array(o, key, &array)) != FM_OK)
		return rc;
	if (fm_json_count(array) == 0)
		return FM_OK;
	if ((*out = fm_alloc_array(fm_json_count(array), sizeof **out)) == NULL)
		return FM_ERR_MEMORY;
	for (e = fm_json_first(array); e != NULL; e = fm_json_next(e), n++)
		if (((*out)[n] = fm_json_text(e)) == NULL)
			return fm_fail(FM_ERR_FORM, "%s[%zu]: a string was expected", key, n);
	*count = n;
	return FM_OK;
}

int fm_fields_schema(const struct fm_json_node *o, const char *want)
{
	const char *schema;
	int rc = fm_json_str(o, "schema", &schema);

	if (rc == FM_OK && strcmp(schema, want) != 0)
		return fm_fail(
		        FM_ERR_FORM, "schema: another one than %s, which this program reads", want);
	return rc;
}
