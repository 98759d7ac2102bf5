/* open_socket.c: wants to speak to somebody: network, local sockets, kernel, shared memory, io_uring. */
#include "hostile.h"

static int attempt(void)
{
	static const int families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK};
	char params[120] = {0};
	int pair[2], got = 0;

	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
		int fd = socket(families[i], families[i] == AF_NETLINK ? SOCK_RAW : SOCK_STREAM, 0);

		got |= fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	got |= socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
	got |= syscall(425 /* io_uring_setup */, 1, params) >= 0;
	got |= syscall(SYS_shmget, 0, 4096, 01000 | 0600) >= 0;
	return got;
}
