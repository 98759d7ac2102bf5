/* push.c: receives source trees: tar unpacks into a fresh folder, the list of what came out
 * decides, a rename makes it visible. */
#include "agent/attach.h"
#include "agent/door.h"
#include "agent/spawn.h"
#include "protocol/treelist.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_TREES  1024
#define LISTS_MAX  (256u << 20)
#define STREAM_MAX ((uint64_t)64 << 30)

struct push_tree {
	char hex[65];
	size_t bytes; /* of its list */
};
struct push {
	const struct fm_agent *agent;
	struct push_tree *trees;
	size_t tree_count, lists_bytes;
	struct fm_buf lists;
	char folder[40]; /* .in-<random> below src/ */
	int src, in;     /* src/, src/.in-<random>/ */
	int feed;        /* tar's descriptor 0; -1 once it is gone */
	int log;
	pid_t tar;
};

static int src_dir(const struct fm_agent *a, int *fd)
{
	return fm_fs_mkdirs(a->dir, "src", 0755, fd);
}

/* Does src/<hex> hold exactly the tree of that digest? */
static bool tree_present(int src, const char *hex)
{
	struct fm_buf list = FM_BUF_INIT(FM_TREELIST_MAX);
	char seen[65] = "";
	int fd = -1;

	if (fm_fs_dir(src, hex, &fd) == FM_OK && fm_treelist_make(fd, &list, NULL) == FM_OK)
		fm_sha256_hex(list.data == NULL ? "" : list.data, list.len, seen);
	if (fd >= 0)
		close(fd);
	fm_buf_free(&list);
	return strcmp(seen, hex) == 0;
}

/* The digests that were asked for last, a line each, so that the same set can be asked for by one
 * digest over them. */
#define LAST_SET "src/.set"
#define SET_MAX  (MAX_TREES * 65u)

static int tell_missing(int src, const char *list, size_t len, struct fm_buf *reply)
{
	char hex[65];
	int rc = FM_OK;

	for (size_t at = 0; rc == FM_OK && at + 65 <= len; at += 65) {
		memcpy(hex, list + at, 64);
		hex[64] = '\0';
		if (!fm_hex64_ok(hex) || list[at + 64] != '\n')
			return fm_fail(FM_ERR_FORM, LAST_SET ": byte %zu", at);
		if (!tree_present(src, hex))
			rc = fm_text_put(reply, "missing", "%s", hex);
	}
	return rc;
}

/* Only the digest of the set was sent: is it the set of the last time? */
static int have_set(struct fm_attach *at, int src, const char *digest, struct fm_buf *reply)
{
	struct fm_buf list = FM_BUF_INIT(SET_MAX);
	char seen[65] = "";
	bool known;
	int rc;

	if (!fm_hex64_ok(digest))
		return fm_fail(FM_ERR_FORM, "have: '%.80s' is no digest", digest);
	if (fm_fs_read(at->agent->dir, LAST_SET, SET_MAX, &list) == FM_OK && list.data != NULL)
		fm_sha256_hex(list.data, list.len, seen);
	known = strcmp(seen, digest) == 0;
	rc = fm_text_put(reply, "known", known ? "yes" : "no");
	if (rc == FM_OK && known)
		rc = tell_missing(src, list.data, list.len, reply);
	fm_buf_free(&list);
	return rc;
}

int fm_call_have(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	struct fm_buf list = FM_BUF_INIT(SET_MAX);
	const char *hex;
	int src = -1, rc = src_dir(at->agent, &src);

	if (rc == FM_OK && fm_text_maybe(call, "set", &hex)) {
		rc = have_set(at, src, hex, reply);
	} else {
		while (rc == FM_OK && fm_text_maybe(call, "tree", &hex))
			rc = fm_hex64_ok(hex)
			             ? fm_buf_printf(&list, "%s\n", hex)
			             : fm_fail(FM_ERR_FORM, "have: '%.80s' is no digest", hex);
		if (rc == FM_OK && list.len > 0)
			rc = tell_missing(src, list.data, list.len, reply);
		if (rc == FM_OK && list.len > 0)
			rc = fm_fs_write(at->agent->dir, LAST_SET, list.data, list.len, 0600);
	}
	if (rc == FM_OK)
		rc = fm_text_close(call);
	if (src >= 0)
		close(src);
	fm_buf_free(&list);
	return rc;
}

/* "<hex> <list bytes>" */
static int take_trees(struct push *p, struct fm_text *call)
{
	const char *value;

	while (fm_text_maybe(call, "tree", &value)) {
		struct push_tree *t = fm_grow(&p->trees, &p->tree_count, sizeof *t);
		uint64_t bytes = 0;

		if (t == NULL)
			return FM_ERR_MEMORY;
		if (p->tree_count > MAX_TREES)
			return fm_fail(FM_ERR_SIZE, "push: more than %d trees", MAX_TREES);
		snprintf(t->hex, sizeof t->hex, "%.64s", value);
		if (!fm_hex64_ok(t->hex) || value[64] != ' ' ||
		        fm_parse_u64(value + 65, FM_TREELIST_MAX, &bytes) != FM_OK || bytes == 0)
			return fm_fail(FM_ERR_FORM,
			        "push: read tree '%.100s', allowed is <hex> <bytes>", value);
		t->bytes = (size_t)bytes;
		p->lists_bytes += t->bytes;
		if (p->lists_bytes > LISTS_MAX)
			return fm_fail(FM_ERR_SIZE, "push: lists of more than %u bytes", LISTS_MAX);
	}
	if (p->tree_count == 0)
		return fm_fail(FM_ERR_FORM, "push: no tree named");
	return fm_text_close(call);
}

static int make_folder(struct push *p)
{
	char random[17];
	int rc = src_dir(p->agent, &p->src);

	if (rc != FM_OK)
		return rc;
	fm_random_hex(8, random);
	snprintf(p->folder, sizeof p->folder, ".in-%s", random);
	if (mkdirat(p->src, p->folder, 0755) != 0)
		return fm_fail_errno("src/%s", p->folder);
	return fm_fs_dir(p->src, p->folder, &p->in);
}

/* tar -x in the fresh folder; its messages go to src/<folder>.log. */
static int start_tar(struct push *p)
{
	int fd[2] = {-1, -1};
	char *tar = fm_child_find("tar"), log[60];

	if (tar == NULL)
		return fm_fail(FM_ERR_MISSING, "tar not found on this host");
	snprintf(log, sizeof log, "%s.log", p->folder);
	p->log = openat(p->src, log, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (p->log < 0 || pipe2(fd, O_CLOEXEC) != 0) {
		free(tar);
		return fm_fail_errno("starting tar");
	}
	p->tar = fork();
	if (p->tar == 0) {
		char *argv[] = {
		        tar, (char[]){"-x"}, (char[]){"-f"}, (char[]){"-"}, (char[]){"-o"}, NULL};
		char *env[] = {
		        (char[]){"LC_ALL=C"}, (char[]){"PATH=/usr/local/bin:/usr/bin:/bin"}, NULL};

		umask(022);
		signal(SIGPIPE, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (fchdir(p->in) != 0 || dup2(fd[0], 0) < 0 || dup2(p->log, 1) < 0 ||
		        dup2(p->log, 2) < 0)
			_exit(126);
		execve(tar, argv, env);
		_exit(127);
	}
	free(tar);
	close(fd[0]);
	if (p->tar < 0) {
		close(fd[1]);
		return fm_fail_errno("fork for tar");
	}
	p->feed = fd[1];
	return FM_OK;
}

/* The lists first, then tar's bytes. A tar that ended early is no error here: the comparison
 * decides. */
static int take_bytes(void *arg, const void *bytes, size_t len)
{
	struct push *p = arg;
	size_t want = p->lists_bytes - p->lists.len;
	int rc;

	if (want > 0) {
		if (want > len)
			want = len;
		if ((rc = fm_buf_put(&p->lists, bytes, want)) != FM_OK)
			return rc;
		bytes = (const char *)bytes + want;
		len -= want;
	}
	while (len > 0 && p->feed >= 0) {
		ssize_t n = write(p->feed, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(p->feed);
			p->feed = -1;
			break;
		}
		bytes = (const char *)bytes + n;
		len -= (size_t)n;
	}
	return FM_OK;
}

/* Ends tar: end of its input, 60 s, KILL. Its status is told and otherwise ignored. */
static void end_tar(struct push *p)
{
	uint64_t until = fm_agent_now_ns() + 60000000000u;
	int status = 0;

	if (p->feed >= 0)
		close(p->feed);
	p->feed = -1;
	if (p->tar <= 0)
		return;
	while (waitpid(p->tar, &status, WNOHANG) == 0) {
		if (fm_agent_now_ns() > until)
			kill(p->tar, SIGKILL);
		(void)poll(NULL, 0, 2);
	}
	p->tar = 0;
	if (status != 0)
		dprintf(2, "push: tar ended with wait status %d (the list of files decides)\n",
		        status);
}

static bool disk_full(const struct push *p)
{
	char text[4096];
	ssize_t n = pread(p->log, text, sizeof text - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return strstr(text, "No space left") != NULL || strstr(text, "quota exceeded") != NULL;
}

static int check_lists(const struct push *p)
{
	const char *at = p->lists.data;
	char hex[65];

	if (p->lists.len != p->lists_bytes)
		return fm_fail(FM_ERR_SOURCE, "push: %zu of %zu bytes of lists came", p->lists.len,
		        p->lists_bytes);
	for (size_t i = 0; i < p->tree_count; i++) {
		fm_sha256_hex(at, p->trees[i].bytes, hex);
		if (strcmp(hex, p->trees[i].hex) != 0)
			return fm_fail(FM_ERR_SOURCE,
			        "push: the list of tree %.12s has digest %.12s", p->trees[i].hex,
			        hex);
		at += p->trees[i].bytes;
	}
	return FM_OK;
}

/* Compares and shows one tree after the other. */
static int accept_trees(struct push *p)
{
	const char *at = p->lists.data;
	char from[120];
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < p->tree_count; at += p->trees[i].bytes, i++) {
		const struct push_tree *t = &p->trees[i];
		int fd = -1;

		rc = fm_fs_dir(p->in, t->hex, &fd);
		if (rc != FM_OK)
			rc = fm_fail(FM_ERR_SOURCE, "tree is not in the stream");
		else
			rc = fm_treelist_compare(fd, at, t->bytes);
		if (rc == FM_OK && syncfs(fd) != 0)
			rc = fm_fail_errno("syncfs");
		if (fd >= 0)
			close(fd);
		if (rc != FM_OK)
			return fm_wrap(rc, "push: tree %.12s", t->hex);
		snprintf(from, sizeof from, "%s/%s", p->folder, t->hex);
		if ((rc = fm_fs_remove(p->src, t->hex)) == FM_OK)
			rc = fm_fs_rename(p->src, from, t->hex);
	}
	return rc;
}

static void push_free(struct push *p)
{
	char log[60];

	end_tar(p);
	if (p->log >= 0)
		close(p->log);
	if (p->in >= 0)
		close(p->in);
	if (p->src >= 0 && p->folder[0] != '\0') {
		snprintf(log, sizeof log, "%s.log", p->folder);
		(void)!fm_fs_remove(p->src, log);
		(void)!fm_fs_remove(p->src, p->folder);
	}
	if (p->src >= 0)
		close(p->src);
	fm_buf_free(&p->lists);
	free(p->trees);
}

int fm_call_push(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	struct push p = {.agent = at->agent, .src = -1, .in = -1, .feed = -1, .log = -1};
	int rc;

	(void)reply;
	p.lists = FM_BUF_INIT(LISTS_MAX);
	if ((rc = fm_door_refuse_busy("push")) != FM_OK || (rc = take_trees(&p, call)) != FM_OK ||
	        (rc = make_folder(&p)) != FM_OK || (rc = start_tar(&p)) != FM_OK ||
	        (rc = fm_attach_data(at, STREAM_MAX, take_bytes, &p)) != FM_OK)
		goto out;
	end_tar(&p);
	rc = check_lists(&p);
	if (rc == FM_OK)
		rc = accept_trees(&p);
	if (rc != FM_OK && disk_full(&p))
		rc = fm_fail(FM_ERR_NO_SPACE, "push: no space left in %s", at->agent->path);
out:
	push_free(&p);
	return rc;
}
