/* fields.c: reads JSON objects into structs from tables. */
#include "orchestrator/fields.h"
#include "protocol/path.h"
#include <stdio.h>
#include <string.h>

/* FM_ERR_FORM with the place of o, and the key. */
static int refuse(const struct fm_json_node *o, const char *key, const char *why)
{
	char text[300];

	(void)snprintf(text, sizeof text, "%.80s: %s", key, why);
	return fm_json_fail(o, text);
}

/* The key's field, or the field that it is the reason for ("<key>_why", in *why). */
static const struct fm_field *lookup(const struct fm_field *fields, const char *key, bool *why)
{
	for (; fields->key != NULL; fields++) {
		size_t len = strlen(fields->key);

		if (strncmp(key, fields->key, len) != 0)
			continue;
		*why = strcmp(key + len, "_why") == 0;
		if (key[len] == '\0' || *why)
			return fields;
	}
	return NULL;
}

static bool exact(const struct fm_field *fields)
{
	while (fields->key != NULL)
		fields++;
	return fields->type == FM_SUB;
}

/* Only known keys; a reason is a text, and stands only where its field does not. */
static int check_keys(const struct fm_json_node *o, const struct fm_field *fields)
{
	const struct fm_json_node *m;
	bool strict = exact(fields), why;

	for (m = fm_json_first(o); m != NULL; m = fm_json_next(m)) {
		const char *key = fm_json_key(m);
		const struct fm_field *f = lookup(fields, key, &why);

		if (f == NULL || (why && (strict || f->type == FM_SUB)))
			return refuse(o, key, "unknown field");
		if (why && (fm_json_has(o, f->key) || fm_json_text(m) == NULL))
			return refuse(o, key, "must be a text in place of the field");
	}
	return FM_OK;
}

static bool is_word(const char *words, const char *s)
{
	size_t len = strlen(s), here;

	for (const char *p = words; *p != '\0'; p += here + (p[here] == ' ')) {
		here = strcspn(p, " ");
		if (here == len && memcmp(p, s, len) == 0)
			return true;
	}
	return false;
}

static bool text_ok(const struct fm_field *f, const char *s)
{
	switch (f->type) {
	case FM_NAME:
		return fm_name_ok(s);
	case FM_WORD:
		return is_word(f->words, s);
	case FM_HEX:
	case FM_OPT_HEX:
		return fm_hex64_ok(s);
	case FM_HEX0:
		return s[0] == '\0' || fm_hex64_ok(s);
	case FM_SEED:
		return strlen(s) == 16 && strspn(s, "0123456789abcdef") == 16;
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
	if (f->type == FM_OPT_INT || f->type == FM_OPT_HEX || f->type == FM_OPT_STR)
		return true;
	(void)snprintf(why, sizeof why, "%s_why", f->key);
	return fm_json_has(o, why);
}

static int read_text(const struct fm_json_node *o, const struct fm_field *f, const char **slot)
{
	char shown[100], text[200];
	const char *value;
	int rc = fm_json_str(o, f->key, &value);

	if (rc != FM_OK)
		return rc;
	if (!text_ok(f, value)) {
		(void)snprintf(text, sizeof text, "read '%s', which is not of this field's form",
		        fm_escape(value, strlen(value), shown, sizeof shown));
		return refuse(o, f->key, text);
	}
	if (slot != NULL)
		*slot = value;
	return FM_OK;
}

static int read_field(const struct fm_json_node *o, const struct fm_field *f, char *base)
{
	void *slot = base == NULL ? NULL : base + f->offset;
	bool number = f->type == FM_INT || f->type == FM_OPT_INT;
	int64_t value = -1;
	int rc;

	if (excused(o, f)) {
		if (slot != NULL && number)
			*(int64_t *)slot = -1;
		else if (slot != NULL)
			*(const char **)slot =
			        f->type == FM_OPT_HEX || f->type == FM_OPT_STR ? NULL : "";
		return FM_OK;
	}
	if (!number)
		return read_text(o, f, slot);
	if ((rc = fm_json_int(o, f->key, &value)) == FM_OK && slot != NULL)
		*(int64_t *)slot = value;
	return rc;
}

int fm_fields_read(const struct fm_json_node *o, const struct fm_field *fields, void *base)
{
	int rc =
	        fm_json_is_object(o) ? check_keys(o, fields) : fm_json_fail(o, "must be an object");

	for (; rc == FM_OK && fields->key != NULL; fields++)
		if (fields->type != FM_SUB)
			rc = read_field(o, fields, base);
	return rc;
}

int fm_fields_object(
        const struct fm_json_node *o, const char *key, const struct fm_field *fields, void *base)
{
	const struct fm_json_node *sub;
	int rc = fm_json_object(o, key, &sub);

	return rc != FM_OK ? rc : fm_fields_read(sub, fields, base);
}

int fm_fields_array(const struct fm_json_node *o, const char *key, const struct fm_field *fields,
        size_t size, void *out, size_t *count)
{
	const struct fm_json_node *array, *e;
	size_t n = 0;
	char *items;
	int rc;

	if ((rc = fm_json_array(o, key, &array)) != FM_OK || fm_json_count(array) == 0)
		return rc;
	if ((items = fm_alloc_array(fm_json_count(array), size)) == NULL)
		return FM_ERR_MEMORY;
	*(void **)out = items; /* the caller's from here on, also after an error */
	for (e = fm_json_first(array); e != NULL; e = fm_json_next(e), n++)
		if ((rc = fm_fields_read(e, fields, items + n * size)) != FM_OK)
			return rc;
	*count = n;
	return FM_OK;
}

int fm_fields_strings(
        const struct fm_json_node *o, const char *key, const char ***out, size_t *count)
{
	const struct fm_json_node *array, *e;
	size_t n = 0;
	int rc;

	if ((rc = fm_json_array(o, key, &array)) != FM_OK || fm_json_count(array) == 0)
		return rc;
	if ((*out = fm_alloc_array(fm_json_count(array), sizeof **out)) == NULL)
		return FM_ERR_MEMORY;
	for (e = fm_json_first(array); e != NULL; e = fm_json_next(e), n++)
		if (((*out)[n] = fm_json_text(e)) == NULL)
			return fm_json_fail(e, "must be a string");
	*count = n;
	return FM_OK;
}

int fm_fields_schema(const struct fm_json_node *o, const char *want)
{
	const char *schema;
	char text[120];
	int rc = fm_json_str(o, "schema", &schema);

	if (rc != FM_OK || strcmp(schema, want) == 0)
		return rc;
	(void)snprintf(text, sizeof text, "another form than %s, which this program reads", want);
	return refuse(o, "schema", text);
}
