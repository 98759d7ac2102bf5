/* report_data.c: pages of a published data set (report --data): the layouts published and site
 * here, our own in report_foreign.c. */
#include "orchestrator/data_names.h"
#include "orchestrator/dataset.h"
#include "orchestrator/page_data.h"
#include "orchestrator/page_dataset.h"
#include "orchestrator/report.h"
#include "orchestrator/report_foreign.h"
#include "orchestrator/report_tables.h"
#include "orchestrator/sink.h"
#include "protocol/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One run over a data set. */
struct job {
	struct fm_dataset *d;
	struct fm_names names;
	struct fm_sink sink;
	bool site;
	const char **systems;
	struct fm_summary summary; /* of the system at work */
	const struct fm_env *usual;
	struct {
		char *name, *address;
	} * of; /* of the candidates of the system at work */
};

static int add_to_summary(void *arg, const struct fm_record *r, const char *text, size_t len)
{
	struct job *j = arg;

	(void)text;
	(void)len;
	return fm_summary_add(&j->summary, r, j->usual);
}

static int put_page(struct job *j, struct fm_page *page, char *path)
{
	int rc = path == NULL ? FM_ERR_MEMORY
	                      : fm_sink_put(&j->sink, path, page->md.data, page->md.len);

	free(path);
	return rc;
}

static int one_page(struct job *j, const struct fm_dataset_system *s, size_t at)
{
	const char *id = s->candidates[at];
	struct fm_cells cells = {0};
	struct fm_builds builds = {0};
	struct fm_page page;
	struct fm_page_published p = {.system = s->name,
	        .id = id,
	        .env = &s->shown.environment,
	        .started = s->started,
	        .ended = s->ended,
	        .systems = j->systems,
	        .system_count = j->d->count,
	        .cells = &cells,
	        .builds = &builds,
	        .site = j->site};
	int rc;

	fm_page_start(&page);
	if ((rc = fm_names_of(&j->names, id, &j->of[at].name, &j->of[at].address)) != FM_OK ||
	        (rc = fm_dataset_candidate(
	                 j->d, s, id, &cells, &builds, &p.own, add_to_summary, j)) != FM_OK)
		goto out;
	p.name = j->of[at].name;
	p.address = j->of[at].address;
	if ((rc = fm_page_published(&p, &page)) == FM_OK)
		rc = put_page(j, &page,
		        j->site ? fm_sprintf("%s/%s.md", s->name, id)
		                : fm_sprintf("%s/perf_%s.md", id, s->name));
out:
	fm_page_free(&page);
	fm_cells_free(&cells);
	fm_builds_free(&builds);
	return rc;
}

/* performance/summary_<system>.md and method_<system>.md; the site has pages of its own for these.
 */
static int system_pages(struct job *j, const struct fm_dataset_system *s)
{
	struct fm_candidate_name *names = fm_alloc_array(s->candidate_count + 1, sizeof *names);
	struct fm_page page;
	int rc;

	if (names == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < s->candidate_count; i++)
		names[i] = (struct fm_candidate_name){s->candidates[i], j->of[i].name};
	fm_page_start(&page);
	if ((rc = fm_page_dataset_summary(&page, s, &j->summary, names, s->candidate_count)) ==
	        FM_OK)
		rc = put_page(j, &page, fm_sprintf("performance/summary_%s.md", s->name));
	fm_page_free(&page);
	fm_page_start(&page);
	if (rc == FM_OK && (rc = fm_page_dataset_method(&page, s, &j->summary)) == FM_OK)
		rc = put_page(j, &page, fm_sprintf("performance/method_%s.md", s->name));
	fm_page_free(&page);
	free(names);
	return rc;
}

static int one_system(struct job *j, const struct fm_dataset_system *s)
{
	int rc = FM_OK;

	if ((j->of = fm_alloc_array(s->candidate_count + 1, sizeof *j->of)) == NULL)
		return FM_ERR_MEMORY;
	j->usual = &s->shown.environment;
	for (size_t k = 0; k < s->candidate_count && rc == FM_OK; k++)
		rc = one_page(j, s, k);
	if (rc == FM_OK && !j->site)
		rc = system_pages(j, s);
	for (size_t k = 0; k < s->candidate_count; k++) {
		free(j->of[k].name);
		free(j->of[k].address);
	}
	free(j->of);
	fm_summary_free(&j->summary);
	return rc;
}

int fm_report_data(
        const char *data, const char *root, const char *layout, const char *out, bool check)
{
	struct fm_dataset d = {.dirfd = -1};
	struct job j = {.d = &d,
	        .sink = {.dirfd = -1, .check = check, .print = check},
	        .site = strcmp(layout, "site") == 0};
	bool own = strcmp(layout, "fleetmark") == 0;
	int rc;

	if (!j.site && !own && strcmp(layout, "published") != 0)
		return fm_fail(FM_ERR_USAGE,
		        "--layout: read %.40s, allowed are fleetmark, published, site", layout);
	if ((rc = fm_dataset_open(data, &d)) != FM_OK ||
	        (rc = fm_names_read(&d, root, &j.names)) != FM_OK)
		goto out;
	if ((rc = check ? fm_fs_dir(AT_FDCWD, out, &j.sink.dirfd)
	                : fm_fs_mkdirs(AT_FDCWD, out, 0755, &j.sink.dirfd)) != FM_OK)
		goto out;
	if (own) {
		rc = fm_report_foreign(&d, &j.names, &j.sink);
		goto end;
	}
	rc = FM_ERR_MEMORY;
	if ((j.systems = fm_alloc_array(d.count, sizeof *j.systems)) == NULL)
		goto out;
	for (size_t i = 0; i < d.count; i++)
		j.systems[i] = d.systems[i].name;
	rc = FM_OK;
	for (size_t i = 0; i < d.count && rc == FM_OK; i++)
		rc = one_system(&j, &d.systems[i]);
	if (rc == FM_OK)
		rc = fm_report_tables(d.dirfd, j.systems, d.count, &j.sink, NULL);
end:
	if (rc == FM_OK && (rc = fm_sink_sync(&j.sink)) == FM_OK)
		rc = fm_sink_verdict(&j.sink);
	if (rc == FM_OK && d.findings > 0)
		rc = fm_fail(FM_ERR_FORM,
		        "%s: %zu finding%s in the data set, named above; the pages show the rest "
		        "and say what is missing",
		        data, d.findings, d.findings == 1 ? "" : "s");
out:
	free(j.systems);
	fm_names_free(&j.names);
	fm_sink_free(&j.sink);
	if (j.sink.dirfd >= 0)
		close(j.sink.dirfd);
	if (d.dirfd >= 0)
		fm_dataset_close(&d);
	return rc;
}
