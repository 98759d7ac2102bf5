/* recipe_ini.c: candidate.ini, what people write about a submission, into the form that the plan
 * holds. */
#include "orchestrator/ini.h"
#include "orchestrator/package.h"
#include "orchestrator/recipe_parts.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CANDIDATE_KEYS "id, name, category, page, origin"
#define ARCHIVE_KEYS   "url, sha256, bytes, root"
#define INSTANCE_KEYS                                                                            \
	"digest_bits, digest, header, sources, sources.performance, sources.resource, defines, " \
	"include, libs, arch, kat"
#define WORDS_MAX 2000 /* sources, defines ... of one instance */

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

const char *const fm_version_name[FM_VERSIONS] = {"reference", "performance", "resource"};

struct reading {
	const struct fm_ini *ini;
	const struct fm_ini_entry *e;
	const char *folder;
	struct fm_candidate *c;
	struct fm_instance *i; /* the section being read, else NULL */
};

static int refuse(const struct reading *r, const char *value, const char *allowed)
{
	char shown[100];

	return fm_ini_fail(r->ini, r->e, "%s: read '%s', allowed: %s", r->e->key,
	        fm_escape(value, strlen(value), shown, sizeof shown), allowed);
}

static int take_text(const struct reading *r, size_t max, char **slot)
{
	const char *v = r->e->value;
	size_t len = strlen(v);

	for (size_t i = 0; i < len; i++)
		if (v[i] < 0x20 || v[i] > 0x7e)
			return refuse(r, v, "printable ASCII");
	if (len == 0 || len > max)
		return fm_ini_fail(
		        r->ini, r->e, "%s: %zu bytes, allowed are 1 to %zu", r->e->key, len, max);
	return (*slot = fm_strdup(v)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

/* ---- lists ---- */

static bool define_ok(const char *word)
{
	size_t name = strspn(word, ALNUM "_");

	if (name == 0 || strchr("0123456789", word[0]) != NULL || strlen(word) > 200)
		return false;
	return word[name] == '\0' ||
	       (word[name] == '=' &&
	               word[name + 1 + strspn(word + name + 1, ALNUM "_.+-\"")] == '\0');
}

static bool lib_ok(const char *word)
{
	return word[0] != '-' && word[0] != '.' && strlen(word) <= 64 &&
	       word[strspn(word, ALNUM "._+-")] == '\0';
}

static bool arch_ok(const char *word)
{
	return strcmp(word, "x86_64") == 0 || strcmp(word, "aarch64") == 0;
}

static const struct list {
	const char *key, *allowed;
	bool (*ok)(const char *word);
} lists[] = {
        {"defines", "NAME or NAME=VALUE, the value of A-Z a-z 0-9 _ . + - \"", define_ok},
        {"include", "folders below the candidate's, parts of A-Z a-z 0-9 . _ + -", fm_path_ok},
        {"libs", "library names as behind -l", lib_ok},
        {"arch", "x86_64, aarch64", arch_ok},
        {"sources", "files below the candidate's folder, parts of A-Z a-z 0-9 . _ + -", fm_path_ok},
};
enum { DEFINES, INCLUDE, LIBS, ARCH, SOURCES };

static int take_words(const struct reading *r, const struct list *kind, struct fm_words *out)
{
	bool packed = kind->ok == fm_path_ok && r->c->origin != NULL &&
	              strcmp(r->c->origin, "archive") == 0;
	char **words = NULL;
	size_t count = 0;
	int rc = fm_ini_words(r->ini, r->e, &words, &count);

	if (rc == FM_OK && count > WORDS_MAX)
		rc = fm_ini_fail(r->ini, r->e, "%s: more than %d words", r->e->key, WORDS_MAX);
	for (size_t n = 0; rc == FM_OK && n < count; n++) {
		char **slot;

		if (!kind->ok(words[n]) && !(packed && fm_package_word(words[n])))
			rc = refuse(r, words[n], kind->allowed);
		for (size_t k = 0; rc == FM_OK && k < out->count; k++)
			if (strcmp(out->word[k], words[n]) == 0)
				rc = fm_ini_fail(
				        r->ini, r->e, "%s: '%s' stands twice", r->e->key, words[n]);
		if (rc != FM_OK)
			break;
		if ((slot = fm_grow(&out->word, &out->count, sizeof *slot)) == NULL ||
		        (*slot = fm_strdup(words[n])) == NULL)
			rc = FM_ERR_MEMORY;
	}
	free(words);
	return rc;
}

static int take_sources(const struct reading *r, int version)
{
	struct fm_instance *i = r->i;
	int rc;

	if (version != FM_VERSION_REFERENCE && strcmp(r->e->value, "none") == 0) {
		i->version[version].exists = false;
		return FM_OK;
	}
	rc = take_words(r, &lists[SOURCES], &i->version[version].sources);
	i->version[version].own = i->version[version].sources.count > 0;
	return rc;
}

/* ---- sections ---- */

static int candidate_key(const struct reading *r)
{
	const char *k = r->e->key, *v = r->e->value;

	if (strcmp(k, "id") == 0) {
		if (!fm_name_ok(v) || strcmp(v, r->folder) != 0)
			return refuse(r, v, r->folder);
		memcpy(r->c->id, v, strlen(v) + 1);
		return FM_OK;
	}
	if (strcmp(k, "name") == 0)
		return take_text(r, 200, &r->c->name);
	if (strcmp(k, "category") == 0)
		return strcmp(v, "hash") == 0 ? take_text(r, 20, &r->c->category)
		                              : refuse(r, v, "hash");
	if (strcmp(k, "page") == 0)
		return take_text(r, 500, &r->c->page);
	if (strcmp(k, "origin") == 0)
		return strcmp(v, "own") == 0 || strcmp(v, "archive") == 0
		               ? take_text(r, 20, &r->c->origin)
		               : refuse(r, v, "own, archive");
	return fm_ini_unknown(r->ini, r->e, CANDIDATE_KEYS);
}

static int archive_key(const struct reading *r)
{
	const char *k = r->e->key, *v = r->e->value;
	int64_t bytes = 0;

	if (strcmp(k, "url") == 0)
		return strncmp(v, "https://", 8) == 0
		               ? take_text(r, 900, &r->c->archive_url)
		               : refuse(r, v, "an address that begins with https://");
	if (strcmp(k, "sha256") == 0) {
		if (!fm_hex64_ok(v))
			return refuse(r, v, "64 lower-case hex digits");
		memcpy(r->c->archive_sha256, v, 65);
		return FM_OK;
	}
	if (strcmp(k, "root") == 0)
		return fm_path_ok(v)
		               ? take_text(r, FM_PATH_MAX, &r->c->archive_root)
		               : refuse(r, v, "a folder in safe spelling: a space is +20, ...");
	if (strcmp(k, "bytes") == 0) {
		int rc = fm_ini_int(r->ini, r->e, 1, (int64_t)1 << 32, &bytes);

		r->c->archive_bytes = rc == FM_OK ? (uint64_t)bytes : 0;
		return rc;
	}
	return fm_ini_unknown(r->ini, r->e, ARCHIVE_KEYS);
}

static int instance_key(const struct reading *r)
{
	const char *k = r->e->key, *v = r->e->value;
	struct fm_instance *i = r->i;
	int64_t bits;
	int rc;

	if (strcmp(k, "digest_bits") == 0) {
		rc = fm_ini_int(r->ini, r->e, 8, 65536, &bits);
		i->digest_bits = (int)bits;
		return rc;
	}
	if (strcmp(k, "digest") == 0) {
		i->digest_any = strcmp(v, "any") == 0;
		return i->digest_any || strcmp(v, "fixed") == 0 ? FM_OK
		                                                : refuse(r, v, "fixed, any");
	}
	if (strcmp(k, "header") == 0)
		return fm_path_ok(v) ? take_text(r, 400, &i->header)
		                     : refuse(r, v, lists[SOURCES].allowed);
	if (strcmp(k, "kat") == 0) {
		if (!fm_name_ok(v))
			return refuse(
			        r, v, "1 to 64 of A-Z a-z 0-9 . _ - with a letter or digit first");
		memcpy(i->kat, v, strlen(v) + 1);
		return FM_OK;
	}
	if (strcmp(k, "defines") == 0)
		return take_words(r, &lists[DEFINES], &i->defines);
	if (strcmp(k, "include") == 0)
		return take_words(r, &lists[INCLUDE], &i->include);
	if (strcmp(k, "libs") == 0)
		return take_words(r, &lists[LIBS], &i->libs);
	if (strcmp(k, "arch") == 0)
		return take_words(r, &lists[ARCH], &i->arch);
	if (strcmp(k, "sources") == 0)
		return take_sources(r, FM_VERSION_REFERENCE);
	if (strcmp(k, "sources.performance") == 0)
		return take_sources(r, FM_VERSION_PERFORMANCE);
	if (strcmp(k, "sources.resource") == 0)
		return take_sources(r, FM_VERSION_RESOURCE);
	return fm_ini_unknown(r->ini, r->e, INSTANCE_KEYS);
}

static int begin_instance(struct reading *r)
{
	const char *name = r->e->section + strlen("instance ");
	struct fm_candidate *c = r->c;

	if (!fm_name_ok(name))
		return fm_ini_fail(r->ini, r->e,
		        "[%s]: an instance's name is 1 to 64 of A-Z a-z 0-9 . _ - with a letter or "
		        "digit first",
		        r->e->section);
	for (size_t n = 0; n < c->count; n++)
		if (strcasecmp(c->instances[n].name, name) == 0)
			return fm_ini_fail(r->ini, r->e,
			        "instances '%s' and '%s' differ only in upper and lower case",
			        c->instances[n].name, name);
	if ((r->i = fm_grow(&c->instances, &c->count, sizeof *r->i)) == NULL)
		return FM_ERR_MEMORY;
	memcpy(r->i->name, name, strlen(name) + 1);
	memcpy(r->i->kat, name, strlen(name) + 1);
	for (int v = 0; v < FM_VERSIONS; v++)
		r->i->version[v].exists = true;
	return FM_OK;
}

/* The end of an instance's section: nothing needed is missing, versions without sources of their
 * own take the reference's. */
static int finish_instance(const struct reading *r, const struct fm_ini_entry *section)
{
	struct fm_instance *i = r->i;
	const char *missing = i->digest_bits == 0                                   ? "digest_bits"
	                      : i->header == NULL                                   ? "header"
	                      : i->version[FM_VERSION_REFERENCE].sources.count == 0 ? "sources"
	                                                                            : NULL;

	if (missing != NULL)
		return fm_ini_fail(
		        r->ini, section, "[%s] needs the key %s", section->section, missing);
	for (int v = FM_VERSION_PERFORMANCE; v < FM_VERSIONS; v++) {
		const struct fm_words *from = &i->version[FM_VERSION_REFERENCE].sources;
		struct fm_words *to = &i->version[v].sources;

		for (size_t n = 0; i->version[v].exists && !i->version[v].own && n < from->count;
		        n++) {
			char **slot = fm_grow(&to->word, &to->count, sizeof *slot);

			if (slot == NULL || (*slot = fm_strdup(from->word[n])) == NULL)
				return FM_ERR_MEMORY;
		}
	}
	return FM_OK;
}

static int finish_candidate(const struct fm_ini *ini, const struct fm_candidate *c)
{
	bool archive = c->origin != NULL && strcmp(c->origin, "archive") == 0;
	const char *missing = c->id[0] == '\0'      ? "id"
	                      : c->name == NULL     ? "name"
	                      : c->category == NULL ? "category"
	                      : c->origin == NULL   ? "origin"
	                                            : NULL;

	if (missing != NULL)
		return fm_fail(FM_ERR_CONFIG, "%s: [candidate] needs the key %s", fm_ini_path(ini),
		        missing);
	if (archive && c->archive_sha256[0] == '\0')
		return fm_fail(FM_ERR_CONFIG,
		        "%s: origin = archive needs a section [archive] with sha256",
		        fm_ini_path(ini));
	if (!archive &&
	        (c->archive_url != NULL || c->archive_sha256[0] != '\0' || c->archive_root != NULL))
		return fm_fail(
		        FM_ERR_CONFIG, "%s: [archive] is for origin = archive", fm_ini_path(ini));
	if (c->count == 0)
		return fm_fail(FM_ERR_CONFIG, "%s: no [instance NAME] in it", fm_ini_path(ini));
	return FM_OK;
}

int fm_recipe_ini(const char *path, const char *folder, struct fm_candidate *c)
{
	struct reading r = {.folder = folder, .c = c};
	const struct fm_ini_entry *section = NULL;
	int (*take)(const struct reading *) = NULL;
	struct fm_ini *ini = NULL;
	int rc = fm_ini_load(path, &ini);

	r.ini = ini;
	for (size_t n = 0; rc == FM_OK && n <= fm_ini_count(ini); n++) {
		r.e = n < fm_ini_count(ini) ? fm_ini_at(ini, n) : NULL;
		if (r.e != NULL && r.e->key != NULL) {
			rc = take(&r);
			continue;
		}
		if (r.i != NULL)
			rc = finish_instance(&r, section);
		if (rc != FM_OK || r.e == NULL)
			break;
		section = r.e;
		r.i = NULL;
		if (strcmp(section->section, "candidate") == 0)
			take = candidate_key;
		else if (strcmp(section->section, "archive") == 0)
			take = archive_key;
		else if (strncmp(section->section, "instance ", 9) == 0)
			rc = begin_instance(&r), take = instance_key;
		else
			rc = fm_ini_fail(ini, r.e,
			        "unknown section [%s]; allowed: [candidate], [archive], [instance "
			        "NAME]",
			        section->section);
	}
	if (rc == FM_OK)
		rc = finish_candidate(ini, c);
	if (rc == FM_OK && c->page == NULL && (c->page = fm_strdup("")) == NULL)
		rc = FM_ERR_MEMORY;
	fm_ini_free(ini);
	return rc;
}
