/* transport_ssh_reach.c: the way to an SSH host: socket, key exchange, and authentication by keys
 * alone. */
#include "orchestrator/connect.h"
#include "orchestrator/ssh_agent.h"
#include "orchestrator/transport_ssh_parts.h"
#include "protocol/buf.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP_WAIT (20 * FM_S) /* for one step of the handshake */

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
			return fm_ssh_failed(t, "SSH handshake");
		/* libssh made the socket blocking: undo it before anything can wait there */
		if ((rc = set_nonblocking(fd)) != FM_OK ||
		        (rc = fm_ssh_wait(t, POLLIN, deadline)) != FM_OK)
			return fm_wrap(rc, "SSH handshake");
	}
	return set_nonblocking(fd);
}

char *fm_ssh_known_hosts(const struct fm_home *home)
{
	return fm_sprintf("%s/known_hosts", home->path);
}

/* Socket and key exchange: everything before anybody is believed. */
int fm_ssh_reach(struct fm_transport *t, const struct fm_home *home, uint64_t deadline)
{
	char *store = fm_ssh_known_hosts(home);
	int fd = -1, rc;

	signal(SIGPIPE, SIG_IGN); /* libssh writes to sockets that may be gone */
	rc = store == NULL ? FM_ERR_MEMORY
	                   : fm_ssh_resolve(t->system, &t->target, t->wake, deadline);
	if (rc == FM_OK && (t->target.jump != NULL || t->target.proxy_command != NULL))
		rc = fm_connect_proxy(&t->target, store, &fd, &t->proxy);
	else if (rc == FM_OK)
		rc = fm_connect(t->target.hostname, t->target.port, t->target.family, t->wake,
		        deadline, &fd);
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

/* One attempt to fm_ssh_authenticate; SSH_AUTH_SUCCESS, _DENIED, _PARTIAL, or _ERROR with rc set.
 */
static int try_key(struct fm_transport *t, ssh_key key, uint64_t deadline, int *rc)
{
	for (;;) {
		int said = key != NULL ? ssh_userauth_publickey(t->s, NULL, key)
		                       : ssh_userauth_agent(t->s, NULL);

		*rc = FM_OK;
		if (said != SSH_AUTH_AGAIN)
			return said;
		*rc = fm_ssh_wait(t, POLLIN, deadline);
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
int fm_ssh_authenticate(struct fm_transport *t, uint64_t deadline)
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
		return fm_ssh_failed(t, "authentication");
	return refused(t, tried);
}
