/* package.c: the sources of an official package, unpacked where their recipe and digest say. */
#include "orchestrator/package.h"
#include "orchestrator/archive.h"
#include "orchestrator/recipe_parts.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/treelist.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE (64u << 10)

/* The name of the unpacked tree: package, root and everything the recipe asks for. */
static int tree_name(const struct fm_candidate *c, char name[80])
{
	struct fm_buf text = FM_BUF_INIT(16u << 20);
	char hex[65];
	int rc = fm_buf_printf(&text, "unpack 1\n%s\n%s\n", c->archive_sha256,
	        c->archive_root == NULL ? "" : c->archive_root);

	for (size_t n = 0; n < c->count; n++) {
		const struct fm_instance *i = &c->instances[n];

		for (int v = 0; v < FM_VERSIONS; v++)
			for (size_t s = 0; rc == FM_OK && s < i->version[v].sources.count; s++)
				rc = fm_buf_printf(
				        &text, "source %s\n", i->version[v].sources.word[s]);
		for (size_t s = 0; rc == FM_OK && s < i->include.count; s++)
			rc = fm_buf_printf(&text, "include %s\n", i->include.word[s]);
	}
	if (rc == FM_OK) {
		fm_sha256_hex(text.data, text.len, hex);
		snprintf(name, 80, "sources/%s", hex);
	}
	fm_buf_free(&text);
	return rc;
}

/* ---- unpacking ---- */

struct unpack {
	const struct fm_candidate *c;
	const char *what;
	int package, into;
	struct fm_words wanted; /* sorted */
	uint64_t bytes;
	size_t done;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The entry's path below the recipe's root if the recipe wants it, else NULL. */
static const char *wanted(const struct unpack *u, const char *safe)
{
	const char *root = u->c->archive_root;
	size_t len = root == NULL ? 0 : strlen(root);

	if (len > 0 && (strncmp(safe, root, len) != 0 || safe[len] != '/'))
		return NULL;
	safe += len > 0 ? len + 1 : 0;
	if (u->wanted.count == 0 || bsearch(&safe, u->wanted.word, u->wanted.count,
	                                    sizeof *u->wanted.word, by_text) == NULL)
		return NULL;
	return safe;
}

/* One file, whole and not larger than it says. */
static int unpack_file(
        struct unpack *u, struct fm_archive_reader *r, const char *path, uint64_t size)
{
	struct fm_buf bytes = FM_BUF_INIT(FM_PACKAGE_FILE);
	size_t got = 1;
	int rc = FM_OK;

	if (size > FM_PACKAGE_FILE || (u->bytes += size) > FM_PACKAGE_UNPACKED)
		return fm_fail(FM_ERR_SOURCE,
		        "%s: entry '%s': %llu bytes; allowed are %llu in a source file and %llu in "
		        "all",
		        u->what, path, (unsigned long long)size,
		        (unsigned long long)FM_PACKAGE_FILE,
		        (unsigned long long)FM_PACKAGE_UNPACKED);
	while (rc == FM_OK && got > 0) {
		char *room = fm_buf_room(&bytes, PIECE);

		rc = room == NULL ? FM_ERR_SIZE : fm_archive_piece(r, room, PIECE, &got);
		bytes.len += rc == FM_OK ? got : 0;
		if (bytes.len > size)
			rc = FM_ERR_SIZE;
	}
	if (rc == FM_ERR_SIZE || (rc == FM_OK && bytes.len != size))
		rc = fm_fail(FM_ERR_SOURCE,
		        "%s: entry '%s': holds other than the %llu bytes it states", u->what, path,
		        (unsigned long long)size);
	if (rc == FM_OK)
		rc = fm_fs_write_deep(u->into, path, bytes.data, bytes.len, 0644);
	fm_buf_free(&bytes);
	u->done += rc == FM_OK;
	return rc;
}

static int unpack_files(struct unpack *u)
{
	struct fm_archive_reader *r = NULL;
	struct fm_archive_entry e;
	int rc = fm_archive_open(&r, u->package, u->what);

	while (rc == FM_OK && (rc = fm_archive_next(r, &e)) == FM_OK && e.name != NULL) {
		const char *path;
		char *safe;

		if ((rc = fm_package_name(u->what, e.name, &safe)) != FM_OK)
			break;
		if (!e.folder && (path = wanted(u, safe)) != NULL)
			rc = unpack_file(u, r, path, e.size);
		free(safe);
	}
	fm_archive_close(r);
	if (rc == FM_OK && u->done != u->wanted.count)
		rc = fm_fail(FM_ERR_SOURCE, "%s: read twice, it gave different entries", u->what);
	return rc;
}

/* What is wanted: c's words as they will stand, on a copy of the recipe's own. */
static int choose(struct unpack *u, struct fm_candidate *c)
{
	struct fm_package_list all;
	struct fm_words files = {NULL, 0};
	int rc = fm_package_scan(u->package, u->what, &all);

	if (rc != FM_OK)
		return rc;
	rc = fm_package_below(&all, c->archive_root, &files);
	if (rc == FM_OK)
		rc = fm_package_pick(&files, c);
	if (rc == FM_OK)
		rc = fm_package_wanted(&files, c, &u->wanted);
	fm_words_free(&files);
	fm_package_list_free(&all);
	return rc;
}

static int put_list(int cache, int into, const char *name)
{
	struct fm_buf list = FM_BUF_INIT(FM_TREELIST_MAX);
	char *path = fm_sprintf("%s.list", name);
	int rc = path == NULL ? FM_ERR_MEMORY : fm_treelist_make(into, &list, NULL);

	if (rc == FM_OK)
		rc = fm_fs_write(cache, path, list.data == NULL ? "" : list.data, list.len, 0600);
	fm_buf_free(&list);
	free(path);
	return rc;
}

/* Unpacks into a folder of its own; only a whole tree gets the name. */
static int unpack(int cache, const char *name, struct fm_candidate *c)
{
	struct unpack u = {.c = c, .what = c->id, .package = -1, .into = -1};
	char kept[80], fresh[80] = "", random[17];
	int rc;

	fm_package_kept(c->archive_sha256, kept);
	if ((u.package = openat(cache, kept, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return fm_fail_errno("cache %s", kept);
	if ((rc = choose(&u, c)) != FM_OK)
		goto out;
	fm_random_hex(8, random);
	snprintf(fresh, sizeof fresh, "sources/.in-%s", random);
	if ((rc = fm_fs_mkdirs(cache, fresh, 0700, &u.into)) != FM_OK ||
	        (rc = unpack_files(&u)) != FM_OK || (rc = put_list(cache, u.into, name)) != FM_OK)
		goto out;
	if ((rc = fm_fs_remove(cache, name)) == FM_OK)
		rc = fm_fs_rename(cache, fresh, name);
out:
	if (rc != FM_OK && fresh[0] != '\0') {
		char text[900];

		snprintf(text, sizeof text, "%s", fm_error_text());
		if (fm_fs_remove(cache, fresh) == FM_OK)
			rc = fm_fail(rc, "%s", text);
	}
	fm_words_free(&u.wanted);
	if (u.into >= 0)
		close(u.into);
	close(u.package);
	return rc;
}

/* ---- the tree ---- */

/* Is the tree there, as it was unpacked? */
static bool intact(int cache, const char *name)
{
	struct fm_buf list = FM_BUF_INIT(FM_TREELIST_MAX);
	char *path = fm_sprintf("%s.list", name);
	int fd = -1;
	bool good = path != NULL && fm_fs_dir(cache, name, &fd) == FM_OK &&
	            fm_fs_read(cache, path, FM_TREELIST_MAX, &list) == FM_OK &&
	            fm_treelist_compare(fd, list.data, list.len) == FM_OK;

	if (fd >= 0)
		close(fd);
	fm_buf_free(&list);
	free(path);
	return good;
}

static int not_fetched(const struct fm_candidate *c)
{
	return fm_fail(FM_ERR_CONFIG,
	        "%s: the official package is not on this machine; %sfleetmark fetch %s --archive "
	        "FILE "
	        "takes one that is at hand",
	        c->id, c->archive_url == NULL ? "" : "fleetmark fetch downloads it, and ", c->id);
}

int fm_package_tree(struct fm_candidate *c)
{
	char *path = NULL, name[80];
	bool have = true;
	int cache = -1, rc = tree_name(c, name);

	if (rc == FM_OK)
		rc = fm_package_cache(&path, &cache);
	if (rc == FM_OK && !intact(cache, name)) {
		rc = fm_package_have(cache, c->archive_sha256, &have);
		if (rc == FM_OK)
			rc = have ? unpack(cache, name, c) : not_fetched(c);
	}
	if (rc == FM_OK) {
		free(c->folder);
		if ((c->folder = fm_sprintf("%s/%s", path, name)) == NULL)
			rc = FM_ERR_MEMORY;
	}
	if (cache >= 0)
		close(cache);
	free(path);
	return rc;
}
