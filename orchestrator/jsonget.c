/* jsonget.c: typed looks into a document that jsonr.c accepted; every failure names document and
 * place. */
#include "orchestrator/jsonnode.h"
#include "protocol/jsonw.h"
#include <math.h>
#include <string.h>

const struct fm_json_node *fm_json_root(const struct fm_json *d)
{
	return &d->nodes[0];
}

bool fm_json_is_object(const struct fm_json_node *n)
{
	return n->kind == FM_JSON_OBJECT;
}

const struct fm_json_node *fm_json_first(const struct fm_json_node *a)
{
	return a->child;
}

const struct fm_json_node *fm_json_next(const struct fm_json_node *element)
{
	return element->next;
}

size_t fm_json_count(const struct fm_json_node *a)
{
	return a->children;
}

const char *fm_json_key(const struct fm_json_node *member)
{
	return member->key;
}

const char *fm_json_text(const struct fm_json_node *element)
{
	return element->text;
}

bool fm_json_number(const struct fm_json_node *element, double *out)
{
	if (element->kind != FM_JSON_NUMBER)
		return false;
	*out = element->number;
	return true;
}

static const struct fm_json_node *find(const struct fm_json_node *o, const char *key)
{
	for (const struct fm_json_node *c = o->child; c != NULL; c = c->next)
		if (c->key != NULL && strcmp(c->key, key) == 0)
			return c;
	return NULL;
}

bool fm_json_has(const struct fm_json_node *o, const char *key)
{
	return find(o, key) != NULL;
}

bool fm_json_is_null(const struct fm_json_node *o, const char *key)
{
	const struct fm_json_node *n = find(o, key);

	return n == NULL || n->kind == FM_JSON_NULL;
}

/* "systems[2]." for a node below the root, "" for the root. */
static void put_place(struct fm_buf *b, const struct fm_json_node *n)
{
	size_t index = 0;

	if (n->parent == NULL)
		return;
	put_place(b, n->parent);
	for (const struct fm_json_node *c = n->parent->child; c != n; c = c->next)
		index++;
	if (n->key != NULL)
		(void)!fm_buf_printf(b, "%s", n->key);
	else if (b->len > 0 && b->data[b->len - 1] == '.')
		b->len--;
	if (n->key == NULL)
		(void)!fm_buf_printf(b, "[%zu]", index);
	(void)!fm_buf_puts(b, ".");
}

static int fail_at(const struct fm_json_node *o, const char *key, const char *why)
{
	struct fm_buf place = FM_BUF_INIT(4096);
	char shown[200];
	int rc;

	put_place(&place, o);
	(void)!fm_buf_puts(&place, key);
	rc = fm_fail(FM_ERR_FORM, "%s: %s: %s", o->document->what,
	        fm_escape(place.data == NULL ? "" : place.data, place.len, shown, sizeof shown),
	        why);
	fm_buf_free(&place);
	return rc;
}

int fm_json_fail(const struct fm_json_node *n, const char *why)
{
	struct fm_buf place = FM_BUF_INIT(4096);
	char shown[200];
	int rc;

	put_place(&place, n);
	rc = fm_fail(FM_ERR_FORM, "%s: %s: %s", n->document->what,
	        fm_escape(place.data == NULL ? "" : place.data, place.len > 0 ? place.len - 1 : 0,
	                shown, sizeof shown),
	        why);
	fm_buf_free(&place);
	return rc;
}

int fm_json_str(const struct fm_json_node *o, const char *key, const char **out)
{
	const struct fm_json_node *n = find(o, key);

	*out = NULL;
	if (n == NULL || n->kind != FM_JSON_STRING)
		return fail_at(o, key, n == NULL ? "missing" : "must be a string");
	*out = n->text;
	return FM_OK;
}

int fm_json_double(const struct fm_json_node *o, const char *key, double *out)
{
	const struct fm_json_node *n = find(o, key);

	*out = 0;
	if (n == NULL || n->kind != FM_JSON_NUMBER)
		return fail_at(o, key, n == NULL ? "missing" : "must be a number");
	*out = n->number;
	return FM_OK;
}

int fm_json_int(const struct fm_json_node *o, const char *key, int64_t *out)
{
	double v;
	int rc;

	*out = 0;
	if ((rc = fm_json_double(o, key, &v)) != FM_OK)
		return rc;
	if (floor(v) != v || fabs(v) > (double)FM_JSON_INT_MAX)
		return fail_at(o, key, "must be an integer within 2^53");
	*out = (int64_t)v;
	return FM_OK;
}

int fm_json_bool(const struct fm_json_node *o, const char *key, bool *out)
{
	const struct fm_json_node *n = find(o, key);

	*out = false;
	if (n == NULL || n->kind != FM_JSON_BOOL)
		return fail_at(o, key, n == NULL ? "missing" : "must be true or false");
	*out = n->number != 0;
	return FM_OK;
}

int fm_json_object(const struct fm_json_node *o, const char *key, const struct fm_json_node **out)
{
	*out = find(o, key);
	if (*out == NULL || (*out)->kind != FM_JSON_OBJECT)
		return fail_at(o, key, *out == NULL ? "missing" : "must be an object");
	return FM_OK;
}

int fm_json_array(const struct fm_json_node *o, const char *key, const struct fm_json_node **out)
{
	*out = find(o, key);
	if (*out == NULL || (*out)->kind != FM_JSON_ARRAY)
		return fail_at(o, key, *out == NULL ? "missing" : "must be an array");
	return FM_OK;
}

int fm_json_only(const struct fm_json_node *o, const char *keys)
{
	if (o->kind != FM_JSON_OBJECT)
		return fm_json_fail(o, "must be an object");
	for (const struct fm_json_node *c = o->child; c != NULL; c = c->next) {
		size_t len = strlen(c->key);
		const char *p = keys;

		while (*p != '\0' &&
		        !(strncmp(p, c->key, len) == 0 && (p[len] == ' ' || p[len] == '\0'))) {
			p += strcspn(p, " ");
			p += strspn(p, " ");
		}
		if (*p == '\0' || len == 0)
			return fail_at(o, c->key, "unknown key");
	}
	return FM_OK;
}
