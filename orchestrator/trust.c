/* trust.c: changes the home's trust folder: written whole beside the old one, sealed, swapped in.
 */
#include "orchestrator/trust_parts.h"
#include "protocol/fs.h"
#include "protocol/jsonw.h"
#include "protocol/seal.h"
#include "protocol/sshsig.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEW "trust.new"
#define OLD "trust.old"

static void compact(const char stamp[21], char out[16])
{
	size_t used = 0;

	for (const char *p = stamp; *p != '\0' && used < 15; p++)
		if (*p != '-' && *p != ':' && *p != 'T')
			out[used++] = *p;
	out[used] = '\0';
}

static long long compact_seconds(const char *c)
{
	char stamp[40];

	snprintf(stamp, sizeof stamp, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", c, c + 4, c + 6, c + 8,
	        c + 10, c + 12);
	return fm_stamp_seconds(stamp);
}

static void compact_at(long long seconds, char out[16])
{
	char stamp[21];

	fm_stamp_at(seconds, stamp);
	compact(stamp, out);
}

static int write_lists(const struct fm_trust *t, int fd)
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
static int swap(const struct fm_home *h, bool first)
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

static int copy_enrolment(void *arg, const char *path, const struct stat *st)
{
	const struct copy *c = arg;
	size_t len = c->skip == NULL ? 0 : strlen(c->skip);

	if (!S_ISREG(st->st_mode) || strncmp(path, "enrol/", 6) != 0)
		return FM_OK;
	if (c->skip != NULL && strncmp(path + 6, c->skip, len) == 0 &&
	        (strcmp(path + 6 + len, ".txt") == 0 || strcmp(path + 6 + len, ".txt.sig") == 0 ||
	                strcmp(path + 6 + len, ".txt.prev.sig") == 0))
		return FM_OK;
	return copy_file(c, path);
}

/* An empty NEW folder. A trust folder that a crash left as OLD is put back first. */
static int begin(const struct fm_home *h, int *fd)
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
	compact(t.issued_at, t.controller_after);
	if ((rc = begin(h, &fd)) != FM_OK)
		goto out;
	if (faccessat(h->dirfd, "trust", F_OK, AT_SYMLINK_NOFOLLOW) == 0) /* begin put it back */
		goto out;
	if ((rc = write_lists(&t, fd)) == FM_OK &&
	        (rc = fm_seal(fd, FM_SEAL_TRUST, h->id, NULL)) == FM_OK)
		rc = swap(h, true);
out:
	if (fd >= 0)
		close(fd);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s/trust", h->path);
}

/* Adds the key to the list, ending an older one of the system; false in *changed if it is there
 * already. */
static int add_key(
        struct fm_trust *t, const char *system, const struct fm_public *key, bool *changed)
{
	struct fm_trust_key *old = NULL, *slot;
	long long begins;
	char now[21];

	*changed = true;
	if (fm_trust_revoked(t, key))
		return fm_fail(FM_ERR_REVOKED,
		        "the key of %s was revoked; make a new one on the host", system);
	for (size_t i = 0; i < t->count; i++) {
		struct fm_trust_key *k = &t->keys[i];

		if (fm_public_equal(&k->key, key) && strcmp(k->system, system) != 0)
			return fm_fail(FM_ERR_IDENTITY,
			        "the key of %s is that of system %s: one machine under two names, "
			        "or a copied "
			        "key",
			        system, k->system);
		if (fm_public_equal(&k->key, key) && k->before[0] != '\0')
			return fm_fail(FM_ERR_IDENTITY,
			        "the key of %s was retired; make a new one on the host", system);
		if (fm_public_equal(&k->key, key)) {
			*changed = false;
			return FM_OK;
		}
		if (strcmp(k->system, system) == 0 &&
		        (old == NULL || strcmp(old->after, k->after) < 0))
			old = k;
	}
	fm_stamp_now(now);
	begins = fm_stamp_seconds(now);
	if (old != NULL) {
		const char *least = old->before[0] == '\0' ? old->after : old->before;

		if (begins <= compact_seconds(least))
			begins = compact_seconds(least) + 1;
		if (old->before[0] == '\0')
			compact_at(begins - 1, old->before);
	}
	if ((slot = fm_grow(&t->keys, &t->count, sizeof *slot)) == NULL)
		return FM_ERR_MEMORY;
	snprintf(slot->system, sizeof slot->system, "%s", system);
	slot->key = *key;
	compact_at(begins, slot->after);
	return FM_OK;
}

static int by_system(const void *a, const void *b)
{
	const struct fm_trust_key *x = a, *y = b;
	int order = strcmp(x->system, y->system);

	return order != 0 ? order : strcmp(x->after, y->after);
}

static int write_statement(int fd, const char *system, const char *statement, size_t statement_len,
        const char *signature, size_t signature_len)
{
	char name[FM_NAME_MAX + 20];
	int rc;

	snprintf(name, sizeof name, "enrol/%s.txt", system);
	if ((rc = fm_fs_write_deep(fd, name, statement, statement_len, 0644)) != FM_OK)
		return rc;
	snprintf(name, sizeof name, "enrol/%s.txt.sig", system);
	return fm_fs_write_deep(fd, name, signature, signature_len, 0644);
}

int fm_trust_add(struct fm_home *h, const char *system, const struct fm_public *key,
        const char *statement, size_t statement_len, const char *signature, size_t signature_len)
{
	struct fm_trust t;
	struct fm_statement s;
	struct copy copy = {-1, -1, system};
	bool changed = true;
	int lock = -1, rc;

	memset(&t, 0, sizeof t);
	if ((rc = fm_name_check("system", system)) != FM_OK ||
	        (rc = fm_home_lock(h, &lock)) != FM_OK)
		return rc;
	if ((rc = begin(h, &copy.to)) != FM_OK ||
	        (rc = fm_fs_dir(h->dirfd, "trust", &copy.from)) != FM_OK ||
	        (rc = fm_trust_read(copy.from, fm_identity_public(h->id), &t)) != FM_OK ||
	        (rc = fm_statement_check(statement, statement_len, signature, signature_len, &s)) !=
	                FM_OK)
		goto out;
	if (strcmp(system, "controller") == 0 || strcmp(s.system, system) != 0 ||
	        !fm_public_equal(&s.key, key) || !fm_public_equal(&s.controller, &t.controller))
		rc = fm_fail(FM_ERR_IDENTITY,
		        "the enrolment statement is for another system, key or controller");
	if (rc != FM_OK || (rc = add_key(&t, system, key, &changed)) != FM_OK || !changed)
		goto out;
	qsort(t.keys, t.count, sizeof *t.keys, by_system);
	t.version++;
	fm_stamp_now(t.issued_at);
	if ((rc = write_lists(&t, copy.to)) == FM_OK &&
	        (rc = fm_fs_walk(copy.from, 100000, copy_enrolment, &copy)) == FM_OK &&
	        (rc = write_statement(copy.to, system, statement, statement_len, signature,
	                 signature_len)) == FM_OK &&
	        (rc = fm_seal(copy.to, FM_SEAL_TRUST, h->id, NULL)) == FM_OK)
		rc = swap(h, false);
out:
	if (copy.from >= 0)
		close(copy.from);
	if (copy.to >= 0)
		close(copy.to);
	if (rc != FM_OK || !changed)
		(void)!fm_fs_remove(h->dirfd, NEW);
	close(lock);
	fm_trust_free(&t);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s/trust", h->path);
}

int fm_trust_copy(const struct fm_home *h, int to)
{
	struct fm_manifest m = {NULL, 0, NULL};
	struct copy copy = {-1, to, NULL};
	int rc = fm_fs_dir(h->dirfd, "trust", &copy.from);

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
