/* dataset_candidate.c: cells and build entries of one candidate of a data set; what does not hold
 * is told and shown as a hole. */
#include "orchestrator/dataset_parts.h"
#include "orchestrator/jsonr.h"
#include "orchestrator/out.h"
#include "protocol/fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int copy(char **out, const char *text)
{
	return (*out = fm_strdup(text)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

/* A text of a build entry, NULL if absent or null. */
static int entry_text(const struct fm_json_node *o, const char *key, char **out)
{
	const char *text;
	int rc;

	if (fm_json_is_null(o, key))
		return FM_OK;
	return (rc = fm_json_str(o, key, &text)) != FM_OK ? rc : copy(out, text);
}

static int read_entry(const struct fm_json_node *o, struct fm_builds *builds)
{
	struct fm_build_fig *b;
	const char *label;
	int rc;

	if ((rc = fm_json_str(o, "label", &label)) != FM_OK)
		return rc;
	if (!fm_dataset_label_ok(label))
		return fm_fail(FM_ERR_FORM,
		        "label: letters, digits, . _ + - are allowed, at most %d", FM_LABEL_MAX);
	if (fm_builds_find(builds, label) != NULL)
		return fm_fail(FM_ERR_FORM, "label: %s stands twice", label);
	if ((b = fm_builds_add(builds)) == NULL)
		return FM_ERR_MEMORY;
	snprintf(b->label, sizeof b->label, "%s", label);
	if ((rc = entry_text(o, "variant", &b->variant)) != FM_OK ||
	        (rc = entry_text(o, "flags", &b->flags)) != FM_OK ||
	        (rc = entry_text(o, "kat", &b->kat)) != FM_OK ||
	        (rc = entry_text(o, "library", &b->library)) != FM_OK ||
	        (rc = entry_text(o, "library_sha256", &b->library_sha256)) != FM_OK ||
	        (rc = entry_text(o, "kat_log", &b->kat_log)) != FM_OK ||
	        (rc = entry_text(o, "kat_log_sha256", &b->kat_log_sha256)) != FM_OK ||
	        (!fm_json_is_null(o, "elf_load_bytes") &&
	                (rc = fm_json_int(o, "elf_load_bytes", &b->elf_bytes)) != FM_OK))
		return rc;
	return FM_OK;
}

static void tell(struct fm_dataset *d, int code)
{
	d->findings++;
	fm_out_error(code, NULL, NULL, NULL);
}

/* A record that was refused with this thread's error: a failed cell with the name of its file,
 * "<label>__<operation>_<bytes>.json". */
static int refuse(struct fm_dataset_walk *w, int code, const char *path)
{
	const char *gap = strstr(path, "__"), *end = strrchr(path, '.'), *digits;
	char label[FM_LABEL_MAX + 1], number[24] = "0";
	struct fm_cell_fig *c;
	uint64_t bytes;

	if (gap == NULL || end == NULL || end <= gap + 2 || strcmp(end, ".json") != 0 ||
	        (size_t)(gap - path) > FM_LABEL_MAX || (size_t)(end - gap) > sizeof c->key)
		return code;
	snprintf(label, sizeof label, "%.*s", (int)(gap - path), path);
	if (!fm_dataset_label_ok(label) || (c = fm_cells_add(w->cells)) == NULL)
		return code;
	snprintf(c->label, sizeof c->label, "%s", label);
	snprintf(c->instance, sizeof c->instance, "%.64s", label);
	snprintf(c->key, sizeof c->key, "%.*s", (int)(end - gap - 2), gap + 2);
	if ((digits = strrchr(c->key, '_')) != NULL)
		snprintf(number, sizeof number, "%.20s", digits + 1);
	if (fm_parse_u64(number, 1u << 30, &bytes) == FM_OK)
		c->bytes = (int64_t)bytes;
	if (!fm_dataset_label_ok(c->key)) /* it will stand on pages */
		snprintf(c->key, sizeof c->key, "unknown");
	c->state = FM_CELL_FAILED;
	snprintf(c->klass, sizeof c->klass, "record");
	snprintf(c->reason, sizeof c->reason, "%s", fm_error_reason(code));
	c->text = fm_strdup(fm_error_text());
	tell(w->d, code);
	return c->text == NULL ? FM_ERR_MEMORY : FM_OK;
}

/* Of a label of these cells there is no build entry. */
static void tell_builds(struct fm_dataset *d, const struct fm_dataset_system *s, const char *id,
        const struct fm_cells *cells, const struct fm_builds *builds)
{
	for (size_t i = 0; i < cells->count; i++) {
		const char *label = cells->list[i].label;
		if ((i > 0 && strcmp(cells->list[i - 1].label, label) == 0) ||
		        fm_builds_find(builds, label) != NULL)
			continue;
		tell(d, fm_fail(FM_ERR_FORM, "%s/build.json: instances: no entry %s/%s", s->name,
		                id, label));
	}
}

static int one_record(void *arg, const char *path, const struct stat *st)
{
	struct fm_dataset_walk *w = arg;
	struct fm_record r;
	struct fm_buf text;
	struct fm_cell_fig *c;
	int rc;

	if (S_ISDIR(st->st_mode))
		return fm_fail(FM_ERR_FORM, "%s/%.200s: a folder among records", w->prefix, path);
	if ((rc = fm_dataset_record(w, path, &r, &text)) == FM_ERR_FORM || rc == FM_ERR_SIZE)
		return refuse(w, rc, path);
	if (rc != FM_OK)
		return rc;
	*w->own = *w->own || r.own;
	if (w->each != NULL)
		rc = w->each(w->arg, &r, text.data, text.len);
	if (rc == FM_OK && (c = fm_cells_add(w->cells)) == NULL)
		rc = FM_ERR_MEMORY;
	else if (rc == FM_OK && (rc = fm_cell_from_record(&r, c)) != FM_OK)
		rc = fm_wrap(rc, "%s/%.200s", w->prefix, path);
	fm_record_free(&r);
	fm_buf_free(&text);
	return rc;
}

int fm_dataset_candidate(struct fm_dataset *d, const struct fm_dataset_system *s, const char *id,
        struct fm_cells *cells, struct fm_builds *builds, bool *own, fm_dataset_each *each,
        void *arg)
{
	struct fm_dataset_walk w = {
	        .d = d, .id = id, .cells = cells, .own = own, .each = each, .arg = arg};
	const struct fm_json_node *list, *m;
	const char *candidate;
	int fd = -1, rc;

	*own = false;
	if ((rc = fm_json_object(fm_json_root(s->builds), "instances", &list)) != FM_OK)
		return rc;
	for (m = fm_json_first(list); m != NULL && rc == FM_OK; m = fm_json_next(m))
		if ((rc = fm_json_str(m, "candidate", &candidate)) == FM_OK &&
		        strcmp(candidate, id) == 0)
			rc = read_entry(m, builds);
	if (rc != FM_OK)
		return fm_wrap(rc, "%s/build.json", s->name);
	snprintf(w.prefix, sizeof w.prefix, "%s/records/%s", s->name, id);
	if (faccessat(d->dirfd, w.prefix, F_OK, 0) != 0 && errno == ENOENT)
		return FM_OK;
	if ((rc = fm_fs_dir(d->dirfd, w.prefix, &fd)) != FM_OK)
		return rc;
	rc = fm_fs_walk(fd, FM_DATASET_FILES, one_record, &w);
	close(fd);
	fm_cells_sort(cells);
	if (rc == FM_OK)
		tell_builds(d, s, id, cells, builds);
	return rc;
}
