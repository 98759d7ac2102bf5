/* plan_read.c: reads a plan folder back, every value checked again: a seal says who wrote it, not
 * that it makes sense. */
#include "orchestrator/jsonlong.h"
#include "orchestrator/plan_lists.h"
#include "orchestrator/plan_parts.h"
#include "protocol/fs.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SYSTEMS_MAX    256
#define CANDIDATES_MAX 1024
#define INSTANCES_MAX  4096
#define CELLS_MAX      1000000

/* The object being read and the first error: after one, every take does nothing. */
struct take {
	const struct fm_json_node *o;
	int rc;
};

static void fail(struct take *t, const char *key, const char *why)
{
	char text[120];

	if (t->rc != FM_OK)
		return;
	snprintf(text, sizeof text, "%s %s", key, why);
	t->rc = fm_json_fail(t->o, text);
}

static const char *text(struct take *t, const char *key)
{
	const char *value = "";

	if (t->rc == FM_OK)
		t->rc = fm_json_str(t->o, key, &value);
	return t->rc == FM_OK ? value : "";
}

static void keep(struct take *t, const char *key, char **slot)
{
	const char *value = text(t, key);

	if (t->rc == FM_OK && (*slot = fm_strdup(value)) == NULL)
		t->rc = FM_ERR_MEMORY;
}

/* A string of the given form into a fixed array. */
static void copy(struct take *t, const char *key, bool (*ok)(const char *), char *out, size_t size)
{
	const char *value = text(t, key);

	if (t->rc == FM_OK && (!ok(value) || strlen(value) >= size))
		fail(t, key, "is not of its form");
	if (t->rc == FM_OK)
		memcpy(out, value, strlen(value) + 1);
}

static void one_of(struct take *t, const char *key, const char *allowed, char *out, size_t size)
{
	const char *value = text(t, key), *p = allowed;
	size_t len = strlen(value);

	while (*p != '\0' && !(strncmp(p, value, len) == 0 && (p[len] == ' ' || p[len] == '\0'))) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	if (t->rc == FM_OK && (*p == '\0' || len == 0 || len >= size))
		fail(t, key, "is none of the allowed words");
	if (t->rc == FM_OK)
		memcpy(out, value, len + 1);
}

static int number(struct take *t, const char *key, int64_t min, int64_t max)
{
	int64_t value = 0;

	if (t->rc == FM_OK)
		t->rc = fm_json_int(t->o, key, &value);
	if (t->rc == FM_OK && (value < min || value > max))
		fail(t, key, "is out of range");
	return t->rc == FM_OK ? (int)value : 0;
}

static const struct fm_json_node *array(struct take *t, const char *key, size_t max)
{
	const struct fm_json_node *a = NULL;

	if (t->rc == FM_OK)
		t->rc = fm_json_array(t->o, key, &a);
	if (t->rc == FM_OK && fm_json_count(a) > max)
		fail(t, key, "has too many elements");
	return t->rc == FM_OK ? a : NULL;
}

static bool hex_or_empty(const char *value)
{
	return value[0] == '\0' || fm_hex64_ok(value);
}

static void words(struct take *t, const char *key, bool (*ok)(const char *), struct fm_words *out)
{
	const struct fm_json_node *a = array(t, key, 2000);

	for (const struct fm_json_node *e = a == NULL ? NULL : fm_json_first(a);
	        t->rc == FM_OK && e != NULL; e = fm_json_next(e)) {
		const char *value = fm_json_text(e);
		char **slot;

		if (value == NULL || value[0] == '\0' || strlen(value) > 400 ||
		        (ok != NULL && !ok(value)))
			fail(t, key, "holds something not of its form");
		else if ((slot = fm_grow(&out->word, &out->count, sizeof *slot)) == NULL ||
		         (*slot = fm_strdup(value)) == NULL)
			t->rc = FM_ERR_MEMORY;
	}
}

static bool arch_ok(const char *value)
{
	return strcmp(value, "x86_64") == 0 || strcmp(value, "aarch64") == 0;
}

static int version_of(struct take *t, const char *key)
{
	const char *value = text(t, key);

	for (int v = 0; t->rc == FM_OK && v < FM_VERSIONS; v++)
		if (strcmp(value, fm_version_name[v]) == 0)
			return v;
	fail(t, key, "is no version");
	return 0;
}

static int take_version(const struct fm_json_node *o, struct fm_instance *i)
{
	struct take t = {o, fm_json_only(o, "own sources version")};
	int v = version_of(&t, "version");

	if (t.rc == FM_OK && i->version[v].exists)
		fail(&t, "version", "stands twice");
	if (t.rc != FM_OK)
		return t.rc;
	i->version[v].exists = true;
	i->version[v].own = number(&t, "own", 0, 1) == 1;
	words(&t, "sources", fm_path_ok, &i->version[v].sources);
	if (i->version[v].sources.count == 0)
		fail(&t, "sources", "is empty");
	return t.rc;
}

static int take_instance(const struct fm_json_node *o, struct fm_candidate *c)
{
	struct take t = {o,
	        fm_json_only(o,
	                "arch defines digest digest_bits header include instance kat libs vectors "
	                "versions")};
	struct fm_instance *i = fm_grow(&c->instances, &c->count, sizeof *i);
	const struct fm_json_node *a;
	char digest[8] = "";

	if (i == NULL)
		return FM_ERR_MEMORY;
	copy(&t, "instance", fm_name_ok, i->name, sizeof i->name);
	copy(&t, "kat", fm_name_ok, i->kat, sizeof i->kat);
	one_of(&t, "digest", "fixed any", digest, sizeof digest);
	i->digest_any = strcmp(digest, "any") == 0;
	i->digest_bits = number(&t, "digest_bits", 8, 65536);
	i->vectors = (size_t)number(&t, "vectors", 0, 1000000);
	keep(&t, "header", &i->header);
	if (t.rc == FM_OK && !fm_path_ok(i->header))
		fail(&t, "header", "is no path");
	words(&t, "arch", arch_ok, &i->arch);
	words(&t, "defines", NULL, &i->defines);
	words(&t, "include", fm_path_ok, &i->include);
	words(&t, "libs", NULL, &i->libs);
	a = array(&t, "versions", FM_VERSIONS);
	for (const struct fm_json_node *e = a == NULL ? NULL : fm_json_first(a);
	        t.rc == FM_OK && e != NULL; e = fm_json_next(e))
		t.rc = take_version(e, i);
	for (size_t n = 0; t.rc == FM_OK && n + 1 < c->count; n++)
		if (strcmp(c->instances[n].name, i->name) == 0)
			fail(&t, "instance", "stands twice");
	return t.rc;
}

static int take_candidate(const struct fm_json_node *o, struct fm_plan *p)
{
	struct take t = {
	        o, fm_json_only(o, "archive_sha256 candidate category instances name origin page "
	                           "source_sha256 tree_list_sha256")};
	struct fm_candidate *c = fm_grow(&p->candidates.list, &p->candidates.count, sizeof *c);
	const struct fm_json_node *a;
	char origin[8] = "";

	if (c == NULL)
		return FM_ERR_MEMORY;
	copy(&t, "candidate", fm_name_ok, c->id, sizeof c->id);
	if (t.rc == FM_OK && p->candidates.count > 1 && strcmp(c[-1].id, c->id) >= 0)
		fail(&t, "candidate", "is out of order");
	keep(&t, "name", &c->name);
	keep(&t, "category", &c->category);
	keep(&t, "page", &c->page);
	keep(&t, "origin", &c->origin);
	one_of(&t, "origin", "own archive", origin, sizeof origin);
	copy(&t, "archive_sha256", hex_or_empty, c->archive_sha256, sizeof c->archive_sha256);
	copy(&t, "source_sha256", fm_hex64_ok, c->source_sha256, sizeof c->source_sha256);
	copy(&t, "tree_list_sha256", fm_hex64_ok, c->tree_sha256, sizeof c->tree_sha256);
	a = array(&t, "instances", INSTANCES_MAX);
	for (const struct fm_json_node *e = a == NULL ? NULL : fm_json_first(a);
	        t.rc == FM_OK && e != NULL; e = fm_json_next(e))
		t.rc = take_instance(e, c);
	return t.rc;
}

static int take_system(const struct fm_json_node *o, struct fm_plan *p)
{
	struct take t = {o, fm_json_only(o, "about arch counter cpu key system")};
	struct fm_plan_system *s = fm_grow(&p->systems, &p->system_count, sizeof *s);

	if (s == NULL)
		return FM_ERR_MEMORY;
	keep(&t, "about", &s->about);
	copy(&t, "arch", arch_ok, s->arch, sizeof s->arch);
	copy(&t, "system", fm_name_ok, s->name, sizeof s->name);
	s->raw = t.rc == FM_OK && fm_json_has(o, "counter");
	if (s->raw && strcmp(text(&t, "counter"), "raw") != 0)
		fail(&t, "counter", "can only be raw");
	s->cpu = number(&t, "cpu", -1, 4095);
	if (t.rc == FM_OK && fm_public_parse(text(&t, "key"), &s->key) != FM_OK)
		fail(&t, "key", "is no public line");
	if (t.rc == FM_OK && strcmp(s->name, "controller") == 0)
		fail(&t, "system", "must not be controller");
	for (size_t i = 0; t.rc == FM_OK && i + 1 < p->system_count; i++)
		if (strcmp(p->systems[i].name, s->name) == 0 ||
		        fm_public_equal(&p->systems[i].key, &s->key))
			fail(&t, "system", "or its key stands twice");
	return t.rc;
}

static int take_flags(const struct fm_json_node *o, struct fm_plan *p)
{
	struct take t = {o, fm_json_only(o, "arch flags mark version")};
	struct fm_flags_line *f = fm_grow(&p->flags.list, &p->flags.count, sizeof *f);

	if (f == NULL)
		return FM_ERR_MEMORY;
	copy(&t, "arch", arch_ok, f->arch, sizeof f->arch);
	f->version = version_of(&t, "version");
	keep(&t, "flags", &f->flags);
	keep(&t, "mark", &f->mark);
	for (size_t i = 0; t.rc == FM_OK && i + 1 < p->flags.count; i++)
		if (strcmp(p->flags.list[i].arch, f->arch) == 0 &&
		        p->flags.list[i].version == f->version)
			fail(&t, "arch", "and version stand twice");
	return t.rc;
}

struct taking {
	struct fm_plan *plan;
	bool keep; /* all of them, else the last one */
	char last[sizeof((struct fm_cell *)NULL)->text];
	size_t count;
};

/* A cell in its place of the order, whose parts are all in the plan. */
static int take_cell(void *arg, const struct fm_json_node *e, uint64_t offset)
{
	struct taking *t = arg;
	struct fm_plan *p = t->plan;
	const char *value = fm_json_text(e);
	const struct fm_plan_system *s;
	const struct fm_candidate *c;
	const struct fm_instance *i;
	struct fm_cell cell;
	char **slot;
	int v = 0;

	(void)offset;
	if (value == NULL || fm_cell_parse(value, &cell) != FM_OK)
		return fm_json_fail(e, "is no cell");
	if (strcmp(t->last, value) >= 0)
		return fm_json_fail(e, "is out of order");
	while (v < FM_VERSIONS - 1 && strcmp(fm_version_name[v], cell.version) != 0)
		v++;
	s = fm_plan_system(p, cell.system);
	c = fm_plan_candidate(p, cell.candidate);
	i = c == NULL ? NULL : fm_candidate_instance(c, cell.instance);
	if (s == NULL || i == NULL || !i->version[v].exists ||
	        fm_flags_find(&p->flags, s->arch, v) == NULL)
		return fm_json_fail(e, "has parts that are not in the plan");
	if (t->count++ == CELLS_MAX)
		return fm_json_fail(e, "too many elements");
	snprintf(t->last, sizeof t->last, "%s", value);
	if (t->keep && ((slot = fm_grow(&p->cells, &p->cell_count, sizeof *slot)) == NULL ||
	                       (*slot = fm_strdup(value)) == NULL))
		return FM_ERR_MEMORY;
	return FM_OK;
}

static void each(struct take *t, const char *key, size_t max, struct fm_plan *p,
        int (*take)(const struct fm_json_node *, struct fm_plan *))
{
	const struct fm_json_node *a = array(t, key, max);

	for (const struct fm_json_node *e = a == NULL ? NULL : fm_json_first(a);
	        t->rc == FM_OK && e != NULL; e = fm_json_next(e))
		t->rc = take(e, p);
}

static int take_plan(const struct fm_json_node *root, struct fm_plan *p)
{
	struct take t = {
	        root, fm_json_only(root,
	                      "additions agent_source_sha256 campaign candidates cells expires_at "
	                      "fallback flags issued_at kat known_issues nonce profile publish "
	                      "schema systems test_world")};
	char schema[8] = "";

	one_of(&t, "schema", "plan/1", schema, sizeof schema);
	copy(&t, "campaign", fm_name_ok, p->campaign, sizeof p->campaign);
	copy(&t, "nonce", fm_hex64_ok, p->nonce, sizeof p->nonce);
	copy(&t, "issued_at", fm_stamp_ok, p->issued_at, sizeof p->issued_at);
	copy(&t, "expires_at", fm_stamp_ok, p->expires_at, sizeof p->expires_at);
	one_of(&t, "profile", "smoke guide rigorous", p->profile, sizeof p->profile);
	one_of(&t, "kat", "standard loop full", p->kat, sizeof p->kat);
	p->publish = number(&t, "publish", 0, 1);
	if (t.rc == FM_OK && p->publish == 1 && strcmp(p->profile, "smoke") == 0)
		fail(&t, "publish", "must be 0 for smoke");
	if (t.rc == FM_OK && strcmp(p->issued_at, p->expires_at) > 0)
		fail(&t, "expires_at", "lies before issued_at");
	copy(&t, "agent_source_sha256", fm_hex64_ok, p->agent_source_sha256,
	        sizeof p->agent_source_sha256);
	keep(&t, "additions", &p->flags.additions);
	keep(&t, "fallback", &p->flags.fallback);
	if (t.rc == FM_OK && fm_json_has(root, "test_world"))
		copy(&t, "test_world", fm_hex64_ok, p->test_world, sizeof p->test_world);
	(void)array(&t, "known_issues", 0);
	each(&t, "flags", 6, p, take_flags);
	each(&t, "systems", SYSTEMS_MAX, p, take_system);
	each(&t, "candidates", CANDIDATES_MAX, p, take_candidate);
	(void)array(&t, "cells", 0); /* they were left out */
	return t.rc;
}

/* All but the cells first: they stand before what they are made of. */
static int read_plan(struct fm_json_long *d, bool keep, struct fm_plan *out)
{
	struct taking t = {.plan = out, .keep = keep};
	struct fm_json *rest = NULL;
	int rc = fm_json_long_open(d, FM_PLAN_FILE_MAX, &rest);

	memset(out, 0, sizeof *out);
	if (rc == FM_OK && (rc = take_plan(fm_json_root(rest), out)) == FM_OK)
		rc = fm_json_long_each(d, take_cell, &t);
	fm_json_free(rest);
	if (rc != FM_OK)
		fm_plan_free(out);
	return rc;
}

int fm_plan_parse(const char *what, const char *bytes, size_t len, struct fm_plan *out)
{
	struct fm_json_long d = {
	        .what = what, .key = "cells", .fd = -1, .bytes = bytes, .len = len};

	return read_plan(&d, true, out);
}

static int read_folder(int dirfd, bool keep, struct fm_plan *out)
{
	struct fm_json_long d = {.what = "plan.json", .key = "cells", .fd = -1};
	int rc = fm_fs_open(dirfd, "plan.json", FM_PLAN_FILE_MAX, &d.fd);

	memset(out, 0, sizeof *out);
	if (rc != FM_OK)
		return rc;
	if ((rc = read_plan(&d, keep, out)) == FM_OK &&
	        (rc = fm_plan_read_lists(dirfd, out)) != FM_OK)
		fm_plan_free(out);
	close(d.fd);
	return rc;
}

int fm_plan_read(int dirfd, struct fm_plan *out)
{
	return read_folder(dirfd, true, out);
}

int fm_plan_read_head(int dirfd, struct fm_plan *out)
{
	return read_folder(dirfd, false, out);
}
