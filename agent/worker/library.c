/* library.c: one instance's shared object: checked by digest, loaded, its one function found. */
#include "agent/worker/library.h"

#include "protocol/digest.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int sha256_fd(int fd, const char *path, char hex[65])
{
	struct fm_sha256 h;
	unsigned char chunk[16384];
	off_t at = 0;
	ssize_t n;

	fm_sha256_start(&h);
	while ((n = pread(fd, chunk, sizeof chunk, at)) > 0) {
		fm_sha256_add(&h, chunk, (size_t)n);
		at += n;
	}
	fm_sha256_end(&h, hex);
	return n < 0 ? fm_fail_errno("reading %s", path) : FM_OK;
}

int fm_library_open(struct fm_library *l, const char *path, const char *hex)
{
	struct stat st;
	char seen[65];
	int rc = FM_ERR_INTERNAL;

	*l = (struct fm_library){-1, NULL, NULL};
	l->fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (l->fd < 0 || fstat(l->fd, &st) != 0) {
		rc = fm_fail_errno("opening library %s", path);
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		rc = fm_fail(FM_ERR_DIGEST, "library %s is not a plain file", path);
		goto out;
	}
	if ((rc = sha256_fd(l->fd, path, seen)) != FM_OK)
		goto out;
	if (strcmp(seen, hex) != 0)
		rc = fm_fail(FM_ERR_DIGEST, "library %s has SHA-256 %s, ordered was %s", path, seen,
		        hex);
out:
	if (rc != FM_OK && l->fd >= 0) {
		close(l->fd);
		l->fd = -1;
	}
	return rc;
}

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises that these bytes
 * are one. */
static fm_crypt_hash *resolve(void *handle, const char *symbol)
{
	void *object = dlsym(handle, symbol);
	fm_crypt_hash *function = NULL;

	if (object != NULL)
		memcpy(&function, &object, sizeof function);
	return function;
}

int fm_library_load(struct fm_library *l)
{
	char path[40];
	const char *words;

	snprintf(path, sizeof path, "/proc/self/fd/%d", l->fd);
	if ((l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)) == NULL) {
		words = dlerror();
		return fm_fail(FM_ERR_MISSING, "loading the library: %s",
		        words == NULL ? "unknown" : words);
	}
	if ((l->hash = resolve(l->handle, "CryptHash")) == NULL)
		return fm_fail(FM_ERR_MISSING, "the library has no function CryptHash");
	return FM_OK;
}

int fm_library_frame(fm_crypt_hash **frame)
{
	static const char name[] = "fleetmark-frame.so";
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - sizeof name - 1);
	char *slash;
	void *handle;

	*frame = NULL;
	if (len < 0)
		return fm_fail_errno("reading /proc/self/exe");
	path[len] = '\0';
	if ((slash = strrchr(path, '/')) == NULL)
		return fm_fail(FM_ERR_INTERNAL, "/proc/self/exe is %s", path);
	memcpy(slash + 1, name, sizeof name);
	if ((handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)) == NULL)
		return fm_fail(FM_ERR_MISSING,
		        "no %s beside the worker: the cost of the empty call is unknown", name);
	if ((*frame = resolve(handle, "fm_frame")) == NULL)
		return fm_fail(FM_ERR_MISSING, "%s has no function fm_frame", name);
	return FM_OK;
}
