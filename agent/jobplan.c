/* jobplan.c: reads plan text and dispatch strictly into structs; nothing in them is believed before
 * this. */
#include "agent/jobplan.h"

#include <stdlib.h>
#include <string.h>

#define MAX_INSTANCES 4096
#define MAX_BYTES     16777216u

static int push(struct fm_jp_strings *list, const char *value)
{
	const char **slot = fm_grow(&list->at, &list->count, sizeof *list->at);

	if (slot == NULL)
		return FM_ERR_MEMORY;
	*slot = value;
	return FM_OK;
}

unsigned fm_jobplan_bytes(const char *operation)
{
	uint64_t n = 0;

	if (strncmp(operation, "hash_", 5) != 0 ||
	        fm_parse_u64(operation + 5, MAX_BYTES, &n) != FM_OK)
		return 0;
	return (unsigned)n;
}

static int bad(const struct fm_text *t, const char *key, const char *value, const char *allowed)
{
	char shown[120];

	fm_escape(value, strlen(value), shown, sizeof shown);
	return fm_fail(FM_ERR_FORM, "%s line %u: %s: read '%s', allowed is %s", t->kind, t->line,
	        key, shown, allowed);
}

static int one_of(struct fm_text *t, const char *key, const char *const *words, const char **value)
{
	int rc = fm_text_take(t, key, value);

	if (rc != FM_OK)
		return rc;
	for (size_t i = 0; words[i] != NULL; i++)
		if (strcmp(*value, words[i]) == 0)
			return FM_OK;
	return bad(t, key, *value, words[0]);
}

/* An include folder: a path of the tree, or "." for its root. */
static bool is_path(const char *value)
{
	return fm_path_ok(value);
}
static bool is_folder(const char *value)
{
	return strcmp(value, ".") == 0 || fm_path_ok(value);
}
/* NAME or NAME=VALUE; the value is one argv word, so no shell ever sees it. */
static bool is_define(const char *value)
{
	size_t n = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

	return n > 0 && (value[0] < '0' || value[0] > '9') && (value[n] == '\0' || value[n] == '=');
}
static bool is_lib(const char *value)
{
	return value[0] != '-' && value[0] != '.' &&
	       value[strspn(value,
	               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.+-")] ==
	               '\0';
}
static bool is_kat_line(const char *value)
{
	char hex[65];

	if (strlen(value) < 68 || value[64] != ' ')
		return false;
	memcpy(hex, value, 64);
	hex[64] = '\0';
	return fm_hex64_ok(hex) && strchr(value + 65, ' ') != NULL;
}
static bool is_source(const char *value)
{
	return fm_path_ok(value);
}
static bool is_operation(const char *value)
{
	return fm_jobplan_bytes(value) != 0;
}

static int take_list(struct fm_text *t, const char *key, struct fm_jp_strings *list,
        bool (*good)(const char *), const char *allowed, size_t least)
{
	const char *value;

	while (fm_text_maybe(t, key, &value)) {
		if (!good(value))
			return bad(t, key, value, allowed);
		if (push(list, value) != FM_OK)
			return FM_ERR_MEMORY;
	}
	if (list->count < least)
		return fm_text_take(t, key, &value) == FM_OK ? FM_ERR_INTERNAL : FM_ERR_FORM;
	return FM_OK;
}

static int take_version(struct fm_text *t, const char *name, struct fm_jp_instance *in)
{
	struct fm_jp_version *v = fm_grow(&in->versions, &in->version_count, sizeof *v);
	int rc;

	if (v == NULL)
		return FM_ERR_MEMORY;
	if (strcmp(name, "reference") != 0 && strcmp(name, "performance") != 0 &&
	        strcmp(name, "resource") != 0)
		return bad(t, "version", name, "reference, performance, resource");
	v->version = name;
	if ((rc = fm_text_take(t, "flags", &v->flags)) != FM_OK)
		return rc;
	if (!fm_text_maybe(t, "flags_mark", &v->mark))
		v->mark = "";
	rc = take_list(t, "source_file", &v->sources, is_source, "a path of the tree", 1);
	if (rc != FM_OK)
		return rc;
	return take_list(t, "operation", &v->operations, is_operation, "hash_<bytes>", 1);
}

static int take_instance(struct fm_text *t, const char *name, struct fm_jp_candidate *c)
{
	static const char *const digests[] = {"fixed", "any", NULL};
	struct fm_jp_instance *in = fm_grow(&c->instances, &c->instance_count, sizeof *in);
	uint64_t bits = 0;
	const char *value;
	int rc;

	if (in == NULL)
		return FM_ERR_MEMORY;
	if (!fm_name_ok(name))
		return bad(t, "instance", name, "a name");
	in->instance = name;
	if ((rc = fm_text_take_u64(t, "digest_bits", 1048576, &bits)) != FM_OK ||
	        (rc = one_of(t, "digest", digests, &in->digest)) != FM_OK ||
	        (rc = fm_text_take(t, "header", &in->header)) != FM_OK ||
	        (rc = fm_text_take(t, "kat_name", &in->kat_name)) != FM_OK)
		return rc;
	if (bits < 8)
		return bad(t, "digest_bits", "less than 8", "8 to 1048576");
	in->digest_bits = (unsigned)bits;
	if (!fm_path_ok(in->header) || !fm_path_ok(in->kat_name))
		return bad(t, "header, kat_name", in->kat_name, "a path");
	if ((rc = take_list(t, "include", &in->include, is_folder, "a path of the tree", 0)) !=
	                FM_OK ||
	        (rc = take_list(t, "define", &in->define, is_define, "NAME or NAME=VALUE", 0)) !=
	                FM_OK ||
	        (rc = take_list(t, "lib", &in->lib, is_lib, "a library's name", 0)) != FM_OK ||
	        (rc = take_list(t, "kat_line", &in->kat_lines, is_kat_line, "<hex> <mode> <file>",
	                 0)) != FM_OK)
		return rc;
	while (fm_text_maybe(t, "version", &value))
		if ((rc = take_version(t, value, in)) != FM_OK)
			return rc;
	return in->version_count > 0 ? FM_OK : fm_text_take(t, "version", &value);
}

static int take_candidate(struct fm_text *t, const char *name, struct fm_jobplan *p)
{
	struct fm_jp_candidate *c;
	const char *value;
	int rc;

	if (!fm_name_ok(name))
		return bad(t, "candidate", name, "a name");
	if (fm_jobplan_candidate(p, name) != NULL)
		return bad(t, "candidate", name, "each candidate once");
	c = fm_grow(&p->candidates, &p->candidate_count, sizeof *c);
	if (c == NULL)
		return FM_ERR_MEMORY;
	c->candidate = name;
	if ((rc = fm_text_take_hex(t, "source", c->source)) != FM_OK ||
	        (rc = fm_text_take_hex(t, "tree", c->tree)) != FM_OK)
		return rc;
	if (fm_text_maybe(t, "vectors_file", &c->vectors_file) && !is_path(c->vectors_file))
		return bad(t, "vectors_file", c->vectors_file, "a path in the plan");
	while (fm_text_maybe(t, "instance", &value))
		if ((rc = take_instance(t, value, c)) != FM_OK)
			return rc;
	return c->instance_count > 0 ? FM_OK : fm_text_take(t, "instance", &value);
}

static int take_head(struct fm_text *t, struct fm_jobplan *p)
{
	static const char *const archs[] = {"x86_64", "aarch64", NULL};
	static const char *const profiles[] = {"smoke", "guide", "rigorous", NULL};
	static const char *const kats[] = {"standard", "loop", "full", NULL};
	const char *key;
	int rc;

	if ((rc = fm_text_take_name(t, "campaign", p->campaign)) != FM_OK ||
	        (rc = fm_text_take_name(t, "system", p->system)) != FM_OK ||
	        (rc = one_of(t, "arch", archs, &p->arch)) != FM_OK ||
	        (rc = fm_text_take(t, "key", &key)) != FM_OK ||
	        (rc = fm_public_parse(key, &p->key)) != FM_OK ||
	        (rc = fm_text_take_hex(t, "nonce", p->nonce)) != FM_OK ||
	        (rc = one_of(t, "profile", profiles, &p->profile)) != FM_OK ||
	        (rc = one_of(t, "kat", kats, &p->kat)) != FM_OK ||
	        (rc = fm_text_take_i64(t, "cpu", &p->cpu)) != FM_OK ||
	        (fm_text_maybe(t, "counter", &p->counter) && strcmp(p->counter, "raw") != 0 &&
	                (rc = bad(t, "counter", p->counter, "raw")) != FM_OK) ||
	        (rc = fm_text_take_hex(t, "agent_source", p->agent_source)) != FM_OK ||
	        (rc = fm_text_take(t, "additions", &p->additions)) != FM_OK)
		return rc;
	if (p->cpu < -1 || p->cpu > 4095)
		return bad(t, "cpu", "another number", "-1 to 4095");
	return fm_text_take(t, "fallback", &p->fallback);
}

int fm_jobplan_parse(const char *bytes, size_t len, struct fm_jobplan *out)
{
	const char *value;
	size_t instances = 0;
	int rc;

	memset(out, 0, sizeof *out);
	rc = fm_text_open(&out->text, "plan", bytes, len);
	if (rc != FM_OK)
		return rc;
	rc = take_head(&out->text, out);
	while (rc == FM_OK && fm_text_maybe(&out->text, "candidate", &value))
		rc = take_candidate(&out->text, value, out);
	if (rc == FM_OK)
		rc = fm_text_close(&out->text);
	for (size_t i = 0; i < out->candidate_count; i++)
		instances += out->candidates[i].instance_count;
	if (rc == FM_OK && instances > MAX_INSTANCES)
		rc = fm_fail(FM_ERR_SIZE, "plan: more than %d instances", MAX_INSTANCES);
	if (rc != FM_OK)
		fm_jobplan_free(out);
	return rc;
}

void fm_jobplan_free(struct fm_jobplan *p)
{
	for (size_t i = 0; i < p->candidate_count; i++) {
		struct fm_jp_candidate *c = &p->candidates[i];

		for (size_t k = 0; k < c->instance_count; k++) {
			struct fm_jp_instance *in = &c->instances[k];

			for (size_t v = 0; v < in->version_count; v++) {
				free(in->versions[v].sources.at);
				free(in->versions[v].operations.at);
			}
			free(in->versions);
			free(in->include.at);
			free(in->define.at);
			free(in->lib.at);
			free(in->kat_lines.at);
		}
		free(c->instances);
	}
	free(p->candidates);
	fm_text_free(&p->text);
	memset(p, 0, sizeof *p);
}

const struct fm_jp_candidate *fm_jobplan_candidate(const struct fm_jobplan *p, const char *name)
{
	for (size_t i = 0; i < p->candidate_count; i++)
		if (strcmp(p->candidates[i].candidate, name) == 0)
			return &p->candidates[i];
	return NULL;
}

/* "<candidate> <attempt> <nonce>" */
static int parse_item(const struct fm_text *t, const char *value, struct fm_dispatch_item *item)
{
	const char *first = strchr(value, ' '), *second;
	char number[8];
	uint64_t attempt = 0;

	second = first == NULL ? NULL : strchr(first + 1, ' ');
	if (second == NULL || (size_t)(first - value) > FM_NAME_MAX || second - first > 4)
		return bad(t, "job", value, "<candidate> <attempt> <nonce>");
	memcpy(item->candidate, value, (size_t)(first - value));
	item->candidate[first - value] = '\0';
	memcpy(number, first + 1, (size_t)(second - first - 1));
	number[second - first - 1] = '\0';
	if (!fm_name_ok(item->candidate) || fm_parse_u64(number, 99, &attempt) != FM_OK ||
	        attempt == 0 || !fm_hex64_ok(second + 1))
		return bad(t, "job", value, "<candidate> <attempt 1..99> <nonce>");
	item->attempt = (unsigned)attempt;
	memcpy(item->nonce, second + 1, sizeof item->nonce);
	return FM_OK;
}

int fm_dispatch_parse(const char *bytes, size_t len, struct fm_dispatch *out)
{
	struct fm_text t;
	const char *value;
	int rc;

	memset(out, 0, sizeof *out);
	rc = fm_text_open(&t, "job", bytes, len);
	if (rc != FM_OK)
		return rc;
	if ((rc = fm_text_take_name(&t, "campaign", out->campaign)) != FM_OK ||
	        (rc = fm_text_take_name(&t, "system", out->system)) != FM_OK ||
	        (rc = fm_text_take_hex(&t, "plan_sha256", out->plan_sha256)) != FM_OK ||
	        (rc = fm_text_take_u64(&t, "lease_s", 31536000, &out->lease_s)) != FM_OK ||
	        (rc = fm_text_take_u64(&t, "deadline_s", 31536000, &out->deadline_s)) != FM_OK)
		goto out;
	while (fm_text_maybe(&t, "job", &value)) {
		struct fm_dispatch_item *item =
		        fm_grow(&out->items, &out->item_count, sizeof *item);

		rc = item == NULL ? FM_ERR_MEMORY : parse_item(&t, value, item);
		if (rc != FM_OK)
			goto out;
		for (size_t i = 0; i + 1 < out->item_count; i++)
			if (strcmp(out->items[i].candidate, item->candidate) == 0 ||
			        strcmp(out->items[i].nonce, item->nonce) == 0) {
				rc = bad(&t, "job", value, "each candidate and nonce once");
				goto out;
			}
	}
	rc = out->item_count > 0 ? fm_text_close(&t) : fm_text_take(&t, "job", &value);
out:
	fm_text_free(&t);
	if (rc != FM_OK)
		fm_dispatch_free(out);
	return rc;
}

void fm_dispatch_free(struct fm_dispatch *d)
{
	free(d->items);
	memset(d, 0, sizeof *d);
}
