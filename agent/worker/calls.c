/* calls.c: the system calls that measured code may not make, as a seccomp filter. */
#include "agent/worker/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "fleetmark measures on x86-64 and aarch64"
#endif

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000u
#endif

#define FILTER_MAX 400

/* Numbers that are the same on both architectures and newer than the oldest headers. */
enum newer {
	NR_PIDFD_SEND_SIGNAL = 424,
	NR_IO_URING_SETUP = 425,
	NR_OPEN_TREE = 428,
	NR_FSOPEN = 430,
	NR_PIDFD_OPEN = 434,
	NR_CLONE3 = 435,
	NR_OPENAT2 = 437,
	NR_PIDFD_GETFD = 438,
	NR_PROCESS_MADVISE = 440,
	NR_FCHMODAT2 = 452,
};

struct refused {
	unsigned nr, error;
};

static const struct refused never[] = {
/* new processes and programs */
#ifdef __x86_64__
        {SYS_fork, EAGAIN},
        {SYS_vfork, EAGAIN},
#endif
        {SYS_clone, EAGAIN},
        {NR_CLONE3, EAGAIN},
        {SYS_execve, EPERM},
        {SYS_execveat, EPERM},
        /* talking to anybody */
        {SYS_socket, EPERM},
        {SYS_socketpair, EPERM},
        {SYS_connect, EPERM},
        {SYS_bind, EPERM},
        {NR_IO_URING_SETUP, ENOSYS},
        {SYS_shmget, EPERM},
        {SYS_shmat, EPERM},
        {SYS_msgget, EPERM},
        {SYS_semget, EPERM},
        {SYS_mq_open, EPERM},
        /* other processes */
        {SYS_ptrace, EPERM},
        {SYS_process_vm_readv, EPERM},
        {SYS_process_vm_writev, EPERM},
        {NR_PROCESS_MADVISE, EPERM},
        {NR_PIDFD_OPEN, EPERM},
        {NR_PIDFD_SEND_SIGNAL, EPERM},
        {NR_PIDFD_GETFD, EPERM},
        {SYS_tkill, EPERM},
        {SYS_rt_sigqueueinfo, EPERM},
        {SYS_rt_tgsigqueueinfo, EPERM},
        {SYS_kcmp, EPERM},
        {SYS_migrate_pages, EPERM},
        {SYS_move_pages, EPERM},
        {SYS_setpriority, EPERM},
        {SYS_ioprio_set, EPERM},
        {SYS_sched_setparam, EPERM},
        {SYS_sched_setscheduler, EPERM},
        {SYS_sched_setattr, EPERM},
        {SYS_sched_setaffinity, EPERM},
        {SYS_setsid, EPERM},
        {SYS_setpgid, EPERM},
        /* the kernel */
        {SYS_perf_event_open, EPERM},
        {SYS_bpf, EPERM},
        {SYS_keyctl, EPERM},
        {SYS_add_key, EPERM},
        {SYS_request_key, EPERM},
        {SYS_unshare, EPERM},
        {SYS_setns, EPERM},
        {SYS_mount, EPERM},
        {SYS_umount2, EPERM},
        {SYS_pivot_root, EPERM},
        {SYS_chroot, EPERM},
        {NR_OPEN_TREE, EPERM},
        {NR_FSOPEN, EPERM},
        {SYS_userfaultfd, EPERM},
        {SYS_name_to_handle_at, EPERM},
        {SYS_open_by_handle_at, EPERM},
        {SYS_fanotify_init, EPERM},
        {SYS_inotify_init1, EPERM},
/* changes in the file system; Landlock does not know the modes, owners and times of files */
#ifdef __x86_64__
        {SYS_creat, EPERM},
        {SYS_mkdir, EPERM},
        {SYS_rmdir, EPERM},
        {SYS_unlink, EPERM},
        {SYS_rename, EPERM},
        {SYS_link, EPERM},
        {SYS_symlink, EPERM},
        {SYS_mknod, EPERM},
        {SYS_chmod, EPERM},
        {SYS_chown, EPERM},
        {SYS_lchown, EPERM},
        {SYS_utime, EPERM},
        {SYS_utimes, EPERM},
        {SYS_futimesat, EPERM},
        {SYS_inotify_init, EPERM},
#endif
#ifdef SYS_renameat
        {SYS_renameat, EPERM},
#endif
        {SYS_renameat2, EPERM},
        {SYS_mkdirat, EPERM},
        {SYS_unlinkat, EPERM},
        {SYS_linkat, EPERM},
        {SYS_symlinkat, EPERM},
        {SYS_mknodat, EPERM},
        {SYS_truncate, EPERM},
        {SYS_fchmod, EPERM},
        {SYS_fchmodat, EPERM},
        {NR_FCHMODAT2, EPERM},
        {SYS_fchown, EPERM},
        {SYS_fchownat, EPERM},
        {SYS_utimensat, EPERM},
        {SYS_setxattr, EPERM},
        {SYS_lsetxattr, EPERM},
        {SYS_fsetxattr, EPERM},
        {SYS_removexattr, EPERM},
        {SYS_lremovexattr, EPERM},
        {SYS_fremovexattr, EPERM},
        {NR_OPENAT2, ENOSYS},
};

static const struct refused opening[] = {
#ifdef __x86_64__
        {SYS_open, EACCES},
#endif
        {SYS_openat, EACCES},
};

struct program {
	struct sock_filter code[FILTER_MAX];
	size_t len;
};

static void put(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	if (p->len < FILTER_MAX) /* a table that does not fit makes a filter the kernel refuses */
		p->code[p->len++] = (struct sock_filter){code, yes, no, k};
}

static void load(struct program *p, size_t offset)
{
	put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void when(struct program *p, uint32_t value, uint8_t yes, uint8_t no)
{
	put(p, BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}

static void ret(struct program *p, uint32_t what)
{
	put(p, BPF_RET | BPF_K, what, 0, 0);
}

static void head(struct program *p)
{
	p->len = 0;
	load(p, offsetof(struct seccomp_data, arch));
	when(p, ARCH, 1, 0);
	ret(p, SECCOMP_RET_KILL_PROCESS);
	load(p, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
	/* x32 calls carry this bit */
	put(p, BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1);
	ret(p, SECCOMP_RET_KILL_PROCESS);
#endif
}

static void refuse(struct program *p, const struct refused *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		when(p, list[i].nr, 0, 1);
		ret(p, SECCOMP_RET_ERRNO | list[i].error);
	}
}

/* Only with this value of an argument. */
static void only(struct program *p, unsigned nr, unsigned argument, uint32_t value)
{
	when(p, nr, 0, 4);
	load(p, offsetof(struct seccomp_data, args) + 8 * argument);
	when(p, value, 1, 0);
	ret(p, SECCOMP_RET_ERRNO | EPERM);
	ret(p, SECCOMP_RET_ALLOW);
}

/* Not with any of these bits in an argument. */
static void without(struct program *p, unsigned nr, unsigned argument, uint32_t bits)
{
	when(p, nr, 0, 4);
	load(p, offsetof(struct seccomp_data, args) + 8 * argument);
	put(p, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	ret(p, SECCOMP_RET_ERRNO | EPERM);
	ret(p, SECCOMP_RET_ALLOW);
}

static int install(const struct program *p, bool *in_force)
{
	struct sock_fprog program = {
	        .len = (unsigned short)p->len, .filter = (struct sock_filter *)(uintptr_t)p->code};

	*in_force = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
	if (!*in_force && errno != ENOSYS && errno != EINVAL && errno != EPERM && errno != EACCES)
		return fm_fail_errno("seccomp filter");
	return FM_OK;
}

int fm_calls_enter(bool *in_force)
{
	const uint32_t self = (uint32_t)getpid();
	const uint32_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
	struct program p;

	head(&p);
	refuse(&p, never, sizeof never / sizeof never[0]);
#ifdef __x86_64__
	without(&p, SYS_open, 1, writing);
#endif
	without(&p, SYS_openat, 2, writing);
	/* abort() sends a signal to its own process */
	only(&p, SYS_kill, 0, self);
	only(&p, SYS_tgkill, 0, self);
	only(&p, SYS_prlimit64, 0, 0);
	/* the signal that the agent's end sends */
	when(&p, SYS_prctl, 0, 4);
	load(&p, offsetof(struct seccomp_data, args));
	when(&p, PR_SET_PDEATHSIG, 0, 1);
	ret(&p, SECCOMP_RET_ERRNO | EPERM);
	ret(&p, SECCOMP_RET_ALLOW);
	/* signals to the owner of a pipe, who may be anybody */
	when(&p, SYS_fcntl, 0, 6);
	load(&p, offsetof(struct seccomp_data, args) + 8);
	when(&p, F_SETOWN, 2, 0);
	when(&p, F_SETOWN_EX, 1, 0);
	when(&p, F_SETSIG, 0, 1);
	ret(&p, SECCOMP_RET_ERRNO | EPERM);
	ret(&p, SECCOMP_RET_ALLOW);
	ret(&p, SECCOMP_RET_ALLOW);
	return install(&p, in_force);
}

int fm_calls_close_files(void)
{
	struct program p;
	bool in_force;

	head(&p);
	refuse(&p, opening, sizeof opening / sizeof opening[0]);
	ret(&p, SECCOMP_RET_ALLOW);
	return install(&p, &in_force);
}
