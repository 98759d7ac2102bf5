/* compare_input.c: what may be compared: a tree, read from its raw samples, or a data set of the
 * published form. */
#include "orchestrator/compare.h"
#include "orchestrator/number.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/seal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fm_fact_name[FM_FACTS] = {"processor", "core type", "compiler", "flags", "OS",
        "kernel", "microcode", "measured clock", "counter", "emulated", "agent source", "profile"};

static int open_tree(struct fm_input *in, const char *base)
{
	if (fm_fs_sha256(in->dirfd, FM_MANIFEST_NAME, in->number, NULL) != FM_OK)
		in->number[0] = '\0'; /* not sealed yet: said where it is shown */
	return fm_report_open(&in->report, in->dirfd, base);
}

static void base_first(struct fm_dataset *d, const char *base)
{
	for (size_t i = 1; base != NULL && i < d->count; i++)
		if (strcmp(d->systems[i].name, base) == 0) {
			struct fm_dataset_system s = d->systems[i];
			memmove(d->systems + 1, d->systems, i * sizeof s);
			d->systems[0] = s;
		}
}

int fm_input_open(const char *path, const char *base, struct fm_input *in)
{
	int rc;

	memset(in, 0, sizeof *in);
	in->path = path;
	in->data.dirfd = -1;
	in->report.sink.dirfd = -1;
	if ((rc = fm_fs_dir(AT_FDCWD, path, &in->dirfd)) != FM_OK) {
		in->dirfd = -1;
		return fm_wrap(FM_ERR_USAGE, "compare");
	}
	in->tree = faccessat(in->dirfd, "tree.json", F_OK, 0) == 0;
	if (in->tree) {
		rc = open_tree(in, base);
		return rc == FM_OK ? rc : fm_wrap(rc, "%s", path);
	}
	if ((rc = fm_dataset_open(path, &in->data)) == FM_ERR_CONFIG)
		return fm_fail(FM_ERR_USAGE,
		        "%s: neither a tree (tree.json) nor a data set (<system>/campaign.json)",
		        path);
	if (rc == FM_OK)
		base_first(&in->data, base);
	return rc;
}

void fm_input_close(struct fm_input *in)
{
	if (in->path == NULL)
		return;
	if (in->tree)
		fm_report_close(&in->report);
	else if (in->data.dirfd >= 0)
		fm_dataset_close(&in->data);
	if (in->dirfd >= 0)
		close(in->dirfd);
	memset(in, 0, sizeof *in);
}

size_t fm_input_systems(const struct fm_input *in)
{
	return in->tree ? in->report.system_count : in->data.count;
}

const char *fm_input_system(const struct fm_input *in, size_t i)
{
	return in->tree ? in->report.systems[i].plan->name : in->data.systems[i].name;
}

/* Of a data set: the systems' lists one after the other; what stands in several is met again. */
size_t fm_input_candidates(const struct fm_input *in)
{
	size_t n = 0;

	if (in->tree)
		return in->report.plan.candidates.count;
	for (size_t i = 0; i < in->data.count; i++)
		n += in->data.systems[i].candidate_count;
	return n;
}

const char *fm_input_candidate(const struct fm_input *in, size_t i)
{
	size_t s = 0;

	if (in->tree)
		return in->report.plan.candidates.list[i].id;
	for (; i >= in->data.systems[s].candidate_count; s++)
		i -= in->data.systems[s].candidate_count;
	return in->data.systems[s].candidates[i];
}

static int tree_cells(struct fm_input *in, size_t system, const char *candidate,
        struct fm_cells *cells, char source[65])
{
	const struct fm_candidate *c = fm_plan_candidate(&in->report.plan, candidate);
	struct fm_side side;
	int rc;

	if (c == NULL)
		return FM_OK;
	if ((rc = fm_side_load(&in->report, &in->report.systems[system], c, &side)) == FM_OK) {
		*cells = side.cells;
		side.cells = (struct fm_cells){NULL, 0};
		snprintf(source, 65, "%.64s", c->source_sha256);
	}
	fm_side_free(&side);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s", in->path);
}

int fm_input_cells(struct fm_input *in, size_t system, const char *candidate,
        struct fm_cells *cells, char source[65])
{
	struct fm_builds builds = {0};
	bool own;
	int rc;

	memset(cells, 0, sizeof *cells);
	source[0] = '\0';
	if (in->tree)
		return tree_cells(in, system, candidate, cells, source);
	rc = fm_dataset_candidate(
	        &in->data, &in->data.systems[system], candidate, cells, &builds, &own, NULL, NULL);
	fm_builds_free(&builds);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s", in->path);
}

static void put(struct fm_facts *f, int which, const char *text)
{
	snprintf(f->text[which], sizeof f->text[which], "%s", text == NULL ? "" : text);
}

static void tree_facts(const struct fm_report *r, size_t system, struct fm_facts *f)
{
	const struct fm_report_system *s = &r->systems[system];
	size_t at = 0;

	put(f, 11, r->plan.profile);
	for (size_t i = 0; i < r->plan.flags.count; i++) {
		const struct fm_flags_line *l = &r->plan.flags.list[i];
		if (strcmp(l->arch, s->plan->arch) != 0 || at >= sizeof f->text[3])
			continue;
		at += (size_t)snprintf(f->text[3] + at, sizeof f->text[3] - at, "%s%s",
		        at > 0 ? "; " : "", l->flags);
	}
	if (!s->any)
		return;
	put(f, 0, s->cpu_model);
	put(f, 1, s->core_type);
	put(f, 2, s->compiler);
	put(f, 4, s->os);
	put(f, 5, s->kernel);
	put(f, 6, s->microcode);
	put(f, 7, fm_n_clock((double)s->measured_hz / 1e3).s);
	snprintf(
	        f->text[8], sizeof f->text[8], "%s by %s, scope %s", s->label, s->source, s->scope);
	put(f, 9, s->emulated ? "yes" : "no");
	put(f, 10, s->agent_source);
}

void fm_input_facts(const struct fm_input *in, size_t system, struct fm_facts *f)
{
	memset(f, 0, sizeof *f);
	if (in->tree) {
		tree_facts(&in->report, system, f);
		return;
	}
	const struct fm_env *e = &in->data.systems[system].shown.environment;
	put(f, 0, fm_env_get(e, FM_ENV_CPU_MODEL));
	put(f, 2, fm_env_get(e, FM_ENV_COMPILER));
	put(f, 4, fm_env_get(e, FM_ENV_OS));
	put(f, 5, fm_env_get(e, FM_ENV_KERNEL));
	if (e->value[FM_ENV_CLOCK_HZ].kind == FM_ENV_NUMBER)
		put(f, 7, fm_n_clock((double)e->value[FM_ENV_CLOCK_HZ].number / 1e3).s);
}
