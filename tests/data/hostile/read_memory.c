/* read_memory.c: wants the memory, the descriptors and the end of the agent. */
#include "hostile.h"

static int attempt(void)
{
	char path[64], byte[16];
	struct iovec mine = {byte, sizeof byte}, theirs = {(void *)0x400000, sizeof byte};
	struct rlimit none = {0, 0};
	pid_t agent = getppid();
	int got = 0, fd, ends[2];

	snprintf(path, sizeof path, "/proc/%d/mem", (int)agent);
	if ((fd = open(path, O_RDONLY)) >= 0) {
		got = 1;
		close(fd);
	}
	snprintf(path, sizeof path, "/proc/%d/maps", (int)agent);
	if ((fd = open(path, O_RDONLY)) >= 0) {
		got |= read(fd, byte, sizeof byte) > 0;
		close(fd);
	}
	/* EFAULT would mean that it was allowed to look there */
	got |= process_vm_readv(agent, &mine, 1, &theirs, 1, 0) >= 0 || errno == EFAULT;
	got |= ptrace(PTRACE_SEIZE, agent, NULL, NULL) == 0;
	got |= syscall(434 /* pidfd_open */, agent, 0) >= 0;
	got |= kill(agent, 0) == 0;
	got |= syscall(SYS_prlimit64, agent, RLIMIT_CORE, &none, NULL) == 0;
	got |= prctl(PR_SET_PDEATHSIG, 0) == 0;
	if (pipe(ends) == 0) {
		got |= fcntl(ends[0], F_SETOWN, (int)agent) == 0;
		close(ends[0]);
		close(ends[1]);
	}
	return got;
}
