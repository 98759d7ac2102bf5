/* stage_push.c: brings the candidates' source trees to a host: asks what is there, sends the rest
 * as one tar stream. */
#include "orchestrator/archive.h"
#include "orchestrator/host.h"
#include "orchestrator/hostlog.h"
#include "orchestrator/out.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL_MAX    (1u << 20)
#define HAVE_WAIT_S 300 /* the host hashes what it has */
#define PUSH_WAIT_S 600 /* and what it got */
#define PIECE_MAX   (256u << 10)

struct push {
	struct fm_host *h;
	struct fm_buf piece; /* gathers libarchive's small writes into frames */
	const struct fm_candidate **trees;
	size_t count;
	uint64_t bytes; /* of the files */
};

static bool listed(const struct push *p, const char *digest)
{
	for (size_t i = 0; i < p->count; i++) {
		if (strcmp(p->trees[i]->tree_sha256, digest) == 0)
			return true;
	}
	return false;
}

static int add_tree(struct push *p, const struct fm_candidate *c)
{
	const struct fm_candidate **slot;

	if (listed(p, c->tree_sha256))
		return FM_OK;
	slot = fm_grow(&p->trees, &p->count, sizeof *p->trees);
	if (slot == NULL)
		return FM_ERR_MEMORY;
	*slot = c;
	p->bytes += c->tree_bytes;
	return FM_OK;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The digests that the open jobs need, sorted, each once. */
static int wanted(const struct fm_host *h, char (**list)[65], size_t *count)
{
	char(*all)[65] = fm_alloc_array(h->count + 1, sizeof *all);
	size_t n = 0, kept = 0;

	if (all == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < h->count; i++)
		if (!h->jobs[i].done)
			memcpy(all[n++], h->jobs[i].candidate->tree_sha256, 65);
	qsort(all, n, sizeof *all, by_text);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || strcmp(all[kept - 1], all[i]) != 0)
			memmove(all[kept++], all[i], sizeof *all);
	*list = all;
	*count = kept;
	return FM_OK;
}

static void digest_of(const char (*list)[65], size_t count, char hex[65])
{
	struct fm_sha256 hash;

	fm_sha256_start(&hash);
	for (size_t i = 0; i < count; i++) {
		fm_sha256_add(&hash, list[i], 64);
		fm_sha256_add(&hash, "\n", 1);
	}
	fm_sha256_end(&hash, hex);
}

static int take_missing(struct push *p, struct fm_text *reply)
{
	struct fm_host *h = p->h;
	const char *digest;
	int rc = FM_OK;

	while (rc == FM_OK && fm_text_maybe(reply, "missing", &digest)) {
		for (size_t i = 0; rc == FM_OK && i < h->count; i++) {
			if (strcmp(h->jobs[i].candidate->tree_sha256, digest) == 0)
				rc = add_tree(p, h->jobs[i].candidate);
		}
	}
	return rc == FM_OK ? fm_text_close(reply) : rc;
}

/* One question: by the digest of the whole set (known false when the host does not know that set),
 * or by all digests. */
static int ask_once(
        struct push *p, const char *set, const char (*list)[65], size_t count, bool *known)
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX);
	struct fm_text reply = {0};
	const char *word = "yes";
	int rc = fm_call_begin(&call, "have");

	if (rc == FM_OK && set != NULL)
		rc = fm_text_put(&call, "set", "%s", set);
	for (size_t i = 0; rc == FM_OK && i < count; i++)
		rc = fm_text_put(&call, "tree", "%s", list[i]);
	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_call(p->h->session, &call, NULL, 0, &reply, HAVE_WAIT_S);
	if (rc == FM_OK && set != NULL)
		rc = fm_text_take(&reply, "known", &word);
	*known = strcmp(word, "yes") == 0;
	if (rc == FM_OK)
		rc = take_missing(p, &reply);
	fm_text_free(&reply);
	fm_buf_free(&call);
	return rc;
}

/* Which of the open jobs' trees the host does not hold: some bytes when it is the set of the last
 * time, however many. */
static int ask(struct push *p)
{
	char(*list)[65] = NULL, set[65];
	size_t count = 0;
	bool known = false;
	int rc = wanted(p->h, &list, &count);

	if (rc == FM_OK) {
		digest_of((const char(*)[65])list, count, set);
		rc = ask_once(p, set, NULL, 0, &known);
	}
	if (rc == FM_OK && !known)
		rc = ask_once(p, NULL, (const char(*)[65])list, count, &known);
	free(list);
	return rc;
}

static int flush(struct push *p)
{
	int rc = fm_session_stream_write(p->h->session, p->piece.data, p->piece.len);

	p->piece.len = 0;
	return rc;
}

static int to_host(void *arg, const void *bytes, size_t len)
{
	struct push *p = arg;
	int rc = FM_OK;

	if (p->piece.len + len > PIECE_MAX)
		rc = flush(p);
	if (rc == FM_OK && len > PIECE_MAX)
		return fm_session_stream_write(p->h->session, bytes, len);
	return rc == FM_OK ? fm_buf_put(&p->piece, bytes, len) : rc;
}

/* "file 0644 12 <hex> a/b.c" and its kin (FORMATS.md section 8), as our own treelist wrote it. */
static int pack_entry(struct fm_archive *tar, int dirfd, const char *digest, char *line)
{
	char *field[5], *save = NULL, name[600], target[4096];
	uint64_t size;
	ssize_t n;

	for (int i = 0; i < 5; i++) {
		field[i] = strtok_r(i == 0 ? line : NULL, i < 4 ? " " : "\n", &save);
		if (field[i] == NULL)
			return fm_fail(FM_ERR_INTERNAL, "tree list of %s", digest);
	}
	snprintf(name, sizeof name, "%s/%s", digest, field[4]);
	if (strcmp(field[0], "dir") == 0)
		return fm_archive_dir(tar, name);
	if (strcmp(field[0], "link") == 0) {
		n = readlinkat(dirfd, field[4], target, sizeof target - 1);
		if (n < 0)
			return fm_fail_errno("%s", field[4]);
		target[n] = '\0';
		return fm_archive_link(tar, name, target);
	}
	if (fm_parse_u64(field[2], UINT64_MAX, &size) != FM_OK)
		return fm_fail(FM_ERR_INTERNAL, "tree list of %s", digest);
	return fm_archive_file(tar, name, dirfd, field[4], size, strcmp(field[1], "0755") == 0);
}

static int pack_tree(struct fm_archive *tar, const struct fm_candidate *c)
{
	char *list = c->tree_list.data != NULL ? fm_strdup(c->tree_list.data) : NULL;
	char *next = list;
	int fd = -1;
	int rc = c->folder == NULL || list == NULL ? fm_fail(FM_ERR_INTERNAL, "%s: no tree", c->id)
	                                           : fm_fs_dir(AT_FDCWD, c->folder, &fd);

	if (rc == FM_OK)
		rc = fm_archive_dir(tar, c->tree_sha256);
	while (rc == FM_OK && *next != '\0') {
		char *end = strchr(next, '\n');

		*end = '\0';
		rc = pack_entry(tar, fd, c->tree_sha256, next);
		next = end + 1;
	}
	if (fd >= 0)
		close(fd);
	free(list);
	return rc;
}

/* The call, the lists, the stream. An error in the middle leaves a session that can only be closed.
 */
static int send_trees(struct push *p)
{
	struct fm_session *s = p->h->session;
	struct fm_buf call = FM_BUF_INIT(CALL_MAX);
	struct fm_archive *tar = NULL;
	struct fm_text reply = {0};
	int rc = fm_call_begin(&call, "push");

	for (size_t i = 0; rc == FM_OK && i < p->count; i++)
		rc = fm_text_put(&call, "tree", "%s %zu", p->trees[i]->tree_sha256,
		        p->trees[i]->tree_list.len);
	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_stream_begin(s, &call);
	for (size_t i = 0; rc == FM_OK && i < p->count; i++)
		rc = fm_session_stream_write(
		        s, p->trees[i]->tree_list.data, p->trees[i]->tree_list.len);
	if (rc == FM_OK)
		rc = fm_archive_start(&tar, to_host, p);
	for (size_t i = 0; rc == FM_OK && i < p->count; i++)
		rc = pack_tree(tar, p->trees[i]);
	if (rc == FM_OK) {
		rc = fm_archive_end(tar);
		tar = NULL;
	}
	if (rc == FM_OK)
		rc = flush(p);
	if (rc == FM_OK)
		rc = fm_session_stream_end(s, &reply, PUSH_WAIT_S);
	if (rc == FM_OK)
		rc = fm_text_close(&reply);
	fm_archive_free(tar);
	fm_text_free(&reply);
	fm_buf_free(&call);
	return rc;
}

int fm_stage_push(struct fm_host *h)
{
	struct push p = {.h = h, .piece = FM_BUF_INIT(2 * PIECE_MAX)};
	uint64_t start = fm_now_ns();
	char took[32];
	struct fm_session_traffic before = fm_session_traffic(h->session), after;
	int rc = ask(&p);

	after = fm_session_traffic(h->session);
	if (rc == FM_OK && p.count == 0)
		fm_hostlog_say(h->log,
		        "push: every tree is there; asking took %llu bytes out, %llu in",
		        (unsigned long long)(after.sent - before.sent),
		        (unsigned long long)(after.received - before.received));
	if (rc == FM_OK && p.count > 0) {
		fm_host_event(h, "stage", "push", NULL, "%zu source tree%s, %llu bytes", p.count,
		        p.count == 1 ? "" : "s", (unsigned long long)p.bytes);
		rc = send_trees(&p);
		fm_hostlog_say(h->log, "push of %zu trees: %s in %s", p.count,
		        rc == FM_OK ? "ok" : fm_error_text(),
		        fm_duration(fm_now_ns() - start, took));
	}
	fm_buf_free(&p.piece);
	free(p.trees);
	return rc;
}
