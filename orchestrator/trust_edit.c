/* trust_edit.c: changes the home's trust folder as a whole: written beside the old one, sealed,
 * swapped in. */
#include "orchestrator/trust_parts.h"
#include "protocol/fs.h"
#include "protocol/jsonw.h"
#include "protocol/seal.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEW "trust.new"
#define OLD "trust.old"

void fm_trust_compact(const char stamp[21], char out[16])
{
	size_t used = 0;

	for (const char *p = stamp; *p != '\0' && used < 15; p++)
		if (*p != '-' && *p != ':' && *p != 'T')
			out[used++] = *p;
	out[used] = '\0';
}

int fm_trust_lists(const struct fm_trust *t, int fd)
{
	struct fm_buf signers = FM_BUF_INIT(FM_TRUST_FILE_MAX),
	              revoked = FM_BUF_INIT(FM_TRUST_FILE_MAX),
	              json = FM_BUF_INIT(FM_TRUST_JSON_MAX);
	char line[FM_PUBLIC_LINE + 1];
	struct fm_jsonw w;
	int rc;

	if ((rc = fm_trust_format_signers(t, &signers)) != FM_OK)
		goto out;
	for (size_t i = 0; rc == FM_OK && i < t->revoked_count; i++) {
		fm_public_line(&t->revoked[i], line);
		rc = fm_buf_printf(&revoked, "%s\n", line);
	}
	fm_jsonw_start(&w, &json);
	fm_jsonw_str(&w, "issued_at", t->issued_at);
	fm_jsonw_str(&w, "schema", "trust/1");
	fm_jsonw_int(&w, "version", t->version);
	if (rc != FM_OK || (rc = fm_jsonw_end(&w)) != FM_OK ||
	        (rc = fm_fs_write(fd, "allowed_signers", signers.data, signers.len, 0644)) !=
	                FM_OK ||
	        (rc = fm_fs_write(fd, "revoked_keys", revoked.data == NULL ? "" : revoked.data,
	                 revoked.len, 0644)) != FM_OK)
		goto out;
	rc = fm_fs_write(fd, "trust.json", json.data, json.len, 0644);
out:
	fm_buf_free(&signers);
	fm_buf_free(&revoked);
	fm_buf_free(&json);
	return rc;
}

/* The finished NEW becomes the folder trust: one exchange where the kernel can, else with OLD in
 * between. */
int fm_trust_swap(const struct fm_home *h, bool first)
{
	int rc;

	if (first)
		return fm_fs_rename(h->dirfd, NEW, "trust");
	if (syscall(SYS_renameat2, h->dirfd, NEW, h->dirfd, "trust", 2u /* RENAME_EXCHANGE */) == 0)
		return fsync(h->dirfd) == 0 ? fm_fs_remove(h->dirfd, NEW)
		                            : fm_fail_errno("%s", h->path);
	if ((rc = fm_fs_remove(h->dirfd, OLD)) != FM_OK ||
	        (rc = fm_fs_rename(h->dirfd, "trust", OLD)) != FM_OK ||
	        (rc = fm_fs_rename(h->dirfd, NEW, "trust")) != FM_OK)
		return rc;
	return fm_fs_remove(h->dirfd, OLD);
}

struct copy {
	int from, to;
	const char *skip; /* system whose statement is replaced, or NULL */
};

static int copy_file(const struct copy *c, const char *path)
{
	struct fm_buf text = FM_BUF_INIT(FM_TRUST_FILE_MAX);
	int rc = fm_fs_read(c->from, path, FM_TRUST_FILE_MAX, &text);

	if (rc == FM_OK)
		rc = fm_fs_write_deep(
		        c->to, path, text.data == NULL ? "" : text.data, text.len, 0644);
	fm_buf_free(&text);
	return rc;
}

static int copy_kept(void *arg, const char *path, const struct stat *st)
{
	const struct copy *c = arg;
	size_t len = c->skip == NULL ? 0 : strlen(c->skip);

	if (S_ISREG(st->st_mode) && strncmp(path, "handover/", 9) == 0)
		return copy_file(c, path);
	if (!S_ISREG(st->st_mode) || strncmp(path, "enrol/", 6) != 0)
		return FM_OK;
	if (c->skip != NULL && strncmp(path + 6, c->skip, len) == 0 &&
	        (strcmp(path + 6 + len, ".txt") == 0 || strcmp(path + 6 + len, ".txt.sig") == 0 ||
	                strcmp(path + 6 + len, ".txt.prev.sig") == 0))
		return FM_OK;
	return copy_file(c, path);
}

/* An empty NEW folder. A trust folder that a crash left as OLD is put back first. */
int fm_trust_folder(const struct fm_home *h, int *fd)
{
	int rc;

	*fd = -1;
	if (faccessat(h->dirfd, "trust", F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	        faccessat(h->dirfd, OLD, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	        (rc = fm_fs_rename(h->dirfd, OLD, "trust")) != FM_OK)
		return rc;
	if ((rc = fm_fs_remove(h->dirfd, NEW)) != FM_OK)
		return rc;
	return fm_fs_mkdirs(h->dirfd, NEW, 0755, fd);
}

int fm_trust_init(struct fm_home *h)
{
	struct fm_trust t;
	int fd = -1, rc;

	memset(&t, 0, sizeof t);
	t.controller = *fm_identity_public(h->id);
	t.version = 1;
	fm_stamp_now(t.issued_at);
	fm_trust_compact(t.issued_at, t.controller_after);
	if ((rc = fm_trust_folder(h, &fd)) != FM_OK)
		goto out;
	if (faccessat(h->dirfd, "trust", F_OK, AT_SYMLINK_NOFOLLOW) == 0) /* begin put it back */
		goto out;
	if ((rc = fm_trust_lists(&t, fd)) == FM_OK &&
	        (rc = fm_seal(fd, FM_SEAL_TRUST, h->id, NULL)) == FM_OK)
		rc = fm_trust_swap(h, true);
out:
	if (fd >= 0)
		close(fd);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s/trust", h->path);
}

/* An older list of keys does not know what was revoked since. */
int fm_trust_version(const struct fm_home *h, int64_t version)
{
	int64_t last;
	int rc = fm_home_last_trust(h, &last);

	if (rc == FM_OK && version < last)
		rc = fm_fail(FM_ERR_REPLAY,
		        "version %lld, but version %lld was sealed here before; put the newest one "
		        "back (every sealed tree has a copy)",
		        (long long)version, (long long)last);
	return rc;
}

int fm_trust_edit_begin(struct fm_trust_edit *e, struct fm_home *h)
{
	int rc;

	*e = (struct fm_trust_edit){.home = h, .from = -1, .to = -1, .lock = -1};
	if ((rc = fm_home_lock(h, &e->lock)) != FM_OK)
		return rc;
	if ((rc = fm_trust_folder(h, &e->to)) == FM_OK &&
	        (rc = fm_fs_dir(h->dirfd, "trust", &e->from)) == FM_OK)
		rc = fm_trust_read(e->from, fm_identity_public(h->id), &e->trust);
	if (rc == FM_OK)
		rc = fm_trust_version(h, e->trust.version);
	if (rc != FM_OK)
		fm_trust_edit_end(e);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s/trust", h->path);
}

static int by_system(const void *a, const void *b)
{
	const struct fm_trust_key *x = a, *y = b;
	int order = strcmp(x->system, y->system);

	return order != 0 ? order : strcmp(x->after, y->after);
}

static int write_statement(const struct fm_trust_edit *e, const struct fm_trust_statement *s)
{
	const struct {
		const char *end, *bytes;
		size_t len;
	} files[] = {{".txt", s->text, s->text_len}, {".txt.sig", s->sig, s->sig_len},
	        {".txt.prev.sig", s->prev, s->prev_len}};
	char name[FM_NAME_MAX + 30];
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < sizeof files / sizeof files[0]; i++) {
		snprintf(name, sizeof name, "enrol/%s%s", s->system, files[i].end);
		if (files[i].len > 0)
			rc = fm_fs_write_deep(e->to, name, files[i].bytes, files[i].len, 0644);
	}
	return rc;
}

int fm_trust_edit_commit(struct fm_trust_edit *e, const struct fm_trust_statement *s)
{
	struct copy copy = {e->from, e->to, s == NULL ? NULL : s->system};
	struct fm_trust *t = &e->trust, again;
	int rc;

	if (t->count > 0)
		qsort(t->keys, t->count, sizeof *t->keys, by_system);
	t->version++;
	fm_stamp_now(t->issued_at);
	if ((rc = fm_trust_lists(t, e->to)) == FM_OK &&
	        (rc = fm_fs_walk(e->from, 100000, copy_kept, &copy)) == FM_OK &&
	        (s == NULL || (rc = write_statement(e, s)) == FM_OK) &&
	        (rc = fm_seal(e->to, FM_SEAL_TRUST, e->home->id, NULL)) == FM_OK &&
	        (rc = fm_trust_read(e->to, fm_identity_public(e->home->id), &again)) == FM_OK) {
		fm_trust_free(&again);
		rc = fm_trust_swap(e->home, false);
		e->swapped = rc == FM_OK;
		/* A crash before this line only leaves the older number there. */
		if (rc == FM_OK)
			rc = fm_home_set_last_trust(e->home, t->version);
	}
	return rc == FM_OK ? rc : fm_wrap(rc, "%s/trust", e->home->path);
}

void fm_trust_edit_end(struct fm_trust_edit *e)
{
	if (e->from >= 0)
		close(e->from);
	if (e->to >= 0)
		close(e->to);
	if (e->lock >= 0) {
		if (!e->swapped)
			(void)!fm_fs_remove(e->home->dirfd, NEW);
		close(e->lock);
	}
	fm_trust_free(&e->trust);
	*e = (struct fm_trust_edit){.from = -1, .to = -1, .lock = -1};
}

int fm_trust_copy(const struct fm_home *h, int to)
{
	struct fm_manifest m = {NULL, 0, NULL};
	struct copy copy = {-1, to, NULL};
	struct fm_trust trust;
	int rc = fm_fs_dir(h->dirfd, "trust", &copy.from);

	if (rc == FM_OK &&
	        (rc = fm_trust_read(copy.from, fm_identity_public(h->id), &trust)) == FM_OK) {
		rc = fm_trust_version(h, trust.version);
		fm_trust_free(&trust);
	}
	if (rc == FM_OK)
		rc = fm_seal_check(copy.from, FM_SEAL_TRUST, fm_identity_public(h->id), NULL, &m);
	for (size_t i = 0; rc == FM_OK && i < m.count; i++)
		rc = copy_file(&copy, m.entries[i].path);
	if (rc == FM_OK)
		rc = copy_file(&copy, FM_MANIFEST_NAME);
	if (rc == FM_OK)
		rc = copy_file(&copy, FM_SIG_NAME);
	fm_manifest_free(&m);
	if (copy.from >= 0)
		close(copy.from);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s/trust", h->path);
}
