/* ssh_resolve.c: asks `ssh -G` what the user's configuration means for an address; inventory keys
 * win. */
#include "orchestrator/ssh_resolve.h"
#include "orchestrator/transport.h"
#include "protocol/buf.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MAX (1u << 20)
#define ASK_WAIT   (10 * FM_S)
#define NOT_THERE  127

static const char *home_folder(void)
{
	const char *home = getenv("HOME");

	return home != NULL && home[0] == '/' ? home : "/";
}

/* Replaces a leading ~/ and the tokens %d %h %n %p %r %u %%; NULL for any other token. The caller
 * frees. */
static char *expand(const char *text, const struct fm_ssh_target *t, const char *address)
{
	struct fm_buf b = FM_BUF_INIT(8192);
	char port[8];
	int rc = FM_OK;

	snprintf(port, sizeof port, "%d", t->port);
	if (text[0] == '~' && text[1] == '/') {
		rc = fm_buf_puts(&b, home_folder());
		text++;
	}
	for (; rc == FM_OK && *text != '\0'; text++) {
		const char *value = NULL;

		if (*text != '%') {
			rc = fm_buf_put(&b, text, 1);
			continue;
		}
		switch (*++text) {
		case '%':
			value = "%";
			break;
		case 'd':
			value = home_folder();
			break;
		case 'h':
			value = t->hostname;
			break;
		case 'n':
			value = address;
			break;
		case 'p':
			value = port;
			break;
		case 'r':
		case 'u':
			value = t->user;
			break;
		default:
			break;
		}
		rc = value != NULL ? fm_buf_puts(&b, value) : FM_ERR_FORM;
	}
	if (rc != FM_OK)
		fm_buf_free(&b);
	return b.data;
}

static int add_identity(struct fm_ssh_target *t, const char *path)
{
	if (path == NULL || t->identity_count == FM_SSH_IDENTITIES || access(path, R_OK) != 0)
		return FM_OK;
	for (size_t i = 0; i < t->identity_count; i++) {
		if (strcmp(t->identity[i], path) == 0)
			return FM_OK;
	}
	t->identity[t->identity_count] = fm_strdup(path);
	return t->identity[t->identity_count++] != NULL ? FM_OK : FM_ERR_MEMORY;
}

static int add_known_hosts(struct fm_ssh_target *t, char *value)
{
	char *save = NULL;
	int rc = FM_OK;

	for (char *w = strtok_r(value, " ", &save); rc == FM_OK && w != NULL;
	        w = strtok_r(NULL, " ", &save)) {
		if (t->known_hosts_count == FM_SSH_KNOWN_HOSTS)
			break;
		if (strcmp(w, "none") == 0)
			continue;
		t->known_hosts[t->known_hosts_count] = expand(w, t, "");
		if (t->known_hosts[t->known_hosts_count] != NULL)
			t->known_hosts_count++;
	}
	return rc;
}

static int set_text(char **slot, const char *value)
{
	free(*slot);
	*slot = NULL;
	if (strcmp(value, "none") == 0 || value[0] == '\0')
		return FM_OK;
	*slot = fm_strdup(value);
	return *slot != NULL ? FM_OK : FM_ERR_MEMORY;
}

static int set_agent(struct fm_ssh_target *t, const char *value)
{
	const char *socket = getenv("SSH_AUTH_SOCK");

	if (strcmp(value, "SSH_AUTH_SOCK") == 0)
		return set_text(&t->agent, socket != NULL ? socket : "");
	if (value[0] == '$')
		return set_text(&t->agent, getenv(value + 1) != NULL ? getenv(value + 1) : "");
	free(t->agent);
	t->agent = strcmp(value, "none") == 0 ? NULL : expand(value, t, "");
	return FM_OK;
}

/* First pass: what the tokens of the second stand for. */
static int take_address(struct fm_ssh_target *t, const char *key, const char *value)
{
	uint64_t port;

	if (strcmp(key, "hostname") == 0) {
		if (value[0] == '\0' || value[0] == '-' || strlen(value) >= sizeof t->hostname)
			return fm_fail(FM_ERR_CONFIG, "ssh_config: HostName %.60s", value);
		snprintf(t->hostname, sizeof t->hostname, "%s", value);
	} else if (strcmp(key, "user") == 0) {
		snprintf(t->user, sizeof t->user, "%s", value);
	} else if (strcmp(key, "port") == 0) {
		if (fm_parse_u64(value, 65535, &port) != FM_OK || port == 0)
			return fm_fail(FM_ERR_CONFIG, "ssh_config: Port %.60s", value);
		t->port = (int)port;
	} else if (strcmp(key, "addressfamily") == 0) {
		t->family = strcmp(value, "inet") == 0    ? AF_INET
		            : strcmp(value, "inet6") == 0 ? AF_INET6
		                                          : AF_UNSPEC;
	}
	return FM_OK;
}

static int take_rest(struct fm_ssh_target *t, const char *address, const char *key, char *value)
{
	char *path;
	int rc;

	if (strcmp(key, "identityfile") == 0) {
		path = strcmp(value, "none") == 0 ? NULL : expand(value, t, address);
		rc = add_identity(t, path);
		free(path);
		return rc;
	}
	if (strcmp(key, "identityagent") == 0)
		return set_agent(t, value);
	if (strcmp(key, "hostkeyalias") == 0)
		return set_text(&t->host_key_alias, value);
	if (strcmp(key, "userknownhostsfile") == 0)
		return add_known_hosts(t, value);
	if (strcmp(key, "proxyjump") == 0)
		return set_text(&t->jump, value);
	if (strcmp(key, "proxycommand") == 0 && strcmp(value, "none") != 0) {
		free(t->proxy_command);
		t->proxy_command = expand(value, t, address);
		if (t->proxy_command == NULL)
			return fm_fail(FM_ERR_CONFIG,
			        "ssh_config: ProxyCommand with a token other than %%h %%n %%p %%r "
			        "%%u %%d %%%%");
	}
	return FM_OK;
}

typedef int take(struct fm_ssh_target *t, const char *address, const char *key, char *value);

static int take_first(struct fm_ssh_target *t, const char *address, const char *key, char *value)
{
	(void)address;
	return take_address(t, key, value);
}

static int each_line(struct fm_ssh_target *t, const char *address, const char *text, take *one)
{
	char *copy = fm_strdup(text), *save = NULL;
	int rc = copy == NULL ? FM_ERR_MEMORY : FM_OK;

	for (char *line = copy != NULL ? strtok_r(copy, "\n", &save) : NULL;
	        rc == FM_OK && line != NULL; line = strtok_r(NULL, "\n", &save)) {
		char *value = strchr(line, ' ');

		if (value == NULL)
			continue;
		*value++ = '\0';
		rc = one(t, address, line, value);
	}
	free(copy);
	return rc;
}

static void own_user(struct fm_ssh_target *t)
{
	char space[4096];
	struct passwd entry, *found = NULL;

	if (getpwuid_r(getuid(), &entry, space, sizeof space, &found) == 0 && found != NULL)
		snprintf(t->user, sizeof t->user, "%s", entry.pw_name);
}

int fm_ssh_target_parse(const struct fm_system *system, const char *text, struct fm_ssh_target *out)
{
	const char *address = system->address != NULL ? system->address : system->name;
	char *path;
	int rc = FM_OK;

	memset(out, 0, sizeof *out);
	snprintf(out->hostname, sizeof out->hostname, "%s", address);
	out->port = 22;
	out->family = AF_UNSPEC;
	out->asked = text != NULL;
	own_user(out);
	if (text != NULL)
		rc = each_line(out, address, text, take_first);
	if (system->user != NULL)
		snprintf(out->user, sizeof out->user, "%s", system->user);
	if (system->port != 0)
		out->port = system->port;
	if (rc == FM_OK)
		rc = set_agent(out, "SSH_AUTH_SOCK");
	if (rc == FM_OK && system->identity != NULL) {
		path = expand(system->identity, out, address);
		if (path == NULL || access(path, R_OK) != 0)
			rc = fm_fail(
			        FM_ERR_CONFIG, "identity = %s cannot be read", system->identity);
		else
			rc = add_identity(out, path);
		free(path);
	}
	if (rc == FM_OK && text != NULL)
		rc = each_line(out, address, text, take_rest);
	if (rc == FM_OK && system->jump != NULL) {
		free(out->proxy_command);
		out->proxy_command = NULL;
		rc = set_text(&out->jump, system->jump);
	}
	if (rc != FM_OK)
		fm_ssh_target_free(out);
	return rc;
}

void fm_ssh_target_free(struct fm_ssh_target *t)
{
	for (size_t i = 0; i < t->identity_count; i++)
		free(t->identity[i]);
	for (size_t i = 0; i < t->known_hosts_count; i++)
		free(t->known_hosts[i]);
	free(t->agent);
	free(t->host_key_alias);
	free(t->jump);
	free(t->proxy_command);
	memset(t, 0, sizeof *t);
}

static void run_child(int out, int err, char *const argv[])
{
	int null = open("/dev/null", O_RDONLY);

	fm_transport_child();
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	execvp(argv[0], argv);
	_exit(NOT_THERE);
}

static int read_answer(int fd, struct fm_buf *answer, int wake, uint64_t deadline)
{
	for (;;) {
		struct pollfd p = {fd, POLLIN, 0};
		char piece[4096];
		int rc = fm_transport_wait(&p, 1, wake, deadline);
		ssize_t n;

		if (rc != FM_OK)
			return rc;
		n = read(fd, piece, sizeof piece);
		if (n == 0)
			return FM_OK;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return fm_fail_errno("ssh -G");
		if (n > 0)
			rc = fm_buf_put(answer, piece, (size_t)n);
		if (rc != FM_OK)
			return fm_fail(
			        FM_ERR_CONFIG, "ssh -G answers more than %u bytes", ANSWER_MAX);
	}
}

/* Standard output and error of the child end in one pipe: the answer when it succeeds, the reason
 * when not. */
static int ask(char *const argv[], struct fm_buf *answer, int *status, int wake, uint64_t deadline)
{
	int fd[2];
	pid_t pid;
	int rc;

	if (pipe2(fd, O_CLOEXEC) != 0)
		return fm_fail_errno("ssh -G: pipe");
	pid = fork();
	if (pid == 0)
		run_child(fd[1], fd[1], argv);
	close(fd[1]);
	rc = pid < 0 ? fm_fail_errno("ssh -G: fork") : read_answer(fd[0], answer, wake, deadline);
	close(fd[0]);
	if (pid > 0)
		*status = fm_transport_reap(pid, rc == FM_OK ? deadline : 0);
	return rc;
}

int fm_ssh_resolve(
        const struct fm_system *system, struct fm_ssh_target *out, int wake, uint64_t deadline)
{
	struct fm_buf answer = FM_BUF_INIT(ANSWER_MAX);
	const char *address = system->address != NULL ? system->address : system->name;
	char port[8], shown[400];
	/* execvp takes char *const: these outlive the blocks below */
	char ssh[] = "ssh", ask_only[] = "-G", with_port[] = "-p", with_user[] = "-l";
	char *argv[8] = {ssh, ask_only};
	int n = 2, status = 0, rc;

	memset(out, 0, sizeof *out);
	if (address[0] == '-')
		return fm_fail(FM_ERR_CONFIG, "address %s", address);
	snprintf(port, sizeof port, "%d", system->port);
	if (system->port != 0) {
		argv[n++] = with_port;
		argv[n++] = port;
	}
	if (system->user != NULL) {
		argv[n++] = with_user;
		argv[n++] = system->user;
	}
	argv[n++] = (char *)(uintptr_t)address;
	argv[n] = NULL;
	if (fm_now_ns() + ASK_WAIT < deadline)
		deadline = fm_now_ns() + ASK_WAIT;
	rc = ask(argv, &answer, &status, wake, deadline);
	if (rc == FM_OK && WIFEXITED(status) && WEXITSTATUS(status) == NOT_THERE)
		rc = fm_ssh_target_parse(system, NULL, out);
	else if (rc == FM_OK && status != 0)
		rc = fm_fail(FM_ERR_CONFIG, "ssh -G %s: %s", address,
		        fm_escape(answer.data != NULL ? answer.data : "", answer.len, shown,
		                sizeof shown));
	else if (rc == FM_OK)
		rc = fm_ssh_target_parse(system, answer.data != NULL ? answer.data : "", out);
	else
		rc = fm_wrap(rc, "ssh -G %s", address);
	fm_buf_free(&answer);
	return rc;
}
