/* sandbox.c: Landlock for builds: a source can take in any readable file (.incbin), so the key must
 * not be readable. */
#include "agent/sandbox.h"

#include <fcntl.h>
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
	uint64_t handled_fs;
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

void fm_sandbox_enter(const char *readable, const char *writable)
{
	static const char *const system_folders[] = {"/usr", "/lib", "/lib32", "/lib64", "/bin",
	        "/etc", "/opt", "/nix", "/proc/self", "/proc/meminfo", "/proc/cpuinfo",
	        "/sys/devices/system/cpu"};
	struct ll_ruleset attr = {LL_ALL_V1};
	long ruleset = syscall(LL_CREATE_RULESET, &attr, sizeof attr, 0);

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
