/* plan_write.c: writes the sealed plan folder: plan.json and the lists beside it. */
#include "orchestrator/plan_parts.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/jsonw.h"
#include "protocol/seal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- plan.json, keys in rising order ---- */

static void put_words(struct fm_jsonw *w, const char *key, const struct fm_words *words)
{
	fm_jsonw_array(w, key);
	for (size_t i = 0; i < words->count; i++)
		fm_jsonw_str(w, NULL, words->word[i]);
	fm_jsonw_close(w);
}

static void put_instance(struct fm_jsonw *w, const struct fm_instance *i)
{
	fm_jsonw_object(w, NULL);
	put_words(w, "arch", &i->arch);
	put_words(w, "defines", &i->defines);
	fm_jsonw_str(w, "digest", i->digest_any ? "any" : "fixed");
	fm_jsonw_int(w, "digest_bits", i->digest_bits);
	fm_jsonw_str(w, "header", i->header);
	put_words(w, "include", &i->include);
	fm_jsonw_str(w, "instance", i->name);
	fm_jsonw_str(w, "kat", i->kat);
	put_words(w, "libs", &i->libs);
	fm_jsonw_int(w, "vectors", (long long)i->vectors);
	fm_jsonw_array(w, "versions");
	for (int v = 0; v < FM_VERSIONS; v++) {
		if (!i->version[v].exists)
			continue;
		fm_jsonw_object(w, NULL);
		fm_jsonw_int(w, "own", i->version[v].own);
		put_words(w, "sources", &i->version[v].sources);
		fm_jsonw_str(w, "version", fm_version_name[v]);
		fm_jsonw_close(w);
	}
	fm_jsonw_close(w);
	fm_jsonw_close(w);
}

static void put_candidate(struct fm_jsonw *w, const struct fm_candidate *c)
{
	fm_jsonw_object(w, NULL);
	fm_jsonw_str(w, "archive_sha256", c->archive_sha256);
	fm_jsonw_str(w, "candidate", c->id);
	fm_jsonw_str(w, "category", c->category);
	fm_jsonw_array(w, "instances");
	for (size_t i = 0; i < c->count; i++)
		put_instance(w, &c->instances[i]);
	fm_jsonw_close(w);
	fm_jsonw_str(w, "name", c->name);
	fm_jsonw_str(w, "origin", c->origin);
	fm_jsonw_str(w, "page", c->page);
	fm_jsonw_str(w, "source_sha256", c->source_sha256);
	fm_jsonw_str(w, "tree_list_sha256", c->tree_sha256);
	fm_jsonw_close(w);
}

static void put_system(struct fm_jsonw *w, const struct fm_plan_system *s)
{
	char key[FM_PUBLIC_LINE + 1];

	fm_public_line(&s->key, key);
	fm_jsonw_object(w, NULL);
	fm_jsonw_str(w, "about", s->about);
	fm_jsonw_str(w, "arch", s->arch);
	if (s->raw)
		fm_jsonw_str(w, "counter", "raw");
	fm_jsonw_int(w, "cpu", s->cpu);
	fm_jsonw_str(w, "key", key);
	fm_jsonw_str(w, "system", s->name);
	fm_jsonw_close(w);
}

static void put_flags(struct fm_jsonw *w, const struct fm_flags *f)
{
	fm_jsonw_array(w, "flags");
	for (size_t i = 0; i < f->count; i++) {
		fm_jsonw_object(w, NULL);
		fm_jsonw_str(w, "arch", f->list[i].arch);
		fm_jsonw_str(w, "flags", f->list[i].flags);
		fm_jsonw_str(w, "mark", f->list[i].mark);
		fm_jsonw_str(w, "version", fm_version_name[f->list[i].version]);
		fm_jsonw_close(w);
	}
	fm_jsonw_close(w);
}

int fm_plan_json(const struct fm_plan *p, struct fm_buf *out)
{
	struct fm_jsonw w;

	fm_jsonw_start(&w, out);
	fm_jsonw_str(&w, "additions", p->flags.additions);
	fm_jsonw_str(&w, "agent_source_sha256", p->agent_source_sha256);
	fm_jsonw_str(&w, "campaign", p->campaign);
	fm_jsonw_array(&w, "candidates");
	for (size_t i = 0; i < p->candidates.count; i++)
		put_candidate(&w, &p->candidates.list[i]);
	fm_jsonw_close(&w);
	fm_jsonw_array(&w, "cells");
	for (size_t i = 0; i < p->cell_count; i++)
		fm_jsonw_str(&w, NULL, p->cells[i]);
	fm_jsonw_close(&w);
	fm_jsonw_str(&w, "expires_at", p->expires_at);
	fm_jsonw_str(&w, "fallback", p->flags.fallback);
	put_flags(&w, &p->flags);
	fm_jsonw_str(&w, "issued_at", p->issued_at);
	fm_jsonw_str(&w, "kat", p->kat);
	fm_jsonw_array(&w, "known_issues");
	fm_jsonw_close(&w);
	fm_jsonw_str(&w, "nonce", p->nonce);
	fm_jsonw_str(&w, "profile", p->profile);
	fm_jsonw_int(&w, "publish", p->publish);
	fm_jsonw_str(&w, "schema", "plan/1");
	fm_jsonw_array(&w, "systems");
	for (size_t i = 0; i < p->system_count; i++)
		put_system(&w, &p->systems[i]);
	fm_jsonw_close(&w);
	if (p->test_world[0] != '\0')
		fm_jsonw_str(&w, "test_world", p->test_world);
	return fm_jsonw_end(&w);
}

/* ---- lists: gathered, sorted by name, written ---- */

struct list {
	struct list_line {
		char *text;       /* with LF */
		const char *name; /* inside text */
	} * lines;
	size_t count;
};

static int add_line(struct list *l, char *text, size_t name)
{
	struct list_line *line = text == NULL ? NULL : fm_grow(&l->lines, &l->count, sizeof *line);

	if (line == NULL) {
		free(text);
		return FM_ERR_MEMORY;
	}
	*line = (struct list_line){text, text + name};
	return FM_OK;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct list_line *)a)->name, ((const struct list_line *)b)->name);
}

static int write_list(struct list *l, int dirfd, const char *name, int rc)
{
	struct fm_buf text = FM_BUF_INIT(FM_PLAN_FILE_MAX);

	if (l->count > 0)
		qsort(l->lines, l->count, sizeof *l->lines, by_name);
	for (size_t i = 0; rc == FM_OK && i < l->count; i++)
		rc = fm_buf_puts(&text, l->lines[i].text);
	if (rc == FM_OK)
		rc = fm_fs_write(dirfd, name, text.data == NULL ? "" : text.data, text.len, 0644);
	for (size_t i = 0; i < l->count; i++)
		free(l->lines[i].text);
	free(l->lines);
	fm_buf_free(&text);
	return rc;
}

/* The candidates' lists with `<candidate>/` in front of every path. */
static int write_sources(const struct fm_plan *p, int dirfd)
{
	struct list l = {NULL, 0};
	int rc = FM_OK;

	for (size_t i = 0; i < p->candidates.count; i++) {
		const struct fm_candidate *c = &p->candidates.list[i];

		for (const char *q = c->sources.data; rc == FM_OK && q != NULL && *q != '\0';
		        q = strchr(q, '\n') + 1)
			rc = add_line(&l,
			        fm_sprintf("%.66s%s/%.*s\n", q, c->id,
			                (int)(strchr(q, '\n') - q - 66), q + 66),
			        66);
	}
	return write_list(&l, dirfd, "SOURCES.sha256", rc);
}

static int write_kat(const struct fm_plan *p, int dirfd)
{
	struct list l = {NULL, 0};
	int rc = FM_OK;

	for (size_t n = 0; n < p->candidates.count; n++) {
		const struct fm_candidate *c = &p->candidates.list[n];

		for (size_t m = 0; m < c->count; m++) {
			const struct fm_instance *i = &c->instances[m];
			char mode[32];

			for (size_t k = 0; rc == FM_OK && k < i->kat_count; k++)
				rc = add_line(&l,
				        fm_sprintf("%s %s %s/%s/%s\n", i->kat_lines[k].sha256,
				                i->kat_lines[k].mode, c->id, i->name,
				                i->kat_lines[k].file),
				        66 + strlen(i->kat_lines[k].mode));
			snprintf(mode, sizeof mode, "vectors:%zu", i->vectors);
			if (rc == FM_OK && i->vectors > 0)
				rc = add_line(&l,
				        fm_sprintf("%s %s %s/%s/vectors.txt\n", i->vectors_sha256,
				                mode, c->id, i->name),
				        66 + strlen(mode));
		}
	}
	return write_list(&l, dirfd, "kat.sha256", rc);
}

static int write_vectors(const struct fm_plan *p, int dirfd)
{
	int rc = FM_OK;

	for (size_t n = 0; rc == FM_OK && n < p->candidates.count; n++) {
		const struct fm_candidate *c = &p->candidates.list[n];
		char *name;

		if (c->vectors.len == 0)
			continue;
		name = fm_sprintf("vectors/%s.txt", c->id);
		rc = name == NULL
		             ? FM_ERR_MEMORY
		             : fm_fs_write_deep(dirfd, name, c->vectors.data, c->vectors.len, 0644);
		free(name);
	}
	return rc;
}

static int write_jobs(const struct fm_plan *p, int dirfd)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < p->system_count; i++) {
		struct fm_buf text = FM_BUF_INIT(FM_TEXT_MAX);
		char *name = fm_sprintf("jobs/%s.txt", p->systems[i].name);

		rc = name == NULL ? FM_ERR_MEMORY : fm_plan_job(p, &p->systems[i], &text);
		if (rc == FM_OK)
			rc = fm_fs_write_deep(dirfd, name, text.data, text.len, 0644);
		else if (name != NULL)
			fm_wrap(rc, "%s", name);
		free(name);
		fm_buf_free(&text);
	}
	return rc;
}

int fm_plan_write(const struct fm_plan *p, int dirfd, const struct fm_identity *id)
{
	struct fm_buf json = FM_BUF_INIT(FM_PLAN_FILE_MAX);
	int rc = fm_plan_json(p, &json);

	if (rc == FM_OK)
		rc = fm_fs_write(dirfd, "plan.json", json.data, json.len, 0644);
	if (rc == FM_OK)
		rc = write_sources(p, dirfd);
	if (rc == FM_OK)
		rc = write_kat(p, dirfd);
	if (rc == FM_OK)
		rc = write_vectors(p, dirfd);
	if (rc == FM_OK)
		rc = write_jobs(p, dirfd);
	if (rc == FM_OK)
		rc = fm_seal(dirfd, FM_SEAL_PLAN, id, NULL);
	fm_buf_free(&json);
	return rc == FM_OK ? rc : fm_wrap(rc, "plan");
}
