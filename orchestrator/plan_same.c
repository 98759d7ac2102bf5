/* plan_same.c: has anything changed that a running campaign depends on? */
#include "orchestrator/plan.h"
#include <string.h>

static int differs(const char *what, const char *was, const char *is)
{
	return fm_fail(FM_ERR_CONFIG,
	        "%s changed since the campaign was planned: was '%.200s', is '%.200s'", what, was,
	        is);
}

static int same_text(const char *what, const char *was, const char *is)
{
	return strcmp(was, is) == 0 ? FM_OK : differs(what, was, is);
}

static int same_systems(const struct fm_plan *was, const struct fm_plan *is)
{
	for (size_t i = 0; i < was->system_count; i++) {
		const struct fm_plan_system *a = &was->systems[i], *b = fm_plan_system(is, a->name);

		if (b == NULL)
			return fm_fail(FM_ERR_CONFIG, "system %s was planned and is not chosen now",
			        a->name);
		if (strcmp(a->arch, b->arch) != 0)
			return fm_wrap(differs("arch", a->arch, b->arch), "system %s", a->name);
		if (a->cpu != b->cpu)
			return fm_fail(FM_ERR_CONFIG,
			        "system %s: cpu changed since the campaign was planned: was %d, is "
			        "%d (-1: the "
			        "last)",
			        a->name, a->cpu, b->cpu);
		if (a->raw != b->raw)
			return fm_wrap(differs("counter", a->raw ? "raw" : "auto",
			                       b->raw ? "raw" : "auto"),
			        "system %s", a->name);
	}
	for (size_t i = 0; i < is->system_count; i++)
		if (fm_plan_system(was, is->systems[i].name) == NULL)
			return fm_fail(
			        FM_ERR_CONFIG, "system %s was not planned", is->systems[i].name);
	return FM_OK;
}

static int same_flags(const struct fm_flags *was, const struct fm_flags *is)
{
	int rc;

	if ((rc = same_text("additions of algos/flags.ini", was->additions, is->additions)) !=
	                FM_OK ||
	        (rc = same_text("fallback of algos/flags.ini", was->fallback, is->fallback)) !=
	                FM_OK)
		return rc;
	for (size_t i = 0; i < was->count; i++) {
		const struct fm_flags_line *a = &was->list[i],
		                           *b = fm_flags_find(is, a->arch, a->version);

		if (b == NULL || strcmp(a->flags, b->flags) != 0 || strcmp(a->mark, b->mark) != 0)
			return fm_wrap(differs("flags", a->flags, b == NULL ? "" : b->flags),
			        "algos/flags.ini [%s %s]", a->arch, fm_version_name[a->version]);
	}
	return was->count == is->count
	               ? FM_OK
	               : fm_fail(FM_ERR_CONFIG,
	                         "algos/flags.ini has more sections than were planned");
}

static int same_answers(const struct fm_instance *a, const struct fm_instance *b)
{
	bool same = a->kat_count == b->kat_count && a->vectors == b->vectors &&
	            strcmp(a->vectors_sha256, b->vectors_sha256) == 0;

	for (size_t k = 0; same && k < a->kat_count; k++)
		same = strcmp(a->kat_lines[k].sha256, b->kat_lines[k].sha256) == 0 &&
		       strcmp(a->kat_lines[k].mode, b->kat_lines[k].mode) == 0 &&
		       strcmp(a->kat_lines[k].file, b->kat_lines[k].file) == 0;
	return same ? FM_OK
	            : fm_fail(FM_ERR_CONFIG,
	                      "known answers of %s changed since the campaign was planned",
	                      a->name);
}

static int same_candidate(const struct fm_candidate *a, const struct fm_candidate *b)
{
	int rc;

	/* The recipe lies in the tree, so its digest covers it. */
	if ((rc = same_text("the source tree", a->tree_sha256, b->tree_sha256)) != FM_OK)
		return rc;
	for (size_t i = 0; rc == FM_OK && i < a->count; i++) {
		const struct fm_instance *other = fm_candidate_instance(b, a->instances[i].name);

		rc = other == NULL
		             ? fm_fail(FM_ERR_CONFIG, "instance %s is gone", a->instances[i].name)
		             : same_answers(&a->instances[i], other);
	}
	return rc;
}

int fm_plan_same(const struct fm_plan *sealed, const struct fm_plan *now)
{
	int rc;

	if ((rc = same_text("profile", sealed->profile, now->profile)) != FM_OK ||
	        (rc = same_text("kat", sealed->kat, now->kat)) != FM_OK ||
	        (rc = same_systems(sealed, now)) != FM_OK ||
	        (rc = same_flags(&sealed->flags, &now->flags)) != FM_OK)
		return rc;
	for (size_t i = 0; i < sealed->candidates.count; i++) {
		const struct fm_candidate *a = &sealed->candidates.list[i],
		                          *b = fm_plan_candidate(now, a->id);

		if (b == NULL)
			return fm_fail(FM_ERR_CONFIG,
			        "candidate %s was planned and is not chosen now", a->id);
		if ((rc = same_candidate(a, b)) != FM_OK)
			return fm_wrap(rc, "candidate %s", a->id);
	}
	for (size_t i = 0; i < sealed->cell_count || i < now->cell_count; i++) {
		const char *a = i < sealed->cell_count ? sealed->cells[i] : "",
		           *b = i < now->cell_count ? now->cells[i] : "";

		if (strcmp(a, b) != 0)
			return differs("the list of cells", a, b);
	}
	return FM_OK;
}
