/* fs_walk.c: going along paths: the folder above a name, a walk over everything below a folder, its
 * removal. */
#include "protocol/fs.h"
#include "protocol/fs_parent.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WALK_DEPTH   16
#define REMOVE_DEPTH 200

void fm_fs_parent_close(struct fm_fs_parent *p)
{
	int saved = errno;

	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	errno = saved;
}

/* Copies the part up to the next '/' to name; *next is behind it and its slashes. */
static int take_part(const char *path, const char *part, char name[256], const char **next)
{
	size_t len = strcspn(part, "/");

	if (len == 0 || len > 255)
		return fm_fail(FM_ERR_FORM,
		        "path %.300s: a part of %zu bytes, allowed are 1 to 255", path, len);
	memcpy(name, part, len);
	name[len] = '\0';
	part += len;
	while (*part == '/')
		part++;
	*next = part;
	return FM_OK;
}

int fm_fs_parent_open(struct fm_fs_parent *p, int dirfd, const char *path, int make)
{
	bool beneath = dirfd != AT_FDCWD;
	const char *part = path;
	int rc, fd;

	p->fd = -1;
	if (beneath && path[0] == '/')
		return fm_fail(FM_ERR_FORM, "path %.300s: must be relative", path);
	while (*part == '/')
		part++;
	p->fd = openat(dirfd, path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->fd < 0)
		return fm_fail_errno("folder above %s", path);
	for (;;) {
		if ((rc = take_part(path, part, p->name, &part)) != FM_OK)
			break;
		if (strcmp(p->name, "..") == 0
		                ? beneath || *part == '\0'
		                : strcmp(p->name, ".") == 0 && (beneath || *part == '\0')) {
			rc = fm_fail(FM_ERR_FORM, "path %.300s: '%s' is not allowed there", path,
			        p->name);
			break;
		}
		if (*part == '\0')
			return FM_OK;
		if (make >= 0 && mkdirat(p->fd, p->name, (mode_t)make) != 0 && errno != EEXIST) {
			rc = fm_fail_errno("make folder %s of %s", p->name, path);
			break;
		}
		fd = openat(p->fd, p->name,
		        O_PATH | O_DIRECTORY | O_CLOEXEC | (beneath ? O_NOFOLLOW : 0));
		if (fd < 0) {
			rc = fm_fail_errno("folder %s of %s", p->name, path);
			break;
		}
		close(p->fd);
		p->fd = fd;
	}
	fm_fs_parent_close(p);
	return rc;
}

/* One step of a walk: an entry itself, or what is below a folder. */
struct step {
	char *name; /* of a descent with '/' behind it, which sorts it where its paths belong */
	struct stat st;
	bool descend;
};
struct walk {
	struct fm_buf path;
	size_t left;
	fm_fs_visit *visit;
	void *arg;
};

static void steps_free(struct step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(steps[i].name);
	free(steps);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct step *)a)->name, ((const struct step *)b)->name);
}

static int add_step(
        struct step **steps, size_t *count, const char *name, const struct stat *st, bool descend)
{
	struct step *s = fm_grow(steps, count, sizeof **steps);

	if (s == NULL || (s->name = fm_sprintf(descend ? "%s/" : "%s", name)) == NULL)
		return FM_ERR_MEMORY;
	s->st = *st;
	s->descend = descend;
	return FM_OK;
}

/* Reads a folder into sorted steps; nothing is opened, everything is looked at with lstat. */
static int list_folder(int dirfd, struct walk *w, struct step **steps, size_t *count)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = FM_OK;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat st;

	if (dir == NULL) {
		rc = fm_fail_errno("read folder %s", w->path.data);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (rc == FM_OK && (errno = 0, entry = readdir(dir)) != NULL) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		if (w->left-- == 0) {
			w->left = 0;
			rc = fm_fail(FM_ERR_SIZE, "folder %s: more entries than are allowed",
			        w->path.data);
		} else if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			rc = fm_fail_errno("stat %s%s", w->path.data, name);
		else if ((rc = add_step(steps, count, name, &st, false)) == FM_OK &&
		         S_ISDIR(st.st_mode))
			rc = add_step(steps, count, name, &st, true);
	}
	if (rc == FM_OK && errno != 0)
		rc = fm_fail_errno("read folder %s", w->path.data);
	closedir(dir);
	if (rc == FM_OK && *count > 1)
		qsort(*steps, *count, sizeof **steps, by_name);
	return rc;
}

/* Marks the descent into a folder as left out; its name is that of the folder and '/'. */
static void skip_descent(struct step *steps, size_t count, size_t from, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = from; i < count; i++)
		if (steps[i].descend && strncmp(steps[i].name, name, len) == 0 &&
		        steps[i].name[len] == '/')
			steps[i].descend = false;
}

static int walk_folder(int dirfd, struct walk *w, int depth)
{
	struct step *steps = NULL;
	size_t count = 0, base = w->path.len;
	int rc, fd;

	if (depth > WALK_DEPTH)
		return fm_fail(
		        FM_ERR_FORM, "folder %s: deeper than %d folders", w->path.data, WALK_DEPTH);
	rc = list_folder(dirfd, w, &steps, &count);
	for (size_t i = 0; rc == FM_OK && i < count; i++) {
		bool below = steps[i].name[strlen(steps[i].name) - 1] == '/';

		if (below && !steps[i].descend)
			continue;
		if ((rc = fm_buf_puts(&w->path, steps[i].name)) != FM_OK)
			break;
		if (!below) {
			rc = w->visit(w->arg, w->path.data, &steps[i].st);
			if (rc == FM_FS_SKIP) {
				skip_descent(steps, count, i + 1, steps[i].name);
				rc = FM_OK;
			}
		} else {
			steps[i].name[strlen(steps[i].name) - 1] = '\0';
			if ((rc = fm_fs_dir(dirfd, steps[i].name, &fd)) == FM_OK) {
				rc = walk_folder(fd, w, depth + 1);
				close(fd);
			}
		}
		w->path.len = base;
		w->path.data[base] = '\0';
	}
	steps_free(steps, count);
	return rc;
}

int fm_fs_walk(int dirfd, size_t max, fm_fs_visit *visit, void *arg)
{
	struct walk w = {FM_BUF_INIT(16384), max, visit, arg};
	int rc = fm_buf_put(&w.path, "", 0);

	if (rc == FM_OK)
		rc = walk_folder(dirfd, &w, 1);
	fm_buf_free(&w.path);
	return rc;
}

static int remove_entry(int parent, const char *name, int depth);

static int empty_folder(int parent, const char *name, int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = FM_OK;
	const struct dirent *entry;
	DIR *dir;

	if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fm_fail_errno("open folder %s", name);
	if ((dir = fdopendir(fd)) == NULL) {
		rc = fm_fail_errno("read folder %s", name);
		close(fd);
		return rc;
	}
	if (fchmod(fd, 0700) != 0 && errno != EPERM)
		rc = fm_fail_errno("mode of folder %s", name);
	while (rc == FM_OK && (errno = 0, entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = remove_entry(fd, entry->d_name, depth + 1);
	if (rc == FM_OK && errno != 0)
		rc = fm_fail_errno("read folder %s", name);
	closedir(dir);
	return rc;
}

static int remove_entry(int parent, const char *name, int depth)
{
	int rc;

	if (depth > REMOVE_DEPTH)
		return fm_fail(
		        FM_ERR_FORM, "remove %s: deeper than %d folders", name, REMOVE_DEPTH);
	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return FM_OK;
	if (errno != EISDIR && errno != EPERM)
		return fm_fail_errno("remove %s", name);
	if ((rc = empty_folder(parent, name, depth)) != FM_OK)
		return rc;
	if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		return fm_fail_errno("remove folder %s", name);
	return FM_OK;
}

int fm_fs_remove(int dirfd, const char *path)
{
	struct fm_fs_parent parent;
	int rc = fm_fs_parent_open(&parent, dirfd, path, -1);

	if (rc == FM_ERR_SYSTEM && errno == ENOENT)
		return FM_OK;
	if (rc != FM_OK)
		return rc;
	if ((rc = remove_entry(parent.fd, parent.name, 1)) != FM_OK)
		fm_wrap(rc, "%s", path);
	fm_fs_parent_close(&parent);
	return rc;
}
