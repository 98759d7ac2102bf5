/* confine.c: closes what measured code has no business with, as far as this kernel can. */
#include "agent/worker/confine.h"

#include "agent/worker/calls.h"
#include "agent/worker/result.h"

#include <errno.h>
#include <fcntl.h>
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

/* The longest form of the ruleset; an older kernel takes it as long as what it does not know is 0.
 */
struct landlock_ruleset {
	uint64_t files, net, scoped;
};

struct landlock_rule {
	uint64_t rights;
	int32_t fd;
} __attribute__((packed));

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
	const struct landlock_ruleset rights = {.files = landlock_rights(abi),
	        .net = abi >= 4 ? 3u : 0,     /* bind, connect */
	        .scoped = abi >= 6 ? 3u : 0}; /* abstract sockets, signals to processes outside */
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

/* A host may be root's: what root can do beyond reading its own files goes, too. */
static void drop_capabilities(void)
{
	struct {
		uint32_t version;
		int32_t pid;
	} head = {0x20080522u /* version 3 */, 0};
	const struct {
		uint32_t effective, permitted, inheritable;
	} none[2] = {{0, 0, 0}, {0, 0, 0}};

	(void)syscall(SYS_capset, &head, none);
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
	drop_capabilities();
	if (!s->no_new_privs)
		return FM_OK;
	abi = syscall(NR_LANDLOCK_CREATE, NULL, 0, LANDLOCK_VERSION);
	if (abi > 0) {
		if ((rc = enter_landlock((int)abi, library_fd)) != FM_OK)
			return rc;
		s->landlock = (int)abi;
	}
	return fm_calls_enter(&s->seccomp);
}

int fm_confine_close_files(const struct fm_confine *s)
{
	if (s->landlock > 0)
		return enter_landlock(s->landlock, -1);
	return s->seccomp ? fm_calls_close_files() : FM_OK;
}

void fm_confine_tell(const struct fm_confine *s)
{
	fm_result_number("no_new_privs", s->no_new_privs);
	fm_result_number("seccomp", s->seccomp);
	fm_result_number("landlock", s->landlock);
}
