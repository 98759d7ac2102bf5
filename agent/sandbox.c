/* sandbox.c: walls for builds: a source can take in any readable file (.incbin), so the key must
 * not be readable; and a compiler needs neither the network nor other processes. */
#include "agent/sandbox.h"

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

/* The kernel's interface, written down here because headers of older systems lack it
 * (linux/landlock.h). */
#define LL_CREATE_RULESET 444
#define LL_ADD_RULE       445
#define LL_RESTRICT_SELF  446
#define LL_VERSION        1u
#define LL_PATH_BENEATH   1
#define LL_EXECUTE        (1u << 0)
#define LL_WRITE_FILE     (1u << 1)
#define LL_READ_FILE      (1u << 2)
#define LL_READ_DIR       (1u << 3)
#define LL_ALL_V1         ((1u << 13) - 1)
#define LL_READ           (LL_EXECUTE | LL_READ_FILE | LL_READ_DIR)

struct ll_ruleset {
	uint64_t handled_fs, handled_net, scoped;
};
struct ll_path {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

int fm_sandbox_abi(void)
{
	long abi = syscall(LL_CREATE_RULESET, NULL, 0, LL_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static void allow(int ruleset, const char *path, uint64_t rights)
{
	struct ll_path rule = {rights, -1};

	if (path == NULL)
		return;
	rule.fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.fd < 0)
		return;
	syscall(LL_ADD_RULE, ruleset, LL_PATH_BENEATH, &rule, 0);
	close(rule.fd);
}

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE(nr)                                       \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

/* Numbers that are the same on both architectures and newer than the oldest headers. */
#define NR_PIDFD_SEND_SIGNAL 424
#define NR_IO_URING_SETUP    425
#define NR_PIDFD_OPEN        434
#define NR_PIDFD_GETFD       438

/* Where the kernel has no filters nothing happens. */
static void enter_filter(void)
{
	struct sock_filter filter[] = {
	        LOAD(arch),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	        LOAD(nr),
#ifdef __x86_64__
	        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
#endif
	        REFUSE(SYS_socket),
	        REFUSE(SYS_socketpair),
	        REFUSE(SYS_ptrace),
	        REFUSE(SYS_process_vm_readv),
	        REFUSE(SYS_process_vm_writev),
	        REFUSE(SYS_bpf),
	        REFUSE(SYS_keyctl),
	        REFUSE(SYS_add_key),
	        REFUSE(SYS_unshare),
	        REFUSE(SYS_setns),
	        REFUSE(SYS_mount),
	        REFUSE(SYS_userfaultfd),
	        REFUSE(SYS_perf_event_open),
	        REFUSE(NR_PIDFD_SEND_SIGNAL),
	        REFUSE(NR_PIDFD_OPEN),
	        REFUSE(NR_PIDFD_GETFD),
	        REFUSE(NR_IO_URING_SETUP),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};

	(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

void fm_sandbox_enter(const char *readable, const char *writable)
{
	static const char *const system_folders[] = {"/usr", "/lib", "/lib32", "/lib64", "/bin",
	        "/etc", "/opt", "/nix", "/proc/self", "/proc/meminfo", "/proc/cpuinfo",
	        "/sys/devices/system/cpu"};
	int abi = fm_sandbox_abi();
	struct ll_ruleset attr = {LL_ALL_V1, abi >= 4 ? 3u : 0, abi >= 6 ? 3u : 0};
	long ruleset = abi > 0 ? syscall(LL_CREATE_RULESET, &attr, sizeof attr, 0) : -1;

	enter_filter();
	if (ruleset < 0)
		return;
	for (size_t i = 0; i < sizeof system_folders / sizeof system_folders[0]; i++)
		allow((int)ruleset, system_folders[i], LL_READ);
	allow((int)ruleset, "/dev/null", LL_READ_FILE | LL_WRITE_FILE);
	allow((int)ruleset, "/dev/urandom", LL_READ_FILE);
	allow((int)ruleset, readable, LL_READ);
	allow((int)ruleset, writable, LL_ALL_V1);
	if (syscall(LL_RESTRICT_SELF, ruleset, 0) != 0)
		_exit(126);
	close((int)ruleset);
}
