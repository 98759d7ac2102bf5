/* facts.c: reads what this machine is: identity, processor, memory, emulator, tools. */
#include "agent/facts.h"
#include "agent/spawn.h"
#include "protocol/hostfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

int fm_facts_text(const char *path, char *out, size_t size)
{
	return fm_hostfile_read(path, out, size);
}

bool fm_facts_line(const char *path, char out[FM_HOST_TEXT])
{
	char text[1024];
	int n = fm_facts_text(path, text, sizeof text);

	if (n > 0)
		fm_agent_clean(text, strcspn(text, "\n"), out);
	if (n <= 0 || out[0] == '\0') {
		memcpy(out, "unknown", 8);
		return false;
	}
	return true;
}

bool fm_facts_key(const char *path, const char *key, char out[FM_HOST_TEXT])
{
	char text[8192], *line = text;
	size_t len = strlen(key);

	memcpy(out, "unknown", 8);
	if (fm_facts_text(path, text, sizeof text) <= 0)
		return false;
	while (line != NULL && *line != '\0') {
		char *colon = line + len;

		if (strncmp(line, key, len) == 0) {
			while (*colon == ' ' || *colon == '\t')
				colon++;
			if (*colon == ':' || *colon == '=') {
				colon += 1 + (colon[1] == '"');
				fm_agent_clean(colon, strcspn(colon, "\"\n"), out);
				return out[0] != '\0';
			}
		}
		line = strchr(line, '\n');
		line = line == NULL ? NULL : line + 1;
	}
	return false;
}

int fm_facts_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : (int)n;
}

int fm_facts_cpu_last(void)
{
	cpu_set_t *set = CPU_ALLOC(4096);
	size_t size = CPU_ALLOC_SIZE(4096);
	int last = 0;

	if (set == NULL)
		return 0;
	CPU_ZERO_S(size, set);
	if (sched_getaffinity(0, size, set) == 0)
		for (int i = 0; i < 4096; i++)
			if (CPU_ISSET_S((size_t)i, size, set))
				last = i;
	CPU_FREE(set);
	return last;
}

static void tagged_digest(const char *tag, const char *text, char hex[65])
{
	struct fm_sha256 h;

	fm_sha256_start(&h);
	fm_sha256_add(&h, tag, strlen(tag) + 1);
	fm_sha256_add(&h, text, strlen(text));
	fm_sha256_end(&h, hex);
}

void fm_facts_boot(char hex[65])
{
	char id[FM_HOST_TEXT];

	(void)fm_facts_line("/proc/sys/kernel/random/boot_id", id);
	tagged_digest("fleetmark-boot.v1", id, hex);
}

/* machine-id, or a random number kept in the work folder where there is none. */
static int machine(const struct fm_agent *a, char hex[65])
{
	struct fm_buf text = FM_BUF_INIT(64);
	char id[FM_HOST_TEXT], made[33];
	int rc = FM_OK;

	if (!fm_facts_line("/etc/machine-id", id) &&
	        !fm_facts_line("/var/lib/dbus/machine-id", id)) {
		rc = fm_fs_read(a->dir, "machine-id", 64, &text);
		if (rc != FM_OK && errno == ENOENT) {
			fm_random_hex(16, made);
			rc = fm_fs_create(a->dir, "machine-id", made, 32, 0600);
			fm_agent_clean(made, 32, id);
		} else if (rc == FM_OK) {
			fm_agent_clean(text.data == NULL ? "" : text.data, text.len, id);
		}
	}
	tagged_digest("fleetmark-machine.v1", id, hex);
	fm_buf_free(&text);
	return rc;
}

/* In a child: the program that really runs the parent, and whether it is QEMU (its version text is
 * in it). */
static void look_at_parent(const char *link, int out)
{
	static char piece[1u << 16];
	char seen[600];
	ssize_t n = readlink(link, seen + 1, sizeof seen - 2);
	size_t kept = 0;
	int fd = open(link, O_RDONLY | O_CLOEXEC);

	seen[0] = '-';
	while (fd >= 0 && seen[0] == '-') {
		ssize_t got = read(fd, piece + kept, sizeof piece - kept);

		if (got <= 0)
			break;
		kept += (size_t)got;
		if (memmem(piece, kept, "QEMU_", 5) != NULL ||
		        memmem(piece, kept, "qemu-", 5) != NULL)
			seen[0] = 'q';
		if (kept > 16) { /* what may be the beginning of the word */
			memmove(piece, piece + kept - 16, 16);
			kept = 16;
		}
	}
	_exit(n > 0 && write(out, seen, (size_t)n + 1) == n + 1 ? 0 : 1);
}

/* A user-mode emulator shows its guest's path as /proc/self/exe, but only to the process itself: a
 * child that asks for the parent's sees the emulator. Writes the emulator's name, or "none". */
static void user_emulator(const struct fm_agent *a, char out[32])
{
	char path[64], seen[600] = "", arch[FM_HOST_TEXT];
	int fd[2];
	ssize_t n = 0;
	pid_t pid;

	memcpy(out, "none", 5);
	snprintf(path, sizeof path, "/proc/%ld/exe", (long)getpid());
	if (pipe2(fd, O_CLOEXEC) != 0)
		return;
	pid = fork();
	if (pid == 0)
		look_at_parent(path, fd[1]);
	close(fd[1]);
	if (pid > 0) {
		n = read(fd[0], seen, sizeof seen - 1);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(fd[0]);
	seen[n > 0 ? n : 0] = '\0';
	if (n > 1 && strcmp(seen + 1, a->self) != 0 && strstr(seen, " (deleted)") == NULL)
		snprintf(out, 32, "%s", seen[0] == 'q' ? "qemu-user" : "user-mode");
	else if (fm_facts_line("/proc/sys/kernel/arch", arch) && strcmp(arch, FM_ARCH) != 0)
		snprintf(out, 32, "user-mode");
}

/* Whether a node of the device tree is compatible with that; false also where there is no tree. */
static bool compatible(const char *path, const char *with)
{
	char list[400];
	int n = fm_facts_text(path, list, sizeof list);

	return n > 0 && memmem(list, (size_t)n + 1, with, strlen(with) + 1) != NULL;
}

static bool virt_board(void)
{
	return compatible("/proc/device-tree/compatible", "linux,dummy-virt");
}

/* QEMU's machine "virt" under KVM has cores "arm,arm-v8", the host's own; emulated ones have a
 * model. Where firmware gives tables instead of a device tree, the product says which it is. */
static bool virt_without_kvm(void)
{
	char product[FM_HOST_TEXT];

	if (virt_board())
		return !compatible("/proc/device-tree/cpus/cpu@0/compatible", "arm,arm-v8");
	return fm_facts_line("/sys/class/dmi/id/product_name", product) &&
	       strcmp(product, "QEMU Virtual Machine") == 0;
}

void fm_facts_machine_emulator(char out[32])
{
	memcpy(out, "none", 5);
#if defined(__x86_64__)
	unsigned a = 0, r[3] = {0, 0, 0};

	if (__get_cpuid(1, &a, &r[0], &r[1], &r[2]) && (r[1] & (1u << 31)) != 0) {
		__cpuid(0x40000000, a, r[0], r[1], r[2]);
		if (memcmp(r, "TCGTCGTCGTCG", 12) == 0)
			memcpy(out, "qemu-tcg", 9);
	}
#endif
	char midr[FM_HOST_TEXT];

	if (virt_without_kvm() ||
	        (fm_facts_line("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", midr) &&
	                strncmp(midr, "0x00000000000f", 14) == 0))
		memcpy(out, "qemu-tcg", 9);
}

static int virtual_machine(void)
{
	char flags[8192], vendor[FM_HOST_TEXT];

	if (fm_facts_text("/proc/cpuinfo", flags, sizeof flags) > 0 &&
	        strstr(flags, " hypervisor") != NULL)
		return 1;
	if (virt_board())
		return 1;
	if (!fm_facts_line("/sys/class/dmi/id/sys_vendor", vendor))
		return 0;
	return strstr(vendor, "QEMU") != NULL || strstr(vendor, "VMware") != NULL ||
	       strstr(vendor, "Amazon EC2") != NULL || strstr(vendor, "Google") != NULL;
}

/* "model name", or the numbers of an Arm core's MIDR. */
static void cpu_model(struct fm_host_facts *f)
{
	char implementer[FM_HOST_TEXT], part[FM_HOST_TEXT], variant[FM_HOST_TEXT],
	        revision[FM_HOST_TEXT], text[1000];

	(void)fm_facts_key("/proc/cpuinfo", "microcode", f->microcode);
	if (fm_facts_key("/proc/cpuinfo", "model name", f->cpu_model))
		return;
	if (!fm_facts_key("/proc/cpuinfo", "CPU implementer", implementer))
		return;
	(void)fm_facts_key("/proc/cpuinfo", "CPU part", part);
	(void)fm_facts_key("/proc/cpuinfo", "CPU variant", variant);
	(void)fm_facts_key("/proc/cpuinfo", "CPU revision", revision);
	snprintf(text, sizeof text, "implementer %.40s part %.40s variant %.40s revision %.40s",
	        implementer, part, variant, revision);
	fm_agent_clean(text, strlen(text), f->cpu_model);
}

static void tools(struct fm_host_facts *f)
{
	static const char *const names[] = {"gcc", "tar", "as", "ld"};
	static const char *const env[] = {"LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin", NULL};
	struct fm_command what = {.env = env,
	        .cwd = -1,
	        .input = -1,
	        .order = -1,
	        .output_max = 1000,
	        .timeout_ms = 20000};
	const char *argv[3] = {NULL, "--version", NULL};
	struct fm_child child = {.out_fd = -1, .result_fd = -1};

	memcpy(f->compiler, "unknown", 8);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char *path = fm_child_find(names[i]);

		if (path == NULL) {
			f->missing[f->missing_count++] = names[i];
		} else if (i == 0) {
			argv[0] = path;
			what.argv = argv;
			if (fm_child_run(&what, &child) == FM_OK && child.output.len > 0)
				fm_agent_clean(child.output.data, strcspn(child.output.data, "\n"),
				        f->compiler);
			fm_child_free(&child);
		}
		free(path);
	}
}

static void libsodium(struct fm_host_facts *f)
{
	char *maps = fm_alloc(1u << 18);

	snprintf(f->libsodium, sizeof f->libsodium, "%s", fm_crypto_version());
	memcpy(f->libsodium_link, "static", 7);
	if (maps != NULL && fm_facts_text("/proc/self/maps", maps, 1u << 18) > 0 &&
	        strstr(maps, "libsodium.so") != NULL)
		memcpy(f->libsodium_link, "shared", 7);
	free(maps);
}

int fm_facts_read(const struct fm_agent *a, struct fm_host_facts *out)
{
	struct utsname name;
	struct statvfs disk;
	char text[FM_HOST_TEXT];
	int rc;

	memset(out, 0, sizeof *out);
	if ((rc = fm_fs_sha256(AT_FDCWD, a->self, out->agent_sha256, NULL)) != FM_OK ||
	        (rc = fm_fs_sha256(AT_FDCWD, a->worker, out->worker_sha256, NULL)) != FM_OK ||
	        (rc = machine(a, out->machine)) != FM_OK)
		return fm_wrap(rc, "facts");
	fm_facts_boot(out->boot);
	libsodium(out);
	cpu_model(out);
	if (!fm_facts_key("/etc/os-release", "PRETTY_NAME", out->os))
		memcpy(out->os, "unknown", 8);
	memcpy(out->kernel, "unknown", 8);
	if (uname(&name) == 0)
		fm_agent_clean(name.release, strlen(name.release), out->kernel);
	out->memory_kib = out->free_kib = -1;
	if (fm_facts_key("/proc/meminfo", "MemTotal", text))
		out->memory_kib = strtoll(text, NULL, 10);
	if (fstatvfs(a->dir, &disk) == 0)
		out->free_kib = (int64_t)((uint64_t)disk.f_bavail * disk.f_frsize / 1024);
	out->logical_cpus = fm_facts_cpus();
	out->cpu_last = fm_facts_cpu_last();
	out->virtual_machine = virtual_machine();
	user_emulator(a, out->emulator);
	if (strcmp(out->emulator, "none") == 0)
		fm_facts_machine_emulator(out->emulator);
	tools(out);
	return FM_OK;
}
