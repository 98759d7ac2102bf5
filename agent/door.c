/* door.c: the host lock and control door of a running job, both one abstract Unix socket. */
#include "agent/door.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define DOOR_NAME "fleetmark-agent.host"

static socklen_t door_address(struct sockaddr_un *un)
{
	const char *name = DOOR_NAME, *other = NULL;
	size_t len;

	memset(un, 0, sizeof *un);
	un->sun_family = AF_UNIX;
#ifdef FLEETMARK_TESTING
	/* Tests run beside each other; each may have a host of its own. */
	other = getenv("FLEETMARK_TEST_DOOR");
#endif
	if (other != NULL && other[0] != '\0')
		name = other;
	len = strlen(name);
	if (len > sizeof un->sun_path - 2)
		len = sizeof un->sun_path - 2;
	memcpy(un->sun_path + 1, name, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

int fm_door_take(struct fm_door *d, const char *who)
{
	struct sockaddr_un un;
	socklen_t len = door_address(&un);
	char holder[FM_HOST_TEXT];

	memset(d, 0, sizeof *d);
	snprintf(d->line, sizeof d->line, "%s\n", who);
	d->renewed_ns = fm_agent_boot_ns();
	d->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0)
		return fm_fail_errno("host lock");
	if (bind(d->fd, (struct sockaddr *)&un, len) != 0 || listen(d->fd, 8) != 0) {
		int busy = errno == EADDRINUSE;
		int rc = fm_fail_errno("host lock");

		close(d->fd);
		d->fd = -1;
		(void)fm_door_holder(holder);
		return busy ? fm_fail(FM_ERR_BUSY, "this host is held: %s", holder) : rc;
	}
	return FM_OK;
}

void fm_door_close(struct fm_door *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

static bool same_user(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

int fm_door_serve(struct fm_door *d)
{
	char word[16];
	struct pollfd p = {-1, POLLIN, 0};
	ssize_t n;
	int fd;

	if (d->fd < 0)
		return FM_OK;
	fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return d->cancelled ? fm_fail(FM_ERR_CANCELLED, "cancelled") : FM_OK;
	if (send(fd, d->line, strlen(d->line), MSG_NOSIGNAL) > 0 && same_user(fd)) {
		p.fd = fd;
		(void)poll(&p, 1, 200);
		n = recv(fd, word, sizeof word - 1, 0);
		word[n > 0 ? n : 0] = '\0';
		if (strcmp(word, "cancel\n") == 0)
			d->cancelled = true;
		else if (strcmp(word, "renew\n") == 0)
			d->renewed_ns = fm_agent_boot_ns();
	}
	close(fd);
	return d->cancelled ? fm_fail(FM_ERR_CANCELLED, "cancelled") : FM_OK;
}

/* Connects and reads the holder's line (without LF). -1 if nobody holds the host. */
static int visit(char text[FM_HOST_TEXT])
{
	struct sockaddr_un un;
	socklen_t len = door_address(&un);
	struct timeval patience = {5, 0};
	char line[400];
	size_t used = 0;
	ssize_t n;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(text, "none", 5);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&un, len) != 0) {
		close(fd);
		return -1;
	}
	memcpy(text, "unknown", 8);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	while (used < sizeof line && (n = recv(fd, line + used, sizeof line - used, 0)) > 0) {
		used += (size_t)n;
		if (line[used - 1] == '\n')
			break;
	}
	if (used > 0)
		fm_agent_clean(line, used, text);
	return fd;
}

bool fm_door_holder(char text[FM_HOST_TEXT])
{
	int fd = visit(text);

	if (fd >= 0) {
		(void)shutdown(fd, SHUT_WR);
		close(fd);
	}
	return fd >= 0;
}

int fm_door_refuse_busy(const char *what)
{
	char holder[FM_HOST_TEXT];

	if (!fm_door_holder(holder))
		return FM_OK;
	return fm_fail(FM_ERR_BUSY, "%s waits: a job holds this host (%s)", what, holder);
}

int fm_door_tell(const char *campaign, const char *word)
{
	char text[FM_HOST_TEXT], want[100], line[16];
	int fd = visit(text), rc = FM_ERR_REFUSED;
	size_t len;

	snprintf(want, sizeof want, "campaign=%s ", campaign);
	if (fd < 0 || strstr(text, want) == NULL) {
		rc = fm_fail(FM_ERR_REFUSED, "campaign %s does not hold this host (holder: %s)",
		        campaign, text);
	} else {
		len = (size_t)snprintf(line, sizeof line, "%s\n", word);
		rc = send(fd, line, len, MSG_NOSIGNAL) == (ssize_t)len ? FM_OK
		                                                       : fm_fail_errno("host lock");
	}
	if (fd >= 0)
		close(fd);
	return rc;
}
