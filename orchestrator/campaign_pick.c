/* campaign_pick.c: decides which folder below results/ a run goes on with. */
#include "orchestrator/campaign.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NUMBER_MAX 9999

int fm_campaign_base(const struct fm_options *o, const struct fm_inventory *inv, char *out)
{
	int n;

	if (o->name != NULL)
		n = snprintf(out, FM_NAME_MAX + 1, "%s", o->name);
	else if (inv != NULL)
		n = snprintf(out, FM_NAME_MAX + 1, "%.40s-%s", inv->stem, o->profile);
	else
		return fm_fail(FM_ERR_USAGE, "no campaign named and no inventory to name it after");
	if (n > FM_NAME_MAX - 5)
		return fm_fail(
		        FM_ERR_NAME, "campaign '%s': at most %d characters", out, FM_NAME_MAX - 5);
	return fm_name_check("campaign", out);
}

static bool there(int dirfd, const char *path)
{
	return faccessat(dirfd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Nothing in it but what a crash at the very start may leave. */
static int only_ours(int dirfd, const char *name)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	int rc = FM_OK;

	if (dir == NULL)
		return fm_fail_errno("results/%s", name);
	while (rc == FM_OK && (e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		        strcmp(e->d_name, "incoming") != 0)
			rc = fm_fail(FM_ERR_CONFIG,
			        "results/%s holds %s and is no campaign; name another one", name,
			        e->d_name);
	}
	closedir(dir);
	return rc;
}

/* Sealed, and every dispatch that was planned has been accepted. */
static int is_finished(int dirfd, bool *finished)
{
	struct fm_plan plan = {0};
	struct fm_journal *journal = NULL;
	char sha256[65];
	int incoming = -1, folder = -1;
	int rc;

	*finished = there(dirfd, FM_SIG_NAME);
	if (!*finished || !there(dirfd, "incoming"))
		return FM_OK;
	rc = fm_fs_dir(dirfd, "incoming", &incoming);
	if (rc == FM_OK)
		rc = fm_fs_dir(dirfd, "plan", &folder);
	if (rc == FM_OK)
		rc = fm_plan_read(folder, &plan);
	if (rc == FM_OK)
		rc = fm_journal_open(&journal, incoming, plan.campaign, true);
	*finished = rc == FM_OK && fm_journal_is_sealed(journal, sha256);
	for (size_t i = 0; rc == FM_OK && *finished && i < plan.system_count; i++) {
		for (size_t k = 0; rc == FM_OK && *finished && k < plan.candidates.count; k++) {
			struct fm_job job;

			rc = fm_journal_accepted_job(journal, plan.systems[i].name,
			        plan.candidates.list[k].id, &job, finished);
		}
	}
	if (journal != NULL)
		(void)!fm_journal_close(journal);
	fm_plan_free(&plan);
	if (incoming >= 0)
		close(incoming);
	if (folder >= 0)
		close(folder);
	return rc;
}

int fm_campaign_pick(
        const char *results, const char *base, char name[FM_NAME_MAX + 1], bool *exists)
{
	int top = -1, rc = fm_fs_mkdirs(AT_FDCWD, results, 0755, &top);
	int last = 0;
	bool finished = false;

	*exists = false;
	if (rc != FM_OK)
		return fm_wrap(rc, "--results %s", results);
	snprintf(name, FM_NAME_MAX + 1, "%s", base);
	for (int i = 1; i < NUMBER_MAX && there(top, name); i++) {
		last = i;
		snprintf(name, FM_NAME_MAX + 1, "%.58s.%d", base, i + 1);
	}
	if (last > 0) {
		int fd = -1;

		snprintf(name, FM_NAME_MAX + 1, last == 1 ? "%.58s" : "%.58s.%d", base, last);
		rc = fm_fs_dir(top, name, &fd);
		if (rc == FM_OK)
			*exists = there(fd, "plan");
		if (rc == FM_OK && !*exists)
			rc = only_ours(fd, name);
		if (rc == FM_OK && *exists)
			rc = is_finished(fd, &finished);
		if (fd >= 0)
			close(fd);
	}
	if (rc == FM_OK && finished) {
		snprintf(name, FM_NAME_MAX + 1, "%.58s.%d", base, last + 1);
		*exists = false;
	}
	close(top);
	return rc;
}

void fm_campaign_fresh_name(const char *results, const char *base, char name[FM_NAME_MAX + 1])
{
	for (int i = 2; i <= NUMBER_MAX; i++) {
		char path[4200];

		snprintf(name, FM_NAME_MAX + 1, "%.58s-%d", base, i);
		snprintf(path, sizeof path, "%.4000s/%s", results, name);
		if (access(path, F_OK) != 0)
			return;
	}
}
