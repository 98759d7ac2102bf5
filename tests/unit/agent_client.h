/* agent_client.h: the controller's side of the agent's line, for tests: a forked agent, calls,
 * sealed plans. */
#ifndef FM_TEST_AGENT_CLIENT_H
#define FM_TEST_AGENT_CLIENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* in this order */
#include <cmocka.h>

#include "protocol/digest.h"
#include "protocol/frame.h"
#include "protocol/fs.h"
#include "protocol/jobtext.h"
#include "protocol/lines.h"
#include "protocol/seal.h"
#include "protocol/sshsig.h"
#include "protocol/treelist.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOURCE "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#if defined(__x86_64__)
#define TEST_ARCH "x86_64"
#else
#define TEST_ARCH "aarch64"
#endif
#define MUST(call)                                                         \
	do {                                                               \
		int must_rc_ = (call);                                     \
		if (must_rc_ != FM_OK)                                     \
			print_message("%s: %s\n", #call, fm_error_text()); \
		assert_int_equal(must_rc_, FM_OK);                         \
	} while (0)

struct client {
	char home[200];    /* the agent's work folder */
	const char *world; /* path of a made-up machine, NULL for this one */
	pid_t pid;
	int to, from;
	uint32_t number;
	struct fm_frame_reader reader;
	char status[16], klass[40], reason[40], words[1100]; /* of the last reply */
	char reply[1 << 16];                                 /* its text */
	struct fm_buf data;                                  /* behind it */
	bool follows;
	unsigned pings; /* whose answer has not come */
};

static inline void client_open(struct client *c)
{
	int in[2], out[2];

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	c->number = c->pings = 0;
	c->follows = false;
	fm_frame_reader_init(&c->reader);
	c->data = FM_BUF_INIT(64u << 20);
	c->pid = fork();
	if (c->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[0]);
		close(in[1]);
		close(out[0]);
		close(out[1]);
		execl(FM_TEST_BUILD "/fleetmark-agent", "fleetmark-agent", "attach", "--workdir",
		        c->home, "--source", SOURCE, c->world == NULL ? NULL : "--world", c->world,
		        (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	c->to = in[1];
	c->from = out[0];
}

/* Ends the line; the agent's exit status comes back. */
static inline int client_close(struct client *c)
{
	int status = 0;

	close(c->to);
	close(c->from);
	fm_frame_reader_free(&c->reader);
	fm_buf_free(&c->data);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void client_send(
        struct client *c, enum fm_frame_type type, const void *bytes, size_t len)
{
	struct fm_buf out = FM_BUF_INIT(FM_FRAME_MAX + FM_FRAME_HEADER);

	MUST(fm_frame_put(&out, &c->number, type, bytes, len));
	MUST(fm_fs_write_all(c->to, out.data, out.len));
	fm_buf_free(&out);
}

/* The next frame; false at the end of the line. While it follows it gives signs of life, as a
 * controller does. */
static inline bool client_next(struct client *c, struct fm_frame *frame)
{
	struct pollfd p = {.fd = c->from, .events = POLLIN};
	char piece[65536];
	ssize_t n;
	int rc;

	for (;;) {
		rc = fm_frame_next(&c->reader, frame);
		if (rc == 1 && frame->type == FM_FRAME_PONG && c->pings > 0) {
			c->pings--;
			continue;
		}
		if (rc != 0)
			break;
		while (c->follows && poll(&p, 1, 200) == 0) {
			client_send(c, FM_FRAME_PING, NULL, 0);
			c->pings++;
		}
		n = read(c->from, piece, sizeof piece);
		if (n <= 0)
			return false;
		MUST(fm_frame_feed(&c->reader, piece, (size_t)n));
	}
	assert_int_equal(rc, 1);
	return true;
}

static inline void client_take_reply(struct client *c, const struct fm_frame *frame)
{
	struct fm_text t;
	const char *value;

	assert_true(frame->len < sizeof c->reply);
	memcpy(c->reply, frame->payload, frame->len);
	c->reply[frame->len] = '\0';
	c->klass[0] = c->reason[0] = c->words[0] = '\0';
	MUST(fm_text_open(&t, "reply", frame->payload, frame->len));
	MUST(fm_text_take(&t, "status", &value));
	snprintf(c->status, sizeof c->status, "%s", value);
	if (strcmp(value, "error") == 0) {
		MUST(fm_text_take(&t, "class", &value));
		snprintf(c->klass, sizeof c->klass, "%s", value);
		MUST(fm_text_take(&t, "reason", &value));
		snprintf(c->reason, sizeof c->reason, "%s", value);
		MUST(fm_text_take(&t, "text", &value));
		snprintf(c->words, sizeof c->words, "%s", value);
	}
	fm_text_free(&t);
}

/* The value of the first line with this key of the last reply; "" if there is none. */
static inline const char *client_value(const struct client *c, const char *key)
{
	static char value[1100];
	char want[64];
	const char *at;

	snprintf(want, sizeof want, "\n%s ", key);
	at = strstr(c->reply, want);
	if (at == NULL)
		return "";
	at += strlen(want);
	snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\n"), at);
	return value;
}

static inline void client_read_data(struct client *c)
{
	struct fm_frame frame;

	c->data.len = 0;
	while (client_next(c, &frame) && frame.type == FM_FRAME_DATA)
		MUST(fm_buf_put(&c->data, frame.payload, frame.len));
	assert_int_equal(frame.type, FM_FRAME_END);
}

/* Sends the call (lines behind "verb": "key value\n...") with data (NULL: no data frames), reads
 * the reply. */
static inline void client_call(
        struct client *c, const char *verb, const char *lines, const void *data, size_t len)
{
	char *text = fm_sprintf("fleetmark-call 1\nverb %s\n%send\n", verb, lines);
	struct fm_frame frame;

	assert_non_null(text);
	client_send(c, FM_FRAME_CALL, text, strlen(text));
	free(text);
	if (data != NULL) {
		for (size_t done = 0; done < len; done += 100000)
			client_send(c, FM_FRAME_DATA, (const char *)data + done,
			        len - done > 100000 ? 100000 : len - done);
		client_send(c, FM_FRAME_END, NULL, 0);
	}
	assert_true(client_next(c, &frame));
	assert_int_equal(frame.type, FM_FRAME_REPLY);
	client_take_reply(c, &frame);
}

static inline void client_ok(
        struct client *c, const char *verb, const char *lines, const void *data, size_t len)
{
	client_call(c, verb, lines, data, len);
	if (strcmp(c->status, "ok") != 0)
		print_message("%s: %s/%s: %s\n", verb, c->klass, c->reason, c->words);
	assert_string_equal(c->status, "ok");
}

static inline void client_refused(struct client *c, const char *klass, const char *reason)
{
	if (strcmp(c->klass, klass) != 0 || strcmp(c->reason, reason) != 0)
		print_message("%s/%s: %s\n", c->klass, c->reason, c->words);
	assert_string_equal(c->status, "error");
	assert_string_equal(c->klass, klass);
	assert_string_equal(c->reason, reason);
	assert_true(c->words[0] != '\0');
}

/* Follows to the end of the job (or until a line of this kind and key=value, if kind is not NULL);
 * returns the end state. */
static inline const char *client_follow(struct client *c, const char *campaign, const char *kind,
        const char *key, const char *value)
{
	static char state[32];
	struct fm_frame frame;
	struct fm_line line;
	char lines[200];

	snprintf(lines, sizeof lines, "campaign %s\noffset 0\n", campaign);
	client_ok(c, "follow", lines, NULL, 0);
	c->follows = true;
	while (client_next(c, &frame) && frame.type == FM_FRAME_EVENT) {
		MUST(fm_line_parse(frame.payload, frame.len, &line));
		if (getenv("FM_TEST_SHOW") != NULL)
			print_message("%.*s\n", (int)frame.len, frame.payload);
		if (kind != NULL && strcmp(line.kind, kind) == 0 &&
		        (key == NULL || fm_streq(fm_line_get(&line, key), value)))
			return "seen";
	}
	c->follows = false;
	assert_int_equal(frame.type, FM_FRAME_REPLY);
	client_take_reply(c, &frame);
	snprintf(state, sizeof state, "%s", client_value(c, "state"));
	return state;
}

/* Reads until the reply that ends a follow which another call cut short. */
static inline void client_end_follow(struct client *c)
{
	struct fm_frame frame;

	while (client_next(c, &frame) && frame.type == FM_FRAME_EVENT)
		;
	c->follows = false;
	assert_int_equal(frame.type, FM_FRAME_REPLY);
	client_take_reply(c, &frame);
}

/* --- a controller with one campaign --- */

struct instance {
	const char *name;
	unsigned bits;
	const char *source, *define; /* define NULL: none */
	const char *kat;             /* lines "kat_line ...\n" or "" */
	const char *operations;      /* "operation hash_32\n..." */
};

struct controller {
	unsigned char seed[32];
	struct fm_identity *id;
	char line[FM_PUBLIC_LINE + 1], key[FM_PUBLIC_LINE + 1]; /* own, the host's */
};

static inline void controller_make(struct controller *k, unsigned char fill)
{
	memset(k->seed, fill, sizeof k->seed);
	MUST(fm_identity_from_seed(k->seed, &k->id));
	fm_public_line(fm_identity_public(k->id), k->line);
	k->key[0] = '\0';
}

#define CHALLENGE "01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b"

/* Enrols and checks statement and signature; keeps the host's key. */
static inline void controller_enrol(struct controller *k, struct client *c)
{
	char lines[400];
	struct fm_text t;
	struct fm_public pub;
	const char *value;
	size_t statement;

	snprintf(lines, sizeof lines, "system box_1\nchallenge %s\ncontroller %s\n", CHALLENGE,
	        k->line);
	client_ok(c, "enrol", lines, NULL, 0);
	statement = strtoul(client_value(c, "statement_bytes"), NULL, 10);
	client_read_data(c);
	assert_int_equal(
	        c->data.len, statement + strtoul(client_value(c, "signature_bytes"), NULL, 10));
	MUST(fm_text_open(&t, "enrol", c->data.data, statement));
	MUST(fm_text_take(&t, "system", &value));
	assert_string_equal(value, "box_1");
	MUST(fm_text_take(&t, "challenge", &value));
	assert_string_equal(value, CHALLENGE);
	MUST(fm_text_take(&t, "controller", &value));
	assert_string_equal(value, k->line);
	MUST(fm_text_take(&t, "key", &value));
	snprintf(k->key, sizeof k->key, "%s", value);
	MUST(fm_text_take(&t, "previous", &value));
	assert_string_equal(value, "none");
	MUST(fm_text_close(&t));
	fm_text_free(&t);
	MUST(fm_public_parse(k->key, &pub));
	MUST(fm_sshsig_verify(&pub, "enrol.v1@fleetmark", c->data.data, statement,
	        c->data.data + statement, c->data.len - statement));
}

/* The tree list of a folder and its two digests. */
struct tree {
	struct fm_buf list, sources;
	char hex[65], source[65];
};
static inline void tree_make(struct tree *t, const char *folder)
{
	int fd;

	t->list = FM_BUF_INIT(FM_TREELIST_MAX);
	t->sources = FM_BUF_INIT(FM_TREELIST_MAX);
	MUST(fm_fs_dir(AT_FDCWD, folder, &fd));
	MUST(fm_treelist_make(fd, &t->list, NULL));
	MUST(fm_treelist_sources(t->list.data, t->list.len, &t->sources));
	fm_sha256_hex(t->list.data, t->list.len, t->hex);
	fm_sha256_hex(t->sources.data, t->sources.len, t->source);
	close(fd);
}
static inline void tree_free(struct tree *t)
{
	fm_buf_free(&t->list);
	fm_buf_free(&t->sources);
}

/* Data of a push of one tree: its list, then what tar packs of folder under the name <hex>/. cut:
 * bytes of the stream left out. */
static inline void push_data(
        const struct tree *t, const char *folder, size_t cut, struct fm_buf *out)
{
	char *rename = fm_sprintf("s,^\\.,%s,", t->hex), piece[65536];
	int fd[2], status;
	ssize_t n;
	pid_t pid;

	assert_non_null(rename);
	MUST(fm_buf_put(out, t->list.data, t->list.len));
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fd[1], 1);
		close(fd[0]);
		close(fd[1]);
		execlp("tar", "tar", "-c", "-f", "-", "-C", folder, "--transform", rename, ".",
		        (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	while ((n = read(fd[0], piece, sizeof piece)) > 0)
		MUST(fm_buf_put(out, piece, (size_t)n));
	close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	out->len -= cut;
	free(rename);
}

struct campaign {
	const char *name, *profile;
	char folder[300]; /* of the plan, on the controller */
	char sha256[65];
	bool quiet;                   /* at the end the job's log must be empty */
	unsigned lease_s, deadline_s; /* of its dispatches; lease 0: an hour */
};

/* Writes and seals a plan for one candidate. key: the host key named in it. */
static inline void campaign_make(struct campaign *p, const struct controller *k, const char *key,
        const char *candidate, const struct tree *t, const struct instance *instances, size_t count,
        const char *vectors)
{
	struct fm_buf text = FM_BUF_INIT(1u << 20);
	int fd;

	MUST(fm_buf_printf(&text,
	        "fleetmark-plan 1\ncampaign %s\nsystem box_1\narch %s\nkey %s\n"
	        "nonce 5f2b1c0de9a8476a3b5c7d9e1f00112233445566778899aabbccddeeff001122\nprofile "
	        "%s\nkat "
	        "standard\ncpu -1\nagent_source %s\nadditions -fPIC -D_GNU_SOURCE\nfallback -O1 "
	        "-fPIC "
	        "-std=gnu11 -DTOY_FALLBACK\ncandidate %s\nsource %s\ntree %s\n",
	        p->name, TEST_ARCH, key, p->profile, SOURCE, candidate, t->source, t->hex));
	if (vectors != NULL)
		MUST(fm_buf_printf(&text, "vectors_file vectors/%s.txt\n", candidate));
	for (size_t i = 0; i < count; i++) {
		const struct instance *in = &instances[i];

		MUST(fm_buf_printf(&text,
		        "instance %s\ndigest_bits %u\ndigest fixed\nheader "
		        "CryptHash_AlgorithmInstance.h\nkat_name %s\n",
		        in->name, in->bits, in->name));
		if (in->define != NULL)
			MUST(fm_buf_printf(&text, "define %s\n", in->define));
		MUST(fm_buf_printf(&text,
		        "%sversion reference\nflags -std=c99 -Wpedantic -Wall -Wextra -O2\n",
		        in->kat));
		MUST(fm_buf_printf(&text, "source_file %s\n%s", in->source, in->operations));
	}
	MUST(fm_buf_puts(&text, "end\n"));
	MUST(fm_fs_remove(AT_FDCWD, p->folder));
	MUST(fm_fs_mkdirs(AT_FDCWD, p->folder, 0755, &fd));
	MUST(fm_fs_write_deep(fd, "jobs/box_1.txt", text.data, text.len, 0644));
	MUST(fm_fs_write_deep(fd, "plan.json", "{}\n", 3, 0644));
	if (vectors != NULL) {
		char *path = fm_sprintf("vectors/%s.txt", candidate);

		MUST(fm_fs_write_deep(fd, path, vectors, strlen(vectors), 0644));
		free(path);
	}
	MUST(fm_seal(fd, FM_SEAL_PLAN, k->id, p->sha256));
	close(fd);
	fm_buf_free(&text);
}

/* Sends the plan's files; leaves the reply to be looked at. */
static inline void campaign_send(
        const struct campaign *p, struct client *c, const char *candidate, bool vectors)
{
	char vector_path[100];
	const char *paths[] = {
	        "MANIFEST.sha256", "MANIFEST.sha256.sig", "jobs/box_1.txt", "plan.json", NULL};
	struct fm_buf data = FM_BUF_INIT(64u << 20), lines = FM_BUF_INIT(1u << 16);
	int fd;

	snprintf(vector_path, sizeof vector_path, "vectors/%s.txt", candidate);
	if (vectors)
		paths[4] = vector_path;
	MUST(fm_fs_dir(AT_FDCWD, p->folder, &fd));
	MUST(fm_buf_printf(&lines, "campaign %s\nplan_sha256 %s\n", p->name, p->sha256));
	for (size_t i = 0; i < 5 && paths[i] != NULL; i++) {
		struct fm_buf file = FM_BUF_INIT(64u << 20);

		MUST(fm_fs_read(fd, paths[i], 64u << 20, &file));
		MUST(fm_buf_printf(&lines, "file %zu %s\n", file.len, paths[i]));
		MUST(fm_buf_put(&data, file.data, file.len));
		fm_buf_free(&file);
	}
	client_call(c, "plan", lines.data, data.data, data.len);
	close(fd);
	fm_buf_free(&data);
	fm_buf_free(&lines);
}

/* job.txt; nonce is 64 hex digits. */
static inline void campaign_start(const struct campaign *p, struct client *c, const char *candidate,
        unsigned attempt, const char *nonce)
{
	char lines[100];
	char *job = fm_sprintf("fleetmark-job 1\ncampaign %s\nsystem box_1\nplan_sha256 "
	                       "%s\nlease_s %u\ndeadline_s "
	                       "%u\njob %s %u %s\nend\n",
	        p->name, p->sha256, p->lease_s == 0 ? 3600 : p->lease_s, p->deadline_s, candidate,
	        attempt, nonce);

	assert_non_null(job);
	snprintf(lines, sizeof lines, "campaign %s\n", p->name);
	client_call(c, "start", lines, job, strlen(job));
	free(job);
}

/* Fetches a file of the bundle; false (and the reply) if refused. */
static inline bool campaign_get(
        const struct campaign *p, struct client *c, const char *candidate, const char *path)
{
	char *lines = fm_sprintf(
	        "campaign %s\ncandidate %s\npath %s\nmax 67108864\n", p->name, candidate, path);

	client_call(c, "get", lines, NULL, 0);
	free(lines);
	if (strcmp(c->status, "ok") != 0)
		return false;
	client_read_data(c);
	assert_int_equal(c->data.len, strtoul(client_value(c, "bytes"), NULL, 10));
	return true;
}

/* Fetches the whole bundle into folder and checks its seal with the host's key. */
static inline void campaign_fetch(const struct campaign *p, struct client *c,
        const struct controller *k, const char *candidate, const char *folder)
{
	struct fm_manifest m;
	struct fm_public pub;
	int fd;

	MUST(fm_public_parse(k->key, &pub));
	MUST(fm_fs_remove(AT_FDCWD, folder));
	MUST(fm_fs_mkdirs(AT_FDCWD, folder, 0755, &fd));
	assert_true(campaign_get(p, c, candidate, FM_SIG_NAME));
	MUST(fm_fs_write(fd, FM_SIG_NAME, c->data.data, c->data.len, 0644));
	assert_true(campaign_get(p, c, candidate, FM_MANIFEST_NAME));
	MUST(fm_fs_write(fd, FM_MANIFEST_NAME, c->data.data, c->data.len, 0644));
	MUST(fm_manifest_parse(c->data.data, c->data.len, 16384, &m));
	for (size_t i = 0; i < m.count; i++) {
		assert_true(campaign_get(p, c, candidate, m.entries[i].path));
		MUST(fm_fs_write_deep(fd, m.entries[i].path,
		        c->data.data == NULL ? "" : c->data.data, c->data.len, 0644));
	}
	fm_manifest_free(&m);
	MUST(fm_seal_check(fd, FM_SEAL_BUNDLE, &pub, NULL, NULL));
	close(fd);
}

#endif
