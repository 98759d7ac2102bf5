/* transport_ssh.c: a host over SSH; the only file that sees libssh. The session is non-blocking
 * throughout: every wait is ours. */
#include "orchestrator/transport_ssh.h"
#include "orchestrator/connect.h"
#include "orchestrator/hostkey.h"
#include "orchestrator/out.h"
#include "orchestrator/ssh_agent.h"
#include "orchestrator/ssh_resolve.h"
#include "protocol/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <libssh/libssh.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_HOSTS_MAX (16u << 20)
#define SLICE           (1 * FM_S)  /* no single poll is trusted for longer */
#define STEP_WAIT       (20 * FM_S) /* for one step of the handshake */

struct fm_transport {
	ssh_session s;
	struct fm_ssh_target target;
	const struct fm_system *system;
	int wake;
	pid_t proxy; /* child behind the socket, -1: none */
	char fingerprint[64];
	char how[64]; /* the key that was taken */
	char describe[500];
	bool pinned;
};
struct fm_channel {
	struct fm_transport *t;
	ssh_channel ch;
};

/* Waits until the socket can do what libssh wants of it, at most a slice. */
static int wait_socket(struct fm_transport *t, short events, uint64_t deadline)
{
	int flags = ssh_get_poll_flags(t->s);
	uint64_t now = fm_now_ns(), until = now + SLICE < deadline ? now + SLICE : deadline;
	struct pollfd p = {ssh_get_fd(t->s), events, 0};
	int rc;

	if (p.fd < 0 || (ssh_get_status(t->s) & SSH_CLOSED) != 0)
		return fm_fail(FM_ERR_DROPPED, "the line broke");
	if ((flags & SSH_WRITE_PENDING) != 0)
		p.events |= POLLOUT;
	rc = fm_transport_wait(&p, 1, t->wake, until);
	if (rc == FM_ERR_TIMEOUT && fm_now_ns() < deadline)
		return FM_OK;
	return rc;
}

/* libssh's words about an error, as a dropped line unless they say more. */
static int ssh_failed(struct fm_transport *t, const char *step)
{
	char shown[400];
	const char *text = ssh_get_error(t->s);

	return fm_fail(
	        FM_ERR_DROPPED, "%s: %s", step, fm_escape(text, strlen(text), shown, sizeof shown));
}

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? FM_OK
	                                                                 : fm_fail_errno("socket");
}

/* Key exchange over the connected socket; fd belongs to the session from here on, whatever happens.
 */
static int handshake(struct fm_transport *t, const char *known_hosts, int fd, uint64_t deadline)
{
	const struct fm_ssh_target *g = &t->target;
	/* Only a name for known_hosts: the socket is connected. An alias counts without a port. */
	const char *name = g->host_key_alias != NULL ? g->host_key_alias : g->hostname;
	unsigned port = g->host_key_alias != NULL ? 22 : (unsigned)g->port;
	int no = 0, rc;

	if (ssh_options_set(t->s, SSH_OPTIONS_PROCESS_CONFIG, &no) != SSH_OK ||
	        ssh_options_set(t->s, SSH_OPTIONS_HOST, name) != SSH_OK ||
	        ssh_options_set(t->s, SSH_OPTIONS_PORT, &port) != SSH_OK ||
	        ssh_options_set(t->s, SSH_OPTIONS_USER, g->user) != SSH_OK ||
	        ssh_options_set(t->s, SSH_OPTIONS_KNOWNHOSTS, known_hosts) != SSH_OK ||
	        ssh_options_set(t->s, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") != SSH_OK ||
	        ssh_options_set(t->s, SSH_OPTIONS_FD, &fd) != SSH_OK) {
		close(fd);
		return fm_fail(FM_ERR_INTERNAL, "SSH options: %s", ssh_get_error(t->s));
	}
	ssh_set_blocking(t->s, 0);
	for (;;) {
		rc = ssh_connect(t->s);
		if (rc == SSH_OK)
			break;
		if (rc != SSH_AGAIN)
			return ssh_failed(t, "SSH handshake");
		/* libssh made the socket blocking: undo it before anything can wait there */
		if ((rc = set_nonblocking(fd)) != FM_OK ||
		        (rc = wait_socket(t, POLLIN, deadline)) != FM_OK)
			return fm_wrap(rc, "SSH handshake");
	}
	return set_nonblocking(fd);
}

static char *known_hosts_path(const struct fm_home *home)
{
	return fm_sprintf("%s/known_hosts", home->path);
}

/* Socket and key exchange: everything before anybody is believed. */
static int reach(struct fm_transport *t, const struct fm_home *home, uint64_t deadline)
{
	char peer[64] = "", *store = known_hosts_path(home);
	int fd = -1, rc;

	signal(SIGPIPE, SIG_IGN); /* libssh writes to sockets that may be gone */
	rc = store == NULL ? FM_ERR_MEMORY
	                   : fm_ssh_resolve(t->system, &t->target, t->wake, deadline);
	if (rc == FM_OK && (t->target.jump != NULL || t->target.proxy_command != NULL))
		rc = fm_connect_proxy(&t->target, store, &fd, &t->proxy);
	else if (rc == FM_OK)
		rc = fm_connect(t->target.hostname, t->target.port, t->target.family, t->wake,
		        deadline, &fd, peer);
	if (rc == FM_OK && (t->s = ssh_new()) == NULL) {
		close(fd);
		rc = FM_ERR_MEMORY;
	}
	if (rc == FM_OK) {
		uint64_t step = fm_now_ns() + STEP_WAIT;

		rc = handshake(t, store, fd, step < deadline ? step : deadline);
	}
	free(store);
	return rc;
}

/* Type, base64 and fingerprint of the key offered. The caller frees with offer_free. */
struct offer {
	struct fm_hostkey key;
	char *base64, *print;
	const char *type;
};

static char *fingerprint_of(ssh_key key)
{
	unsigned char *hash = NULL;
	size_t len = 0;
	char *text = NULL;

	if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &len) == 0)
		text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, len);
	ssh_clean_pubkey_hash(&hash);
	return text;
}

static void offer_free(struct offer *o)
{
	ssh_string_free_char(o->base64);
	ssh_string_free_char(o->print);
}

static int read_offer(struct fm_transport *t, struct offer *o)
{
	ssh_key key = NULL;

	memset(o, 0, sizeof *o);
	if (ssh_get_server_publickey(t->s, &key) != SSH_OK)
		return ssh_failed(t, "host key");
	o->type = ssh_key_type_to_char(ssh_key_type(key));
	if (ssh_key_type(key) == SSH_KEYTYPE_ECDSA_P256 ||
	        ssh_key_type(key) == SSH_KEYTYPE_ECDSA_P384 ||
	        ssh_key_type(key) == SSH_KEYTYPE_ECDSA_P521)
		o->type = ssh_pki_key_ecdsa_name(key);
	o->print = fingerprint_of(key);
	if (ssh_pki_export_pubkey_base64(key, &o->base64) != SSH_OK)
		o->base64 = NULL;
	ssh_key_free(key);
	if (o->print == NULL || o->base64 == NULL)
		return fm_fail(FM_ERR_MEMORY, "host key");
	o->key = (struct fm_hostkey){.system = t->system->name,
	        .host = t->target.host_key_alias != NULL ? t->target.host_key_alias
	                                                 : t->target.hostname,
	        .port = t->target.host_key_alias != NULL ? 22 : t->target.port,
	        .type = o->type,
	        .base64 = o->base64,
	        .fingerprint = o->print};
	snprintf(t->fingerprint, sizeof t->fingerprint, "%s", o->print);
	return FM_OK;
}

/* What libssh says about a known_hosts file. */
static enum fm_hostkey_verdict ask_library(struct fm_transport *t, const char *file)
{
	enum ssh_known_hosts_e said;

	if (ssh_options_set(t->s, SSH_OPTIONS_KNOWNHOSTS, file) != SSH_OK)
		return FM_HOSTKEY_IS_UNKNOWN;
	said = ssh_session_is_known_server(t->s);
	switch (said) {
	case SSH_KNOWN_HOSTS_OK:
		return FM_HOSTKEY_OK;
	case SSH_KNOWN_HOSTS_CHANGED:
		return FM_HOSTKEY_IS_CHANGED;
	case SSH_KNOWN_HOSTS_OTHER:
		return FM_HOSTKEY_IS_OTHER;
	default:
		return FM_HOSTKEY_IS_UNKNOWN;
	}
}

/* One known_hosts file decides, or the pin (NULL: none). */
static int judge(struct fm_transport *t, const char *file, const char *pin, struct offer *o)
{
	struct fm_buf text = FM_BUF_INIT(KNOWN_HOSTS_MAX);
	bool there = access(file, F_OK) == 0;
	char warn[400];
	int rc = there ? fm_fs_read(AT_FDCWD, file, KNOWN_HOSTS_MAX, &text) : FM_OK;

	if (rc == FM_OK)
		rc = fm_hostkey_decide(&o->key, pin, ask_library(t, file), file,
		        there ? &text : NULL, warn, sizeof warn);
	if (rc == FM_OK && warn[0] != '\0')
		fm_say("%s: warning: %s", t->system->name, warn);
	fm_buf_free(&text);
	return rc;
}

static int check_host_key(struct fm_transport *t, const struct fm_home *home)
{
	char *store = known_hosts_path(home);
	struct offer o;
	int rc = read_offer(t, &o);

	t->pinned = t->system->hostkey != NULL;
	if (rc == FM_OK)
		rc = store == NULL ? FM_ERR_MEMORY : judge(t, store, t->system->hostkey, &o);
	offer_free(&o);
	free(store);
	return rc;
}

/* One attempt to authenticate; SSH_AUTH_SUCCESS, _DENIED, _PARTIAL, or _ERROR with rc set. */
static int try_key(struct fm_transport *t, ssh_key key, uint64_t deadline, int *rc)
{
	for (;;) {
		int said = key != NULL ? ssh_userauth_publickey(t->s, NULL, key)
		                       : ssh_userauth_agent(t->s, NULL);

		*rc = FM_OK;
		if (said != SSH_AUTH_AGAIN)
			return said;
		*rc = wait_socket(t, POLLIN, deadline);
		if (*rc != FM_OK)
			return SSH_AUTH_ERROR;
	}
}

static int refused(struct fm_transport *t, size_t tried)
{
	char names[600] = "";
	size_t used = 0;

	for (size_t i = 0; i < t->target.identity_count && used < sizeof names - 100; i++)
		used += (size_t)snprintf(
		        names + used, sizeof names - used, " %.90s", t->target.identity[i]);
	if (tried == 0)
		return fm_fail(FM_ERR_AUTH,
		        "no key to offer for %s@%s (no readable key without passphrase%s, none in "
		        "the "
		        "ssh-agent); name one with identity = FILE",
		        t->target.user, t->target.hostname,
		        names[0] != '\0' ? " among the files" : "");
	return fm_fail(FM_ERR_AUTH, "%s@%s refused the key%s; tried:%s", t->target.user,
	        t->target.hostname, tried == 1 ? "" : "s", names);
}

/* Keys the agent holds, then key files without passphrase; never a password, never a question. */
static int authenticate(struct fm_transport *t, uint64_t deadline)
{
	size_t tried = 0, in_agent = 0;
	int agent = -1, rc = fm_ssh_agent_start(&t->target, &agent, &in_agent);
	int said = SSH_AUTH_DENIED;

	if (rc == FM_OK && in_agent > 0) {
		if (ssh_set_agent_socket(t->s, agent) != SSH_OK) {
			close(agent);
		} else {
			tried += in_agent;
			said = try_key(t, NULL, deadline, &rc);
			snprintf(t->how, sizeof t->how, "key of the ssh-agent");
		}
	}
	for (size_t i = 0; rc == FM_OK && said == SSH_AUTH_DENIED && i < t->target.identity_count;
	        i++) {
		ssh_key key = NULL;

		if (ssh_pki_import_privkey_file(t->target.identity[i], "", NULL, NULL, &key) !=
		        SSH_OK)
			continue; /* has a passphrase, or is no key */
		tried++;
		said = try_key(t, key, deadline, &rc);
		ssh_key_free(key);
		snprintf(t->how, sizeof t->how, "%.63s", t->target.identity[i]);
	}
	if (rc != FM_OK)
		return fm_wrap(rc, "authentication");
	if (said == SSH_AUTH_SUCCESS)
		return FM_OK;
	/* A server that cuts the line after a refused key says so by its text only. */
	if (said == SSH_AUTH_ERROR && strstr(ssh_get_error(t->s), "Too many") == NULL)
		return ssh_failed(t, "authentication");
	return refused(t, tried);
}

static void ssh_close_(struct fm_transport *t)
{
	if (t == NULL)
		return;
	if (t->s != NULL) {
		/* After an error libssh has closed the socket itself and says -1. */
		int fd = ssh_get_fd(t->s);

		if (fd >= 0) {
			ssh_disconnect(t->s);
			close(fd);
		}
		ssh_free(t->s);
	}
	if (t->proxy > 0)
		(void)fm_transport_reap(t->proxy, fm_now_ns() + 100 * FM_MS);
	fm_ssh_target_free(&t->target);
	free(t);
}

static int new_transport(struct fm_transport **out, const struct fm_system *system, int wake)
{
	*out = fm_alloc(sizeof **out);
	if (*out == NULL)
		return FM_ERR_MEMORY;
	(*out)->system = system;
	(*out)->wake = wake;
	(*out)->proxy = -1;
	return FM_OK;
}

static int ssh_open_(struct fm_transport **out, const struct fm_system *system,
        const struct fm_home *home, int wake, uint64_t deadline)
{
	struct fm_transport *t = NULL;
	int rc = new_transport(&t, system, wake);

	*out = NULL;
	if (rc == FM_OK)
		rc = reach(t, home, deadline);
	if (rc == FM_OK)
		rc = check_host_key(t, home);
	if (rc == FM_OK)
		rc = authenticate(t, deadline);
	if (rc == FM_OK) {
		snprintf(t->describe, sizeof t->describe, "%s@%s port %d%s%s, %s, host key %s",
		        t->target.user, t->target.hostname, t->target.port,
		        t->target.jump != NULL ? " through " : "",
		        t->target.jump != NULL ? t->target.jump : "", t->how,
		        t->pinned ? "pinned" : "in known_hosts");
		*out = t;
		t = NULL;
	}
	ssh_close_(t);
	return rc;
}

int fm_ssh_learn(const struct fm_system *system, const struct fm_home *home,
        const char *fingerprint, uint64_t deadline, char offered[64], bool *added)
{
	struct fm_transport *t = NULL;
	struct offer o = {0};
	char *store = known_hosts_path(home);
	int rc = new_transport(&t, system, -1);
	bool vouched = false;

	*added = false;
	offered[0] = '\0';
	if (rc == FM_OK && store == NULL)
		rc = FM_ERR_MEMORY;
	if (rc == FM_OK)
		rc = reach(t, home, deadline);
	if (rc == FM_OK)
		rc = read_offer(t, &o);
	if (rc != FM_OK)
		goto out;
	snprintf(offered, 64, "%s", o.print);
	rc = judge(t, store, system->hostkey, &o);
	if (rc == FM_OK || rc == FM_ERR_HOSTKEY_PIN || rc == FM_ERR_HOSTKEY_REVOKED)
		goto out;
	if (fingerprint != NULL) {
		vouched = strcmp(fingerprint, o.print) == 0;
		if (!vouched)
			rc = fm_fail(FM_ERR_HOSTKEY_PIN, "%s port %d offers host key %s, not %s",
			        o.key.host, o.key.port, o.print, fingerprint);
	}
	for (size_t i = 0; fingerprint == NULL && rc == FM_ERR_HOSTKEY_UNKNOWN && !vouched &&
	                   i < t->target.known_hosts_count;
	        i++) {
		int user = judge(t, t->target.known_hosts[i], NULL, &o);

		vouched = user == FM_OK;
		if (user == FM_ERR_HOSTKEY_REVOKED || user == FM_ERR_HOSTKEY_CHANGED)
			rc = user; /* the user's own file speaks against it */
	}
	if (vouched) {
		rc = fm_hostkey_add(home->dirfd, &o.key);
		*added = rc == FM_OK;
	} else if (rc == FM_ERR_HOSTKEY_UNKNOWN) {
		rc = judge(t, store, NULL, &o); /* its words again */
	}
out:
	offer_free(&o);
	free(store);
	ssh_close_(t);
	return rc;
}

/* ---- channels ---- */

static void chan_discard(struct fm_channel *c)
{
	if (c == NULL)
		return;
	if (c->ch != NULL)
		ssh_channel_free(c->ch);
	free(c);
}

static int chan_exec(
        struct fm_transport *t, const char *command, struct fm_channel **out, uint64_t deadline)
{
	struct fm_channel *c = fm_alloc(sizeof *c);
	int said, rc = c == NULL ? FM_ERR_MEMORY : FM_OK;

	*out = NULL;
	if (rc == FM_OK) {
		c->t = t;
		c->ch = ssh_channel_new(t->s);
		rc = c->ch == NULL ? fm_fail(FM_ERR_MEMORY, "SSH channel") : FM_OK;
	}
	while (rc == FM_OK && (said = ssh_channel_open_session(c->ch)) != SSH_OK)
		rc = said == SSH_AGAIN ? wait_socket(t, POLLIN, deadline)
		                       : ssh_failed(t, "opening a channel");
	while (rc == FM_OK && (said = ssh_channel_request_exec(c->ch, command)) != SSH_OK)
		rc = said == SSH_AGAIN ? wait_socket(t, POLLIN, deadline)
		                       : ssh_failed(t, "starting a shell");
	if (rc == FM_OK) {
		*out = c;
		c = NULL;
	}
	chan_discard(c);
	return rc;
}

static ssize_t chan_read(
        struct fm_channel *c, void *bytes, size_t size, int *is_stderr, uint64_t deadline)
{
	for (;;) {
		int rc;

		/* Drain what is decoded already before asking the socket. */
		for (*is_stderr = 1; *is_stderr >= 0; --*is_stderr) {
			int n = ssh_channel_read_timeout(
			        c->ch, bytes, (uint32_t)size, *is_stderr, 0);

			if (n > 0)
				return n;
			if (n == SSH_ERROR)
				return ssh_failed(c->t, "read");
		}
		*is_stderr = 0;
		if (ssh_channel_is_eof(c->ch) || ssh_channel_is_closed(c->ch))
			return 0;
		rc = wait_socket(c->t, POLLIN, deadline);
		if (rc != FM_OK)
			return rc;
	}
}

static int chan_write(struct fm_channel *c, const void *bytes, size_t len, uint64_t deadline)
{
	const char *next = bytes;

	for (;;) {
		int n = len > 0 ? ssh_channel_write(
		                          c->ch, next, (uint32_t)(len < 1u << 20 ? len : 1u << 20))
		                : 0;
		int rc;

		if (n == SSH_ERROR)
			return ssh_failed(c->t, "write");
		if (n > 0) {
			next += n;
			len -= (size_t)n;
		}
		if (ssh_channel_is_eof(c->ch) || ssh_channel_is_closed(c->ch))
			return fm_fail(FM_ERR_DROPPED, "the far side closed the channel");
		/* Nothing of ours may stay behind in libssh: the line could be silent from here on.
		 */
		rc = ssh_blocking_flush(c->t->s, 0);
		if (rc == SSH_ERROR)
			return ssh_failed(c->t, "write");
		if (len == 0 && rc == SSH_OK)
			return FM_OK;
		if (n > 0 && len > 0)
			continue;
		rc = wait_socket(c->t, POLLIN, deadline);
		if (rc != FM_OK)
			return rc;
	}
}

static int chan_eof(struct fm_channel *c)
{
	return ssh_channel_send_eof(c->ch) == SSH_ERROR ? ssh_failed(c->t, "end of input") : FM_OK;
}

static int chan_finish(struct fm_channel *c, int *status, uint64_t deadline)
{
	char piece[4096];
	int is_stderr, rc = chan_eof(c);
	ssize_t n = 1;

	while (rc == FM_OK && n > 0)
		n = chan_read(c, piece, sizeof piece, &is_stderr, deadline);
	if (n < 0)
		rc = (int)n;
	while (rc == FM_OK &&
	        !ssh_channel_is_closed(c->ch)) /* the status may come behind the end */
		rc = wait_socket(c->t, POLLIN, deadline);
	*status = rc == FM_OK ? ssh_channel_get_exit_status(c->ch) : -1;
	chan_discard(c);
	return rc;
}

static void set_wake(struct fm_transport *t, int wake)
{
	t->wake = wake;
}

static const char *host_key(const struct fm_transport *t)
{
	return t->fingerprint;
}

static const char *describe(const struct fm_transport *t)
{
	return t->describe;
}

const struct fm_transport_ops fm_transport_ssh = {
        .open = ssh_open_,
        .close = ssh_close_,
        .exec = chan_exec,
        .read = chan_read,
        .write = chan_write,
        .eof = chan_eof,
        .finish = chan_finish,
        .discard = chan_discard,
        .set_wake = set_wake,
        .host_key = host_key,
        .describe = describe,
};
