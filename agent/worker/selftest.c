/* selftest.c: the task selftest, and the 1 GiB message of KAT_2_33, made once per host. */
#include "agent/worker/selftest.h"

#include "agent/worker/drng.h"
#include "agent/worker/host.h"
#include "agent/worker/kat.h"
#include "agent/worker/result.h"
#include "protocol/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SPARE_KIB  (256 * 1024) /* beside the messages: the candidate and this program */
#define SPARE_DISK ((uint64_t)256 << 20)

static int check_digest(const unsigned char *msg, const char *what)
{
	char hex[65];

	fm_sha256_hex(msg, FM_KAT_LONG_BYTES, hex);
	if (strcmp(hex, FM_DRNG_2_33_SHA256) != 0)
		return fm_fail(FM_ERR_DIGEST, "%s: SHA-256 of the 1 GiB message is %s, must be %s",
		        what, hex, FM_DRNG_2_33_SHA256);
	return FM_OK;
}

/* MemAvailable of /proc/meminfo in KiB, -1 if unknown. */
static int64_t available_kib(void)
{
	char text[4096];
	const char *line;

	if (fm_host_read("/proc/meminfo", text, sizeof text) != FM_OK ||
	        (line = strstr(text, "MemAvailable:")) == NULL)
		return -1;
	return strtoll(line + strlen("MemAvailable:"), NULL, 10);
}

static int check_memory(size_t messages)
{
	const int64_t needed = (int64_t)(messages * (FM_KAT_LONG_BYTES / 1024)) + SPARE_KIB;
	int64_t there = available_kib();

	if (there >= 0 && there < needed)
		return fm_fail(FM_ERR_MEMORY,
		        "KAT_2_33 needs %" PRId64 " MiB of memory, %" PRId64 " are available",
		        needed / 1024, there / 1024);
	return FM_OK;
}

static int map_file(const char *path, const unsigned char **out)
{
	struct stat st;
	void *map = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int rc = FM_ERR_INTERNAL;

	if (fd < 0 || fstat(fd, &st) != 0) {
		rc = fm_fail_errno("opening %s", path);
		goto out;
	}
	if (!S_ISREG(st.st_mode) || st.st_size != (off_t)FM_KAT_LONG_BYTES) {
		rc = fm_fail(FM_ERR_DIGEST, "%s is not the file of 1 GiB that the self-test makes",
		        path);
		goto out;
	}
	map = mmap(NULL, FM_KAT_LONG_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED) {
		rc = fm_fail_errno("mapping %s", path);
		goto out;
	}
	if ((rc = check_digest(map, path)) != FM_OK)
		goto out;
	*out = map;
	map = MAP_FAILED;
out:
	if (map != MAP_FAILED)
		munmap(map, FM_KAT_LONG_BYTES);
	if (fd >= 0)
		close(fd);
	return rc;
}

static void fill(unsigned char *msg)
{
	struct fm_drng drng;

	fm_drng_init_tag(&drng, "KAT_2_33");
	fm_drng_get(&drng, msg, 8 * (uint64_t)FM_KAT_LONG_BYTES);
}

int fm_selftest_map_message(const char *path, const unsigned char **out)
{
	unsigned char *map;
	int rc;

	*out = NULL;
	if ((rc = check_memory(path == NULL ? 2 : 1)) != FM_OK)
		return rc;
	if (path != NULL)
		return map_file(path, out);
	map = mmap(NULL, FM_KAT_LONG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	        0);
	if (map == MAP_FAILED)
		return fm_fail_errno("1 GiB for KAT_2_33");
	fill(map);
	if ((rc = check_digest(map, "generator")) != FM_OK ||
	        mprotect(map, FM_KAT_LONG_BYTES, PROT_READ) != 0) {
		munmap(map, FM_KAT_LONG_BYTES);
		return rc != FM_OK ? rc : fm_fail_errno("mprotect");
	}
	*out = map;
	return FM_OK;
}

/* Disk below the folder of path, and memory for the gate that will map it. */
static int check_room(const char *path)
{
	const uint64_t needed = FM_KAT_LONG_BYTES + SPARE_DISK;
	struct statvfs disk;
	char *folder = fm_strdup(path), *slash = folder == NULL ? NULL : strrchr(folder, '/');
	int rc = FM_ERR_MEMORY;

	if (slash == NULL)
		goto out;
	slash[slash == folder] = '\0';
	if (statvfs(folder, &disk) != 0)
		rc = fm_fail_errno("asking for the free space of %s", folder);
	else if ((uint64_t)disk.f_bavail * disk.f_frsize < needed)
		rc = fm_fail(FM_ERR_MEMORY,
		        "KAT_2_33 needs %" PRIu64 " MiB of disk, %" PRIu64 " are free",
		        needed >> 20, ((uint64_t)disk.f_bavail * disk.f_frsize) >> 20);
	else
		rc = check_memory(1);
out:
	free(folder);
	return rc;
}

/* Makes the message in temporary (beside path), then renames it. */
static int make_file(const char *path, const char *temporary)
{
	int fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	unsigned char *map = MAP_FAILED;
	int rc = FM_ERR_INTERNAL;

	if (fd < 0) {
		rc = fm_fail_errno("creating %s", temporary);
		goto out;
	}
	if ((errno = posix_fallocate(fd, 0, (off_t)FM_KAT_LONG_BYTES)) != 0) {
		rc = fm_fail_errno("1 GiB for %s", temporary);
		goto out;
	}
	map = mmap(NULL, FM_KAT_LONG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		rc = fm_fail_errno("mapping %s", temporary);
		goto out;
	}
	fill(map);
	if ((rc = check_digest(map, "generator")) != FM_OK)
		goto out;
	if (msync(map, FM_KAT_LONG_BYTES, MS_SYNC) != 0 || fsync(fd) != 0 ||
	        rename(temporary, path) != 0)
		rc = fm_fail_errno("storing %s", path);
out:
	if (map != MAP_FAILED)
		munmap(map, FM_KAT_LONG_BYTES);
	if (fd >= 0)
		close(fd);
	if (rc != FM_OK)
		unlink(temporary);
	return rc;
}

static int keep_message(const char *path)
{
	const unsigned char *map;
	char *temporary;
	int rc;

	if (access(path, F_OK) == 0) {
		if ((rc = check_memory(1)) != FM_OK)
			return rc;
		if ((rc = map_file(path, &map)) == FM_OK)
			return FM_OK;
		if (rc != FM_ERR_DIGEST)
			return rc; /* else it is wrong and made again */
	}
	if ((rc = check_room(path)) != FM_OK)
		return rc;
	if ((temporary = fm_sprintf("%s.part", path)) == NULL)
		return FM_ERR_MEMORY;
	rc = make_file(path, temporary);
	free(temporary);
	return rc;
}

void fm_selftest_run(const struct fm_order *o)
{
	int rc;

	if (fm_drng_selftest() != FM_OK)
		fm_result_fail("drng");
	fm_result_fact("drng", "ok");
	if (fm_drng_selftest_messages() != FM_OK)
		fm_result_fail("drng");
	fm_result_fact("messages", "ok");
	if (o->message_file == NULL) {
		fm_result_fact("message_2_33", "not run");
		fm_result_ok();
	}
	if ((rc = keep_message(o->message_file)) != FM_OK)
		fm_result_fail(rc == FM_ERR_MEMORY ? "memory" : "system");
	fm_result_fact("message_2_33", "ok");
	fm_result_ok();
}
