/* cmd_adopt.c: `fleetmark adopt PACKAGE`: a proposal for a package never seen before, for a person
 * to read. */
#include "orchestrator/adopt.h"
#include "orchestrator/command.h"
#include "orchestrator/out.h"
#include "protocol/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARCHIVE_TAIL "-archive"

/* Name and id from the file's name: Eijen.zip gives Eijen and eijen-archive. */
static void take_name(const char *path, struct fm_adopt *a)
{
	static const char *const endings[] = {".zip", ".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst",
	        ".tgz", ".tar", ".7z", ".rar"};
	const char *slash = strrchr(path, '/'), *file = slash == NULL ? path : slash + 1;
	size_t len = strlen(file), most = FM_NAME_MAX - strlen(ARCHIVE_TAIL), used = 0;

	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
		size_t tail = strlen(endings[i]);

		if (len > tail && strcmp(file + len - tail, endings[i]) == 0) {
			len -= tail;
			break;
		}
	}
	for (size_t i = 0; i < len && used < most; i++) {
		char c = file[i];
		bool letter =
		        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (letter || (used > 0 && strchr("-._", c) != NULL))
			a->name[used++] = c;
		else if (used > 0 && a->name[used - 1] != '-')
			a->name[used++] = '-';
	}
	a->name[used] = '\0';
	if (used == 0)
		snprintf(a->name, sizeof a->name, "package");
	snprintf(a->id, sizeof a->id, "%s" ARCHIVE_TAIL, a->name);
	for (char *p = a->id; *p != '\0'; p++)
		*p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
}

/* The new, empty folder for the proposal. */
static int open_folder(const struct fm_options *o, const struct fm_adopt *a, char **path, int *fd)
{
	*path = o->output != NULL ? fm_strdup(o->output) : fm_sprintf("adopt-%s", a->name);
	if (*path == NULL)
		return FM_ERR_MEMORY;
	if (mkdir(*path, 0755) != 0)
		return fm_fail(FM_ERR_USAGE, "%s: %s; the proposal goes into a new folder", *path,
		        strerror(errno));
	return fm_fs_dir(AT_FDCWD, *path, fd);
}

static void tell(const struct fm_adopt *a, const char *path)
{
	size_t count[FM_ADOPT_KINDS] = {0};

	for (size_t n = 0; n < a->count; n++)
		count[a->file[n].kind]++;
	for (size_t n = 0; n < a->instances; n++)
		fm_result("instance  %s  %d bits  %zu sources  %s", a->instance[n].name,
		        a->instance[n].bits, a->instance[n].sources.count,
		        a->instance[n].header->path);
	for (int kind = FM_ADOPT_API; kind < FM_ADOPT_KINDS; kind++)
		if (count[kind] > 0)
			fm_result("%zu %s", count[kind], fm_adopt_title[kind]);
	for (const char *line = a->notes.data; line != NULL && *line != '\0';) {
		size_t len = strcspn(line, "\n");

		fm_result("undecided: %.*s", (int)len, line);
		line += len + 1;
	}
	fm_result("proposal: %s (read README.txt first)", path);
	fm_out_event(&(struct fm_event){
	        .event = "adopted", .candidate = a->id, .text = path, .quiet = true});
}

static int open_package(const char *path, struct fm_adopt *a, int *fd)
{
	char *real = realpath(path, NULL);
	off_t size = 0;
	int rc = FM_OK;

	*fd = real == NULL ? -1 : open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		rc = fm_fail(FM_ERR_USAGE, "%s: %s", path, strerror(errno));
	else if ((rc = fm_fs_sha256(AT_FDCWD, real, a->sha256, &size)) == FM_OK)
		a->bytes = (uint64_t)size;
	free(real);
	return rc;
}

int fm_cmd_adopt(const struct fm_options *o, int *status)
{
	struct fm_adopt a = {.count = 0};
	char *path = NULL;
	int package = -1, folder = -1, rc;

	*status = 0;
	take_name(o->argv[0], &a);
	if ((rc = open_package(o->argv[0], &a, &package)) == FM_OK &&
	        (rc = fm_adopt_look(package, a.name, &a)) == FM_OK &&
	        (rc = fm_adopt_decide(&a)) == FM_OK && !o->dry_run &&
	        (rc = open_folder(o, &a, &path, &folder)) == FM_OK)
		rc = fm_adopt_write(&a, folder);
	if (rc == FM_OK) {
		tell(&a, path == NULL ? "not written (--dry-run)" : path);
		*status = a.instances > 0 ? 0 : 1;
	}
	if (package >= 0)
		close(package);
	if (folder >= 0)
		close(folder);
	free(path);
	fm_adopt_free(&a);
	return rc;
}
