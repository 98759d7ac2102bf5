/* toolchain.c: names the compiler and what it calls: path, version, package, digest. */
#include "agent/work.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static int run_line(const char *const *argv, char out[FM_HOST_TEXT])
{
	static const char *const env[] = {"LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin", NULL};
	struct fm_command what = {.argv = argv,
	        .env = env,
	        .cwd = -1,
	        .input = -1,
	        .order = -1,
	        .output_max = 4000,
	        .timeout_ms = 20000};
	struct fm_child child = {.out_fd = -1, .result_fd = -1};
	char how[FM_HOST_TEXT];
	int rc = fm_child_run(&what, &child);

	out[0] = '\0';
	if (rc == FM_OK && fm_child_good(&child, how, sizeof how) && child.output.len > 0)
		fm_agent_clean(child.output.data, strcspn(child.output.data, "\n"), out);
	fm_child_free(&child);
	return rc == FM_ERR_CANCELLED ? rc : FM_OK;
}

/* The text in the first parentheses: the packager's version. */
static void package_of(const char *version, char out[FM_HOST_TEXT])
{
	const char *open = strchr(version, '('), *close = open == NULL ? NULL : strchr(open, ')');

	out[0] = '\0';
	if (close != NULL)
		fm_agent_clean(open + 1, (size_t)(close - open - 1), out);
}

/* Where gcc finds this program: an absolute path, or one of the system's folders for a bare name.
 */
static int locate(const char *gcc, const char *name, char out[FM_HOST_TEXT])
{
	char *ask = fm_sprintf("-print-prog-name=%s", name), *found;
	const char *argv[] = {gcc, ask, NULL};
	int rc = ask == NULL ? FM_ERR_MEMORY : run_line(argv, out);

	if (rc == FM_OK && out[0] != '/' && out[0] != '\0') {
		found = fm_child_find(out);
		snprintf(out, FM_HOST_TEXT, "%.200s", found == NULL ? "" : found);
		free(found);
	}
	free(ask);
	return rc;
}

int fm_toolchain_read(struct fm_job *j)
{
	static const char *const names[4] = {"cc", "cc1", "as", "ld"};
	char *gcc = fm_child_find("gcc");
	int rc = FM_OK;

	for (int i = 0; rc == FM_OK && i < 4; i++) {
		struct fm_tool *t = &j->tools[i];

		t->name = names[i];
		if (gcc == NULL)
			continue;
		if (i == 0)
			snprintf(t->path, sizeof t->path, "%.200s", gcc);
		else
			rc = locate(gcc, names[i], t->path);
		if (rc == FM_OK && t->path[0] != '\0') {
			const char *argv[] = {t->path, "--version", NULL};
			char *real = realpath(t->path, NULL);

			if (i == 1) /* cc1 tells no version of its own: it is the driver's */
				memcpy(t->version, j->tools[0].version, sizeof t->version);
			else
				rc = run_line(argv, t->version);
			package_of(t->version, t->package);
			if (rc == FM_OK && real != NULL &&
			        fm_fs_sha256(AT_FDCWD, real, t->sha256, NULL) != FM_OK)
				t->sha256[0] = '\0';
			free(real);
		}
	}
	free(gcc);
	return rc;
}
