/* jsonr.c: the only reader of JSON, and the only file that sees cJSON; nothing it cannot vouch for
 * gets out. */
#include "orchestrator/jsonnode.h"
#include "orchestrator/jsonscan.h"
#include "protocol/jsonw.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FOREIGN_DEPTH 64

/* cJSON keeps the place of its last error in a global. */
static pthread_mutex_t parser = PTHREAD_MUTEX_INITIALIZER;

static size_t count_items(const cJSON *item)
{
	size_t n = 0;

	for (; item != NULL; item = item->next)
		n += 1 + count_items(item->child);
	return n;
}

/* Copies the shape of the tree into d->nodes, so that a node knows its parent (for messages). */
static const struct fm_json_node *adopt(
        struct fm_json *d, const cJSON *item, struct fm_json_node *parent)
{
	const struct fm_json_node *first = NULL;
	struct fm_json_node *last = NULL;

	for (; item != NULL; item = item->next) {
		struct fm_json_node *n = &d->nodes[d->used++];

		n->document = d;
		n->parent = parent;
		n->kind = cJSON_IsObject(item)   ? FM_JSON_OBJECT
		          : cJSON_IsArray(item)  ? FM_JSON_ARRAY
		          : cJSON_IsString(item) ? FM_JSON_STRING
		          : cJSON_IsNumber(item) ? FM_JSON_NUMBER
		          : cJSON_IsNull(item)   ? FM_JSON_NULL
		                                 : FM_JSON_BOOL;
		n->key = item->string;
		n->text = n->kind == FM_JSON_STRING ? item->valuestring : NULL;
		n->number = n->kind == FM_JSON_NUMBER ? item->valuedouble : cJSON_IsTrue(item);
		n->child = adopt(d, item->child, n);
		if (last != NULL)
			last->next = n;
		else
			first = n;
		last = n;
		if (parent != NULL)
			parent->children++;
	}
	return first;
}

static int parse(const char *what, const char *bytes, size_t len, size_t max, int depth,
        struct fm_json **out)
{
	struct fm_json *d = NULL;
	const char *end = NULL;
	char *copy = NULL;
	int rc;

	*out = NULL;
	if (len > max)
		return fm_fail(
		        FM_ERR_SIZE, "%s: %zu bytes, at most %zu are allowed", what, len, max);
	if ((rc = fm_json_scan(what, bytes, len, depth)) != FM_OK)
		return rc;
	rc = FM_ERR_MEMORY;
	if ((copy = fm_alloc(len + 1)) == NULL || (d = fm_alloc(sizeof *d)) == NULL ||
	        (d->what = fm_strdup(what)) == NULL)
		goto out;
	if (len > 0)
		memcpy(copy, bytes, len);
	pthread_mutex_lock(&parser);
	d->tree = cJSON_ParseWithLengthOpts(copy, len + 1, &end, 1);
	pthread_mutex_unlock(&parser);
	if (d->tree == NULL || !cJSON_IsObject(d->tree)) {
		size_t line = 1;

		for (const char *p = copy; end != NULL && p < end && p < copy + len; p++)
			line += *p == '\n';
		rc = fm_fail(FM_ERR_FORM, "%s: line %zu: not one JSON object", what, line);
		goto out;
	}
	if ((d->nodes = fm_alloc_array(count_items(d->tree), sizeof *d->nodes)) == NULL)
		goto out;
	(void)adopt(d, d->tree, NULL);
	*out = d;
	d = NULL;
	rc = FM_OK;
out:
	free(copy);
	fm_json_free(d);
	return rc;
}

/* The same value through our own writer, which refuses what the fixed form does not have. */
static void print(struct fm_jsonw *w, const struct fm_json_node *n, bool member)
{
	const char *key = member ? n->key : NULL;
	double v = n->number;

	if (w->error != FM_OK)
		return;
	if (n->kind == FM_JSON_OBJECT || n->kind == FM_JSON_ARRAY) {
		if (n->kind == FM_JSON_OBJECT)
			fm_jsonw_object(w, key);
		else
			fm_jsonw_array(w, key);
		for (const struct fm_json_node *c = n->child; c != NULL; c = c->next)
			print(w, c, n->kind == FM_JSON_OBJECT);
		fm_jsonw_close(w);
	} else if (n->kind == FM_JSON_STRING) {
		fm_jsonw_str(w, key, n->text);
	} else if (n->kind == FM_JSON_NUMBER && fabs(v) <= (double)FM_JSON_INT_MAX &&
	           floor(v) == v) {
		fm_jsonw_int(w, key, (long long)v);
	} else {
		w->error = fm_fail(FM_ERR_FORM,
		        "only objects, arrays, strings and integers within 2^53 "
		        "are allowed");
	}
}

static int compare(const char *what, const char *bytes, size_t len, const struct fm_buf *again)
{
	size_t at = 0, line = 1;
	const char *end;
	char shown[80];

	if (again->len == len && memcmp(again->data, bytes, len) == 0)
		return FM_OK;
	while (at < len && at < again->len && bytes[at] == again->data[at])
		line += bytes[at++] == '\n';
	while (at > 0 && bytes[at - 1] != '\n')
		at--;
	end = memchr(bytes + at, '\n', len - at);
	fm_escape(bytes + at, end == NULL ? len - at : (size_t)(end - bytes) - at, shown,
	        sizeof shown);
	return fm_fail(
	        FM_ERR_FORM, "%s: line %zu is not in the fixed form: read '%s'", what, line, shown);
}

int fm_json_read(const char *what, const char *bytes, size_t len, size_t max, struct fm_json **out)
{
	struct fm_json *d = NULL;
	struct fm_buf again = FM_BUF_INIT(max + 1);
	struct fm_jsonw w;
	int rc;

	*out = NULL;
	if ((rc = parse(what, bytes, len, max, FM_JSON_DEPTH, &d)) != FM_OK)
		return rc;
	fm_jsonw_start(&w, &again);
	for (const struct fm_json_node *n = d->nodes[0].child; n != NULL; n = n->next)
		print(&w, n, true);
	if ((rc = fm_jsonw_end(&w)) != FM_OK)
		rc = rc == FM_ERR_MEMORY ? rc
		                         : fm_wrap(FM_ERR_FORM, "%s: not in the fixed form", what);
	else
		rc = compare(what, bytes, len, &again);
	if (rc == FM_OK) {
		*out = d;
		d = NULL;
	}
	fm_buf_free(&again);
	fm_json_free(d);
	return rc;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int find_doubled(const struct fm_json_node *n, const char **doubled)
{
	const char **keys;
	size_t used = 0;

	if (n->children < 2)
		return FM_OK;
	if ((keys = fm_alloc_array(n->children, sizeof *keys)) == NULL)
		return FM_ERR_MEMORY;
	for (const struct fm_json_node *c = n->child; c != NULL; c = c->next)
		keys[used++] = c->key;
	qsort(keys, used, sizeof *keys, by_key);
	for (size_t i = 1; i < used && *doubled == NULL; i++)
		if (strcmp(keys[i - 1], keys[i]) == 0)
			*doubled = keys[i];
	free(keys);
	return FM_OK;
}

int fm_json_read_foreign(
        const char *what, const char *bytes, size_t len, size_t max, struct fm_json **out)
{
	struct fm_json *d = NULL;
	const char *doubled = NULL;
	char shown[80];
	int rc;

	*out = NULL;
	if ((rc = parse(what, bytes, len, max, FOREIGN_DEPTH, &d)) != FM_OK)
		return rc;
	for (size_t i = 0; rc == FM_OK && doubled == NULL && i < d->used; i++) {
		if (d->nodes[i].kind == FM_JSON_NUMBER && !isfinite(d->nodes[i].number))
			rc = fm_fail(FM_ERR_FORM, "%s: a number beyond what a double holds", what);
		else if (d->nodes[i].kind == FM_JSON_OBJECT)
			rc = find_doubled(&d->nodes[i], &doubled);
	}
	if (rc == FM_OK && doubled != NULL)
		rc = fm_fail(FM_ERR_FORM, "%s: key '%s' stands twice in one object", what,
		        fm_escape(doubled, strlen(doubled), shown, sizeof shown));
	if (rc == FM_OK) {
		*out = d;
		d = NULL;
	}
	fm_json_free(d);
	return rc;
}

void fm_json_free(struct fm_json *d)
{
	if (d == NULL)
		return;
	cJSON_Delete(d->tree);
	free(d->nodes);
	free(d->what);
	free(d);
}
