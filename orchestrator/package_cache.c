/* package_cache.c: the cache on this machine: packages under their digest, whole or not at all. */
#include "orchestrator/package.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PIECE  (256u << 10)
#define TIDY_S (24 * 3600) /* nobody unpacks that long */

static char *cache_path(void)
{
	const char *set = getenv("FLEETMARK_HOME"), *xdg = getenv("XDG_CACHE_HOME"),
	           *home = getenv("HOME");

	if (set != NULL && set[0] != '\0')
		return fm_sprintf("%s/cache", set);
	if (xdg != NULL && xdg[0] == '/')
		return fm_sprintf("%s/fleetmark", xdg);
	if (home != NULL && home[0] == '/')
		return fm_sprintf("%s/.cache/fleetmark", home);
	fm_fail(FM_ERR_CONFIG, "no folder for packages: set FLEETMARK_HOME or HOME");
	return NULL;
}

int fm_package_cache(char **path, int *fd)
{
	int sub = -1, rc;

	*fd = -1;
	if ((*path = cache_path()) == NULL)
		return FM_ERR_CONFIG;
	rc = fm_fs_mkdirs(AT_FDCWD, *path, 0700, fd);
	if (rc == FM_OK && (rc = fm_fs_mkdirs(*fd, "packages", 0700, &sub)) == FM_OK)
		close(sub);
	if (rc == FM_OK && (rc = fm_fs_mkdirs(*fd, "sources", 0700, &sub)) == FM_OK)
		close(sub);
	if (rc != FM_OK) {
		fm_wrap(rc, "the cache %s", *path);
		if (*fd >= 0)
			close(*fd);
		free(*path);
		*path = NULL;
		*fd = -1;
	}
	return rc;
}

void fm_package_part(const char *sha256, char *out)
{
	snprintf(out, 80, "packages/%.64s.part", sha256);
}

void fm_package_kept(const char *sha256, char *out)
{
	snprintf(out, 80, "packages/%.64s", sha256);
}

int fm_package_have(int cache, const char *sha256, bool *have)
{
	char name[80], hex[65];
	int rc;

	*have = false;
	fm_package_kept(sha256, name);
	if (faccessat(cache, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return FM_OK;
	if ((rc = fm_fs_sha256(cache, name, hex, NULL)) != FM_OK)
		return rc;
	*have = strcmp(hex, sha256) == 0;
	return *have ? FM_OK : fm_fs_remove(cache, name);
}

/* The first bytes of what came, for the message: an error page shows itself. */
static void first_bytes(int cache, const char *name, char *out, size_t size)
{
	int fd = openat(cache, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char bytes[40];
	ssize_t n = fd < 0 ? 0 : read(fd, bytes, sizeof bytes);

	fm_escape(bytes, n > 0 ? (size_t)n : 0, out, size);
	if (fd >= 0)
		close(fd);
}

int fm_package_keep(int cache, const char *sha256, uint64_t size, const char *from)
{
	char part[80], kept[80], hex[65], first[160];
	off_t bytes = 0;
	int rc;

	fm_package_part(sha256, part);
	fm_package_kept(sha256, kept);
	if ((rc = fm_fs_sha256(cache, part, hex, &bytes)) != FM_OK)
		return rc;
	if (strcmp(hex, sha256) == 0 && (size == 0 || (uint64_t)bytes == size))
		return fm_fs_rename(cache, part, kept);
	first_bytes(cache, part, first, sizeof first);
	if ((rc = fm_fs_remove(cache, part)) != FM_OK)
		return rc;
	if (strcmp(hex, sha256) == 0)
		return fm_fail(FM_ERR_CONFIG,
		        "%s: the digest is right and it has %lld bytes; the recipe says bytes = "
		        "%llu",
		        from, (long long)bytes, (unsigned long long)size);
	return fm_fail(FM_ERR_DIGEST,
	        "%s: is not the package of the recipe: %lld bytes with SHA-256 %s, wanted is %s; "
	        "it "
	        "begins with '%s'; nothing was kept",
	        from, (long long)bytes, hex, sha256, first);
}

static int copy_bytes(int from, int to, const char *path)
{
	char *piece = fm_alloc(PIECE);
	uint64_t total = 0;
	int rc = piece == NULL ? FM_ERR_MEMORY : FM_OK;
	ssize_t n;

	while (rc == FM_OK && (n = read(from, piece, PIECE)) != 0) {
		if (n < 0)
			rc = fm_fail_errno("%s", path);
		else if ((total += (uint64_t)n) > FM_PACKAGE_BYTES)
			rc = fm_fail(FM_ERR_SIZE, "%s: larger than %llu bytes", path,
			        (unsigned long long)FM_PACKAGE_BYTES);
		else
			rc = fm_fs_write_all(to, piece, (size_t)n);
	}
	free(piece);
	return rc;
}

int fm_package_copy(int cache, const char *sha256, const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), to = -1, rc;
	struct stat st;
	char part[80];

	fm_package_part(sha256, part);
	if (from < 0 || fstat(from, &st) != 0) {
		rc = fm_fail(FM_ERR_CONFIG, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		rc = fm_fail(FM_ERR_CONFIG, "%s: is no plain file", path);
		goto out;
	}
	to = openat(cache, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = to < 0 ? fm_fail_errno("cache %s", part) : copy_bytes(from, to, path);
	if (rc == FM_OK && fsync(to) != 0)
		rc = fm_fail_errno("cache %s", part);
	if (rc != FM_OK && to >= 0)
		(void)unlinkat(cache, part, 0);
out:
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return rc;
}

int fm_package_tidy(int cache)
{
	int fd = -1, rc = fm_fs_dir(cache, "sources", &fd);
	DIR *dir = rc == FM_OK ? fdopendir(fd) : NULL;
	time_t now = time(NULL);
	struct dirent *entry;
	struct stat st;

	if (dir == NULL && fd >= 0) {
		rc = fm_fail_errno("cache sources");
		close(fd);
	}
	while (rc == FM_OK && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, ".in-", 4) == 0 &&
		        fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		        now - st.st_mtime > TIDY_S)
			rc = fm_fs_remove(dirfd(dir), entry->d_name);
	if (dir != NULL)
		closedir(dir);
	return rc;
}
