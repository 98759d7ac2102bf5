/* confine.c: closes what measured code has no business with, as far as this kernel can. */
#include "agent/worker/confine.h"

#include "agent/worker/result.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Landlock's calls and forms by number: headers of Linux 4.19 do not have them. The same on every
 * architecture. */
#define NR_LANDLOCK_CREATE   444
#define NR_LANDLOCK_ADD      445
#define NR_LANDLOCK_RESTRICT 446
#define LANDLOCK_VERSION     1u
#define LANDLOCK_BENEATH     1
#define LANDLOCK_EXECUTE     (1u << 0)
#define LANDLOCK_READ_FILE   (1u << 2)
#define LANDLOCK_READ_DIR    (1u << 3)
#define LANDLOCK_FS_1 \
	0x1fffu /* all file system rights of ABI 1; 2 adds REFER, 3 TRUNCATE, 5 IOCTL_DEV */

struct landlock_rule {
	uint64_t rights;
	int32_t fd;
} __attribute__((packed));

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

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE(nr, error)                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

/* Numbers that are the same on both architectures and newer than the oldest headers. */
#define NR_PIDFD_SEND_SIGNAL 424
#define NR_IO_URING_SETUP    425
#define NR_PIDFD_OPEN        434
#define NR_CLONE3            435
#define NR_PIDFD_GETFD       438

static int enter_seccomp(bool *in_force)
{
	const uint32_t self = (uint32_t)getpid();
	struct sock_filter filter[] = {
	        LOAD(arch),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	        LOAD(nr),
#ifdef __x86_64__
	        /* x32 calls carry this bit */
	        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	        REFUSE(SYS_fork, EAGAIN),
	        REFUSE(SYS_vfork, EAGAIN),
#endif
	        REFUSE(SYS_clone, EAGAIN),
	        REFUSE(NR_CLONE3, EAGAIN),
	        REFUSE(SYS_execve, EPERM),
	        REFUSE(SYS_execveat, EPERM),
	        REFUSE(SYS_socket, EPERM),
	        REFUSE(SYS_socketpair, EPERM),
	        REFUSE(SYS_ptrace, EPERM),
	        REFUSE(SYS_process_vm_readv, EPERM),
	        REFUSE(SYS_process_vm_writev, EPERM),
	        REFUSE(SYS_perf_event_open, EPERM),
	        REFUSE(SYS_bpf, EPERM),
	        REFUSE(SYS_keyctl, EPERM),
	        REFUSE(SYS_add_key, EPERM),
	        REFUSE(SYS_unshare, EPERM),
	        REFUSE(SYS_setns, EPERM),
	        REFUSE(SYS_mount, EPERM),
	        REFUSE(SYS_setsid, EPERM),
	        REFUSE(SYS_setpgid, EPERM),
	        REFUSE(SYS_sched_setaffinity, EPERM),
	        REFUSE(SYS_userfaultfd, EPERM),
	        REFUSE(NR_IO_URING_SETUP, ENOSYS),
	        REFUSE(NR_PIDFD_OPEN, EPERM),
	        REFUSE(NR_PIDFD_SEND_SIGNAL, EPERM),
	        REFUSE(NR_PIDFD_GETFD, EPERM),
	        REFUSE(SYS_tkill, EPERM),
	        REFUSE(SYS_rt_sigqueueinfo, EPERM),
	        /* kill and tgkill only to this process: abort() needs that */
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 1, 0),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 3),
	        LOAD(args[0]),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 1, 0),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};

	*in_force = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
	if (!*in_force && errno != ENOSYS && errno != EINVAL && errno != EPERM && errno != EACCES)
		return fm_fail_errno("seccomp filter");
	return FM_OK;
}

static uint64_t landlock_rights(int abi)
{
	uint64_t rights = LANDLOCK_FS_1;

	if (abi >= 2)
		rights |= 1u << 13;
	if (abi >= 3)
		rights |= 1u << 14;
	if (abi >= 5)
		rights |= 1u << 15;
	return rights;
}

/* A rule for a descriptor or path; what is not there needs no rule. */
static int allow(int ruleset, int fd, const char *path, uint64_t rights)
{
	struct landlock_rule rule = {rights, fd};
	int opened = -1, rc = FM_OK;

	if (path != NULL) {
		opened = open(path, O_PATH | O_CLOEXEC);
		if (opened < 0)
			return FM_OK;
		rule.fd = opened;
	}
	if (syscall(NR_LANDLOCK_ADD, ruleset, LANDLOCK_BENEATH, &rule, 0) != 0)
		rc = fm_fail_errno("landlock rule for %s", path == NULL ? "the library" : path);
	if (opened >= 0)
		close(opened);
	return rc;
}

/* library_fd -1: allow nothing. */
static int enter_landlock(int abi, int library_fd)
{
	static const char *const folders[] = {
	        "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"};
	const uint64_t rights = landlock_rights(abi);
	int ruleset = (int)syscall(NR_LANDLOCK_CREATE, &rights, sizeof rights, 0);
	int rc = FM_ERR_INTERNAL;

	if (ruleset < 0) {
		rc = fm_fail_errno("landlock ruleset");
		goto out;
	}
	if (library_fd >= 0) {
		if ((rc = allow(ruleset, library_fd, NULL,
		             LANDLOCK_READ_FILE | LANDLOCK_EXECUTE)) != FM_OK ||
		        (rc = allow(ruleset, -1, "/etc/ld.so.cache", LANDLOCK_READ_FILE)) != FM_OK)
			goto out;
		for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
			if ((rc = allow(ruleset, -1, folders[i],
			             LANDLOCK_READ_FILE | LANDLOCK_READ_DIR | LANDLOCK_EXECUTE)) !=
			        FM_OK)
				goto out;
	}
	rc = syscall(NR_LANDLOCK_RESTRICT, ruleset, 0) == 0 ? FM_OK
	                                                    : fm_fail_errno("landlock restrict");
out:
	if (ruleset >= 0)
		close(ruleset);
	return rc;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

int fm_confine_memory(uint64_t bytes)
{
#ifdef SANITIZED
	(void)bytes;
	return FM_OK;
#else
	const struct rlimit space = {(rlim_t)bytes, (rlim_t)bytes};
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* A full host ends this process before any other; no harm where it cannot be asked. */
	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		close(fd);
	}
	return setrlimit(RLIMIT_AS, &space) == 0 ? FM_OK : fm_fail_errno("setrlimit memory");
#endif
}

int fm_confine_enter(struct fm_confine *s, int library_fd)
{
	const struct rlimit none = {0, 0};
	long abi;
	int rc;

	*s = (struct fm_confine){false, false, 0};
	if (setrlimit(RLIMIT_CORE, &none) != 0)
		return fm_fail_errno("setrlimit core");
	(void)setrlimit(RLIMIT_NPROC, &none); /* where there is no seccomp; root is exempt */
	s->no_new_privs = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
	if (!s->no_new_privs)
		return FM_OK;
	abi = syscall(NR_LANDLOCK_CREATE, NULL, 0, LANDLOCK_VERSION);
	if (abi > 0) {
		if ((rc = enter_landlock((int)abi, library_fd)) != FM_OK)
			return rc;
		s->landlock = (int)abi;
	}
	return enter_seccomp(&s->seccomp);
}

int fm_confine_close_files(const struct fm_confine *s)
{
	return s->landlock > 0 ? enter_landlock(s->landlock, -1) : FM_OK;
}

void fm_confine_tell(const struct fm_confine *s)
{
	fm_result_number("no_new_privs", s->no_new_privs);
	fm_result_number("seccomp", s->seccomp);
	fm_result_number("landlock", s->landlock);
}
