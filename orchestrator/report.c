/* report.c: everything derived from a verified tree, candidate after candidate: data/, pages,
 * index; same tree, same bytes. */
#include "orchestrator/report.h"

#include "orchestrator/html.h"
#include "orchestrator/jsonr.h"
#include "orchestrator/report_parts.h"
#include "protocol/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTINGS     "data/report.json"
#define SETTINGS_MAX 4096
#define PROGRAM      "fleetmark " FM_VERSION

void fm_page_warnings(
        struct fm_page *p, const struct fm_report *r, const struct fm_report_system *s)
{
	if (r->mark != NULL)
		fm_page(p, "> %s\n\n", r->mark);
	if (r->plan.publish == 0)
		fm_page(p, "> Not for publication: profile `%s`.\n\n", r->plan.profile);
	if (r->plan.test_world[0] != '\0')
		fm_page(p, "> Made with a test world: none of these figures was measured.\n\n");
	if (s != NULL && s->emulated)
		fm_page(p, "> EMULATED: times not comparable. They are printed to show that the "
		           "line works, never ranked and never "
		           "divided by those of another system.\n\n");
}

int fm_report_page(struct fm_report *r, const char *path, struct fm_page *p)
{
	struct fm_buf html = FM_BUF_INIT(2 * FM_PAGE_MAX);
	size_t stem = strlen(path) - 3;
	char *other = NULL, *title = NULL;
	int rc = fm_page_end(p);

	if (rc != FM_OK)
		return fm_wrap(rc, "%s", path);
	if ((rc = fm_sink_put(&r->sink, path, p->md.data, p->md.len)) != FM_OK)
		return rc;
	rc = FM_ERR_MEMORY;
	other = fm_sprintf("%.*s.html", (int)stem, path);
	title = strndup(p->md.data + 2, strcspn(p->md.data + 2, "\n")); /* behind "# " */
	if (other == NULL || title == NULL)
		goto out;
	if ((rc = fm_html(p, title, r->plan.publish == 0, &html)) == FM_OK)
		rc = fm_sink_put(&r->sink, other, html.data, html.len);
out:
	free(other);
	free(title);
	fm_buf_free(&html);
	return rc;
}

/* data/report.json says which system was the base, so that a later comparison needs no option, and
 * which program wrote data/ and pages. "" where it says nothing that can be. */
static void read_settings(
        int dirfd, char base[FM_NAME_MAX + 1], char program[FM_REPORT_PROGRAM_MAX])
{
	struct fm_buf text = FM_BUF_INIT(SETTINGS_MAX);
	struct fm_json *json = NULL;
	const char *name;

	base[0] = program[0] = '\0';
	if (fm_fs_read(dirfd, SETTINGS, SETTINGS_MAX, &text) != FM_OK)
		return; /* absent: the default base; the comparison will say that it is missing */
	if (fm_json_read_foreign(SETTINGS, text.data, text.len, SETTINGS_MAX, &json) == FM_OK &&
	        fm_json_str(fm_json_root(json), "base", &name) == FM_OK && fm_name_ok(name))
		snprintf(base, FM_NAME_MAX + 1, "%s", name);
	if (json != NULL && fm_json_str(fm_json_root(json), "program", &name) == FM_OK &&
	        strncmp(name, "fleetmark ", 10) == 0 && fm_name_ok(name + 10))
		snprintf(program, FM_REPORT_PROGRAM_MAX, "%s", name);
	fm_json_free(json);
	fm_buf_free(&text);
}

/* candidates.csv makes data/ a data set that stands alone: ID;Algorithm;PageURL. */
static int put_names(struct fm_report *r)
{
	struct fm_buf out = FM_BUF_INIT(SETTINGS_MAX * (r->plan.candidates.count + 1));
	int rc = fm_buf_puts(&out, "ID;Algorithm;PageURL\n");

	for (size_t i = 0; i < r->plan.candidates.count && rc == FM_OK; i++) {
		const struct fm_candidate *c = &r->plan.candidates.list[i];
		size_t from = out.len;
		if ((rc = fm_buf_printf(&out, "%s;%.1000s;%.1000s\n", c->id, c->name,
		             c->page == NULL ? "" : c->page)) != FM_OK)
			break;
		/* no semicolon inside the name */
		char *name = out.data + from + strlen(c->id) + 1;
		for (size_t k = 0; k < strlen(c->name) && k < 1000; k++)
			if (name[k] == ';' || (unsigned char)name[k] < 0x20)
				name[k] = ',';
	}
	if (rc == FM_OK)
		rc = fm_sink_put(&r->sink, "data/candidates.csv", out.data, out.len);
	fm_buf_free(&out);
	return rc;
}

static int put_settings(struct fm_report *r)
{
	struct fm_buf out = FM_BUF_INIT(SETTINGS_MAX);
	struct fm_jsonp w;
	int rc;

	fm_jsonp_start(&w, &out);
	fm_jsonp_int(&w, "form", 1);
	fm_jsonp_str(&w, "program", r->program);
	fm_jsonp_str(&w, "base", r->system_count > 0 ? r->systems[0].plan->name : NULL);
	if ((rc = fm_jsonp_end(&w)) == FM_OK)
		rc = fm_sink_put(&r->sink, SETTINGS, out.data, out.len);
	fm_buf_free(&out);
	return rc;
}

static int make_systems(struct fm_report *r, const char *base)
{
	size_t first = 0, n = r->plan.system_count;

	if (base != NULL) {
		while (first < n && strcmp(r->plan.systems[first].name, base) != 0)
			first++;
		if (first == n)
			return fm_fail(FM_ERR_USAGE,
			        "--base: read %.64s, the campaign has no such system", base);
	}
	if ((r->systems = fm_alloc_array(n + 1, sizeof *r->systems)) == NULL)
		return FM_ERR_MEMORY;
	r->system_count = n;
	for (size_t i = 0; i < n; i++) { /* the base first, the others in inventory order */
		size_t at = i == 0 ? first : i <= first ? i - 1 : i;
		r->systems[i].plan = &r->plan.systems[at];
	}
	return FM_OK;
}

static int one_candidate(struct fm_report *r, const struct fm_candidate *c)
{
	struct fm_side *sides = fm_alloc_array(r->system_count + 1, sizeof *sides);
	int rc = sides == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; i < r->system_count && rc == FM_OK; i++) {
		rc = fm_side_load(r, &r->systems[i], c, &sides[i]);
		if (rc == FM_OK)
			rc = fm_report_keep(r, &sides[i], (int)i);
		if (rc == FM_OK && (rc = fm_export_side(r, &sides[i])) == FM_OK)
			rc = fm_page_candidate(r, &sides[i]);
	}
	if (rc == FM_OK)
		rc = fm_page_compare(r, c, sides);
	for (size_t i = 0; sides != NULL && i < r->system_count; i++)
		fm_side_free(&sides[i]);
	free(sides);
	return rc;
}

static int pages_of_all(struct fm_report *r)
{
	int rc = put_settings(r);

	if (rc == FM_OK)
		rc = put_names(r);

	for (size_t i = 0; i < r->system_count && rc == FM_OK; i++)
		if ((rc = fm_data_system(r, &r->systems[i])) == FM_OK &&
		        (rc = fm_page_summary(r, &r->systems[i])) == FM_OK)
			rc = fm_page_method(r, &r->systems[i]);
	if (rc == FM_OK)
		rc = fm_page_compare_all(r);
	return rc == FM_OK ? fm_page_index(r) : rc;
}

void fm_report_close(struct fm_report *r)
{
	for (size_t i = 0; r->systems != NULL && i < r->system_count; i++) {
		(void)!fm_sink_end(&r->systems[i].builds); /* after an error only */
		for (int k = 0; k < FM_ENV_KEYS; k++)
			free(r->systems[i].env_strings[k]);
	}
	free(r->systems);
	for (size_t i = 0; i < r->word_count; i++)
		free(r->words[i]);
	free(r->words);
	free(r->briefs);
	free(r->baselines);
	fm_sink_free(&r->sink);
	fm_tree_free(&r->tree);
	fm_plan_free(&r->plan);
}

int fm_report_open(struct fm_report *r, int dirfd, const char *base)
{
	int plan = -1, rc;

	memset(r, 0, sizeof *r);
	r->dirfd = dirfd;
	r->sink.dirfd = -1;
	if ((rc = fm_fs_dir(dirfd, "plan", &plan)) != FM_OK)
		return rc;
	rc = fm_plan_read_head(plan, &r->plan);
	close(plan);
	if (rc != FM_OK)
		return rc;
	r->smoke = strcmp(r->plan.profile, "smoke") == 0;
	if ((rc = fm_tree_open(dirfd, &r->tree)) != FM_OK)
		return rc;
	return make_systems(r, base);
}

/* What no sample gives must not lie among the derived files. */
static int look_for_extra(struct fm_report *r)
{
	int rc = fm_sink_extra(&r->sink, "data");

	for (size_t i = 0; i < r->plan.candidates.count && rc == FM_OK; i++)
		rc = fm_sink_extra(&r->sink, r->plan.candidates.list[i].id);
	return rc == FM_OK ? fm_sink_extra_pages(&r->sink) : rc;
}

int fm_report_tree_to(int dirfd, int outfd, const char *base, bool check, bool print)
{
	struct fm_report r;
	char kept[FM_NAME_MAX + 1] = "", program[FM_REPORT_PROGRAM_MAX] = "";
	int end, rc;

	/* compared is what was computed, not the name of the program that did it */
	if (check)
		read_settings(outfd, kept, program);
	if (base == NULL && kept[0] != '\0')
		base = kept;
	rc = fm_report_open(&r, dirfd, base);
	snprintf(r.program, sizeof r.program, "%s", program[0] == '\0' ? PROGRAM : program);
	r.sink = (struct fm_sink){.dirfd = outfd, .check = check, .print = print};
	if (rc == FM_OK)
		rc = fm_export_begin(&r);
	if (rc == FM_OK)
		rc = fm_data_begin(&r);
	for (size_t i = 0; i < r.plan.candidates.count && rc == FM_OK; i++)
		rc = one_candidate(&r, &r.plan.candidates.list[i]);
	if (rc == FM_OK)
		rc = pages_of_all(&r);
	end = fm_export_end(&r);
	rc = rc == FM_OK ? end : rc;
	if (rc == FM_OK)
		rc = look_for_extra(&r);
	if (rc == FM_OK && (rc = fm_sink_sync(&r.sink)) == FM_OK)
		rc = fm_sink_verdict(&r.sink);
	fm_report_close(&r);
	return rc;
}

bool fm_report_other_program(int dirfd, char program[FM_REPORT_PROGRAM_MAX])
{
	char base[FM_NAME_MAX + 1];

	read_settings(dirfd, base, program);
	return program[0] != '\0' && strcmp(program, PROGRAM) != 0;
}

int fm_report_tree(int dirfd, const char *base, bool check)
{
	return fm_report_tree_to(dirfd, dirfd, base, check, false);
}
