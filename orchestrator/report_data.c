/* report_data.c: pages of a published data set in the layouts published and site (report --data).
 */
#include "orchestrator/dataset.h"
#include "orchestrator/page_data.h"
#include "orchestrator/recipe.h"
#include "orchestrator/report.h"
#include "orchestrator/report_tables.h"
#include "orchestrator/sink.h"
#include "protocol/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMES_MAX (1u << 20)

struct names { /* text of candidates.csv: ID;Algorithm;PageURL */
	struct fm_buf text;
	const char *root;
};

/* candidates.csv of the data set, or of the folder it lies in; none is no error. */
static int read_names(const struct fm_dataset *d, struct names *n)
{
	static const char name[] = "candidates.csv";
	int above = openat(d->dirfd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = FM_OK;

	if (faccessat(d->dirfd, name, F_OK, 0) == 0)
		rc = fm_fs_read(d->dirfd, name, NAMES_MAX, &n->text);
	else if (above >= 0 && faccessat(above, name, F_OK, 0) == 0)
		rc = fm_fs_read(above, name, NAMES_MAX, &n->text);
	if (above >= 0)
		close(above);
	return rc;
}

/* The line of id, cut into its three fields; false if there is none. */
static bool find_line(const struct names *n, const char *id, char **name, char **page)
{
	size_t length = strlen(id);
	const char *line = n->text.data, *end, *first, *second;

	for (; line != NULL && *line != '\0'; line = *end == '\0' ? end : end + 1) {
		end = strchrnul(line, '\n');
		if (strncmp(line, id, length) != 0 || line[length] != ';')
			continue;
		first = line + length + 1;
		second = memchr(first, ';', (size_t)(end - first));
		if (second == NULL)
			return false;
		*name = strndup(first, (size_t)(second - first));
		*page = strndup(second + 1, (size_t)(end - second) - 1);
		return true;
	}
	return false;
}

/* Name and page of a candidate: candidates.csv, else candidate.ini below root. Both are freed by
 * the caller. */
static int name_of(const struct names *n, const char *id, char **name, char **page)
{
	struct fm_candidates found;
	int rc;

	*name = *page = NULL;
	if (find_line(n, id, name, page))
		return *name == NULL || *page == NULL ? FM_ERR_MEMORY : FM_OK;
	if ((rc = fm_recipe_load(n->root, id, &found)) != FM_OK)
		return fm_wrap(rc, "name of %s: not in candidates.csv beside the data", id);
	*name = fm_strdup(found.list[0].name);
	*page = fm_strdup(found.list[0].page == NULL ? "" : found.list[0].page);
	fm_recipe_free(&found);
	return *name == NULL || *page == NULL ? FM_ERR_MEMORY : FM_OK;
}

static int one_page(const struct fm_dataset *d, const struct fm_dataset_system *s, const char *id,
        const struct names *names, bool site, const char *const *systems, struct fm_sink *sink)
{
	struct fm_cells cells = {0};
	struct fm_builds builds = {0};
	struct fm_page page;
	struct fm_page_published p = {.system = s->name,
	        .id = id,
	        .env = &s->shown.environment,
	        .started = s->started,
	        .ended = s->ended,
	        .systems = systems,
	        .system_count = d->count,
	        .cells = &cells,
	        .builds = &builds,
	        .site = site};
	char *name = NULL, *address = NULL, *path = NULL;
	int rc;

	fm_page_start(&page);
	if ((rc = name_of(names, id, &name, &address)) != FM_OK ||
	        (rc = fm_dataset_candidate(d, s, id, &cells, &builds, &p.own, NULL, NULL)) != FM_OK)
		goto out;
	p.name = name;
	p.address = address;
	if ((rc = fm_page_published(&p, &page)) != FM_OK)
		goto out;
	rc = FM_ERR_MEMORY;
	path = site ? fm_sprintf("%s/%s.md", s->name, id)
	            : fm_sprintf("%s/perf_%s.md", id, s->name);
	if (path != NULL)
		rc = fm_sink_put(sink, path, page.md.data, page.md.len);
out:
	free(path);
	free(name);
	free(address);
	fm_page_free(&page);
	fm_cells_free(&cells);
	fm_builds_free(&builds);
	return rc;
}

int fm_report_data(
        const char *data, const char *root, const char *layout, const char *out, bool check)
{
	struct fm_dataset d = {.dirfd = -1};
	struct fm_sink sink = {.dirfd = -1, .check = check, .print = check};
	struct names names = {.text = FM_BUF_INIT(NAMES_MAX), .root = root};
	const char **systems = NULL;
	bool site = strcmp(layout, "site") == 0;
	int rc;

	if (!site && strcmp(layout, "published") != 0)
		return fm_fail(FM_ERR_USAGE,
		        "--layout: read %.40s, allowed with --data are published, site", layout);
	if ((rc = fm_dataset_open(data, &d)) != FM_OK || (rc = read_names(&d, &names)) != FM_OK)
		goto out;
	if ((rc = check ? fm_fs_dir(AT_FDCWD, out, &sink.dirfd)
	                : fm_fs_mkdirs(AT_FDCWD, out, 0755, &sink.dirfd)) != FM_OK)
		goto out;
	rc = FM_ERR_MEMORY;
	if ((systems = fm_alloc_array(d.count, sizeof *systems)) == NULL)
		goto out;
	for (size_t i = 0; i < d.count; i++)
		systems[i] = d.systems[i].name;
	rc = FM_OK;
	for (size_t i = 0; i < d.count && rc == FM_OK; i++)
		for (size_t k = 0; k < d.systems[i].candidate_count && rc == FM_OK; k++)
			rc = one_page(&d, &d.systems[i], d.systems[i].candidates[k], &names, site,
			        systems, &sink);
	if (rc == FM_OK)
		rc = fm_report_tables(d.dirfd, systems, d.count, &sink);
	if (rc == FM_OK && (rc = fm_sink_sync(&sink)) == FM_OK)
		rc = fm_sink_verdict(&sink);
out:
	free(systems);
	fm_buf_free(&names.text);
	fm_sink_free(&sink);
	if (sink.dirfd >= 0)
		close(sink.dirfd);
	if (d.dirfd >= 0)
		fm_dataset_close(&d);
	return rc;
}
