/* report_tables.c: compare.md of a published data set that comes with tables: its systems side by
 * side, with the places that swap. */
#include "orchestrator/report_tables.h"

#include "orchestrator/chart.h"
#include "orchestrator/html.h"
#include "orchestrator/number.h"
#include "orchestrator/page.h"
#include "protocol/fs.h"
#include "protocol/path.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLE_MAX (1u << 20)
#define LARGE     65536
#define SYSTEMS   8 /* side by side on one page */

/* One instance at one size; NAN where a system has no row. */
struct row {
	char candidate[FM_NAME_MAX + 1], label[FM_NAME_MAX + 17];
	long bytes;
	double per_byte[SYSTEMS];
	size_t rank[SYSTEMS];
};
struct tables {
	const char *const *systems;
	size_t system_count;
	struct row *rows;
	size_t count;
};

static struct row *find_or_add(
        struct tables *t, const char *candidate, const char *label, long bytes)
{
	struct row *r;

	for (size_t i = 0; i < t->count; i++)
		if (t->rows[i].bytes == bytes && strcmp(t->rows[i].candidate, candidate) == 0 &&
		        strcmp(t->rows[i].label, label) == 0)
			return &t->rows[i];
	if ((r = fm_grow(&t->rows, &t->count, sizeof *r)) == NULL)
		return NULL;
	snprintf(r->candidate, sizeof r->candidate, "%s", candidate);
	snprintf(r->label, sizeof r->label, "%s", label);
	r->bytes = bytes;
	for (size_t i = 0; i < SYSTEMS; i++)
		r->per_byte[i] = NAN;
	return r;
}

/* instance,bytes,mean_cycles,cycles_per_byte,... */
static int take_line(struct tables *t, size_t system, const char *candidate, const char *what,
        char *line, size_t number)
{
	char *rest = line, *label = strsep(&rest, ","), *bytes = strsep(&rest, ","),
	     *cycles = strsep(&rest, ","), *per_byte = strsep(&rest, ","), *end = NULL;
	struct row *r;
	uint64_t n;
	double v;

	if (rest == NULL || cycles == NULL ||
	        label[strspn(label,
	                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-")] !=
	                '\0' ||
	        *label == '\0' || strlen(label) >= sizeof r->label ||
	        fm_parse_u64(bytes, 1u << 30, &n) != FM_OK)
		return fm_fail(FM_ERR_FORM,
		        "%s: line %zu: must be instance,bytes,cycles,cycles/byte,...", what,
		        number);
	v = strtod(per_byte, &end);
	if (end == per_byte || *end != '\0' || !(v > 0) || !isfinite(v))
		return fm_fail(FM_ERR_FORM, "%s: line %zu: cycles_per_byte: read %.20s", what,
		        number, per_byte);
	if ((r = find_or_add(t, candidate, label, (long)n)) == NULL)
		return FM_ERR_MEMORY;
	r->per_byte[system] = v;
	return FM_OK;
}

struct visit {
	struct tables *t;
	int fd;
};

static int one_table(void *arg, const char *path, const struct stat *st)
{
	struct visit *v = arg;
	char candidate[FM_NAME_MAX + 1];
	struct fm_buf text;
	size_t system = 0, n, number = 0;
	int rc;

	if (!S_ISREG(st->st_mode))
		return FM_OK;
	for (;; system++) { /* <system>_<candidate>.csv */
		if (system == v->t->system_count)
			return FM_OK;
		n = strlen(v->t->systems[system]);
		if (strncmp(path, v->t->systems[system], n) == 0 && path[n] == '_')
			break;
	}
	snprintf(candidate, sizeof candidate, "%.64s", path + n + 1);
	candidate[strcspn(candidate, ".")] = '\0';
	if ((rc = fm_name_check(path, candidate)) != FM_OK ||
	        (rc = fm_fs_read(v->fd, path, TABLE_MAX, &text)) != FM_OK)
		return rc;
	char *rest = text.data, *line;
	while (rc == FM_OK && (line = strsep(&rest, "\n")) != NULL)
		if (number++ > 0 && *line != '\0')
			rc = take_line(v->t, system, candidate, path, line, number);
	fm_buf_free(&text);
	return rc;
}

/* Digest bits that a label ends in, 0 for an XOF or another name: those are not ranked. */
static long digest_of(const char *label)
{
	const char *dash = strrchr(label, '-');
	uint64_t bits;

	if (dash == NULL || strstr(label, "XOF") != NULL ||
	        fm_parse_u64(dash + 1, 65536, &bits) != FM_OK)
		return 0;
	return (long)bits;
}

static int by_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	long p = digest_of(x->label), q = digest_of(y->label);
	double v = isnan(x->per_byte[0]) ? INFINITY : x->per_byte[0],
	       w = isnan(y->per_byte[0]) ? INFINITY : y->per_byte[0];

	if (p != q)
		return p < q ? -1 : 1;
	if (p != 0 && (x->bytes == LARGE) != (y->bytes == LARGE))
		return x->bytes == LARGE ? -1 : 1;
	if (p != 0 && x->bytes == LARGE && v != w)
		return v < w ? -1 : 1;
	int d = strcmp(x->candidate, y->candidate);
	if (d == 0)
		d = fm_natural(x->label, y->label);
	return d != 0 ? d : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static void rank(struct row *rows, size_t count, size_t systems)
{
	for (size_t s = 0; s < systems; s++)
		for (size_t i = 0; i < count; i++) {
			if (isnan(rows[i].per_byte[s]))
				continue;
			rows[i].rank[s] = 1;
			for (size_t k = 0; k < count; k++)
				rows[i].rank[s] += rows[k].per_byte[s] < rows[i].per_byte[s];
		}
}

static void rank_row(struct fm_page *p, const struct tables *t, const struct row *r)
{
	fm_page(p, "| %s | `%s` |", r->candidate, r->label);
	for (size_t s = 0; s < t->system_count; s++) {
		fm_page(p, " %s |", fm_n_per_byte(r->per_byte[s]).s);
		if (r->rank[s] == 0)
			fm_page(p, " \xe2\x80\x93 |");
		else if (s == 0 || r->rank[0] == 0)
			fm_page(p, " %zu |", r->rank[s]);
		else if (r->rank[s] == r->rank[0])
			fm_page(p, " %zu (=) |", r->rank[s]);
		else if (r->rank[s] < r->rank[0])
			fm_page(p, " %zu (\xe2\x96\xb2 %zu) |", r->rank[s],
			        r->rank[0] - r->rank[s]);
		else
			fm_page(p, " %zu (\xe2\x96\xbc %zu) |", r->rank[s],
			        r->rank[s] - r->rank[0]);
	}
	fm_page(p, "\n");
}

static int bars(struct fm_page *p, const struct tables *t, const struct row *rows, size_t count,
        long digest)
{
	struct fm_bar *list = fm_alloc_array(count * t->system_count + 1, sizeof *list);
	struct fm_buf svg = FM_BUF_INIT(FM_CHART_MAX);
	char title[96];
	size_t n = 0;
	int rc = list == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; i < count && rc == FM_OK; i++)
		for (size_t s = 0; s < t->system_count; s++) {
			double v = rows[i].per_byte[s];
			if (isnan(v))
				continue;
			snprintf(list[n].group, sizeof list[n].group, "%.20s %.70s",
			        rows[i].candidate, rows[i].label);
			snprintf(list[n].text, sizeof list[n].text, "%s", fm_n_per_byte(v).s);
			list[n].look = (int)s;
			list[n].value = list[n].low = list[n].high = v;
			n++;
		}
	snprintf(title, sizeof title, "Digest of %ld bits: cycles per byte at 64 KiB", digest);
	if (rc == FM_OK)
		rc = fm_chart_draw_bars(&svg, p->chart_count + 1, title, "cycles/byte, mean", list,
		        n, t->systems, t->system_count);
	if (rc == FM_OK)
		fm_page_chart(p, "compare.html", title, &svg);
	fm_buf_free(&svg);
	free(list);
	return rc;
}

/* Places as a picture: the rows that every system has. */
static int places(struct fm_page *p, const struct tables *t, const struct row *rows, size_t count,
        long digest)
{
	struct fm_rank_line *lines = fm_alloc_array(count + 1, sizeof *lines);
	struct fm_buf svg = FM_BUF_INIT(FM_CHART_MAX);
	char title[96];
	size_t n = 0;
	int rc = lines == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; i < count && rc == FM_OK; i++) {
		bool all = true;
		for (size_t s = 0; s < t->system_count; s++)
			all = all && (lines[n].rank[s] = rows[i].rank[s]) > 0;
		snprintf(lines[n].name, sizeof lines[n].name, "%s", rows[i].label);
		n += all;
	}
	snprintf(title, sizeof title, "Digest of %ld bits: places at 64 KiB", digest);
	if (rc == FM_OK && n > 1 && t->system_count > 1) {
		rc = fm_chart_ranks(
		        &svg, p->chart_count + 1, title, t->systems, t->system_count, lines, n);
		if (rc == FM_OK)
			fm_page_chart(p, "compare.html", title, &svg);
	}
	fm_buf_free(&svg);
	free(lines);
	return rc;
}

static int write_ranks(struct fm_page *p, struct tables *t)
{
	int rc = FM_OK;

	for (size_t from = 0, to; from < t->count && rc == FM_OK; from = to) {
		long digest = digest_of(t->rows[from].label);
		for (to = from + 1; to < t->count && digest_of(t->rows[to].label) == digest &&
		                    t->rows[to].bytes == t->rows[from].bytes;
		        to++)
			;
		if (digest == 0 || t->rows[from].bytes != LARGE)
			continue;
		rank(t->rows + from, to - from, t->system_count);
		fm_page(p, "### Digest %ld bits\n\n| candidate | instance |", digest);
		for (size_t s = 0; s < t->system_count; s++)
			fm_page(p, " %s c/B | rank |", t->systems[s]);
		fm_page(p, "\n|---|---|");
		for (size_t s = 0; s < t->system_count; s++)
			fm_page(p, "---|---|");
		fm_page(p, "\n");
		for (size_t i = from; i < to; i++)
			rank_row(p, t, &t->rows[i]);
		fm_page(p, "\n");
		if ((rc = places(p, t, t->rows + from, to - from, digest)) == FM_OK)
			rc = bars(p, t, t->rows + from, to - from, digest);
	}
	return rc;
}

static int by_candidate(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int d = strcmp(x->candidate, y->candidate);

	if (d == 0)
		d = fm_natural(x->label, y->label);
	return d != 0 ? d : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static void write_sizes(struct fm_page *p, struct tables *t)
{
	const char *last = "";

	qsort(t->rows, t->count, sizeof *t->rows, by_candidate);
	fm_page(p, "## All sizes\n\n");
	for (size_t i = 0; i < t->count; i++) {
		const struct row *r = &t->rows[i];
		if (strcmp(last, r->candidate) != 0) {
			fm_page(p, "%s### %s\n\n| instance | message |", i > 0 ? "\n" : "",
			        r->candidate);
			for (size_t s = 0; s < t->system_count; s++)
				fm_page(p, " %s c/B |", t->systems[s]);
			for (size_t s = 1; s < t->system_count; s++)
				fm_page(p, " %s / %s |", t->systems[s], t->systems[0]);
			fm_page(p, "\n|---|---|");
			for (size_t s = 0; s + 1 < 2 * t->system_count; s++)
				fm_page(p, "---|");
			fm_page(p, "\n");
			last = r->candidate;
		}
		fm_page(p, "| `%s` | %ld B |", r->label, r->bytes);
		for (size_t s = 0; s < t->system_count; s++)
			fm_page(p, " %s |", fm_n_per_byte(r->per_byte[s]).s);
		for (size_t s = 1; s < t->system_count; s++)
			fm_page(p, " %s |", fm_n_decimals(r->per_byte[s] / r->per_byte[0], 2).s);
		fm_page(p, "\n");
	}
	fm_page(p, "\n");
}

static int write_page(struct tables *t, struct fm_sink *sink, const char *links)
{
	struct fm_buf html = FM_BUF_INIT(FM_PAGE_MAX);
	struct fm_page page;
	int rc;

	fm_page_start(&page);
	fm_page(&page,
	        "# Published tables, systems side by side\n\n%s> Published elsewhere, "
	        "unsigned: copied from the tables of another project, "
	        "not measured by Fleetmark.\n\nCycles per byte as printed there (means of "
	        "five processes); the tables hold no "
	        "intervals, so the order is the plain one and equal figures share a rank. "
	        "Systems:",
	        links == NULL ? "" : links);
	for (size_t s = 0; s < t->system_count; s++)
		fm_page(&page, "%s %s", s > 0 ? "," : "", t->systems[s]);
	fm_page(&page, ". In brackets: change against %s.\n\n## Rank at 64 KiB\n\n", t->systems[0]);
	qsort(t->rows, t->count, sizeof *t->rows, by_first);
	if ((rc = write_ranks(&page, t)) != FM_OK)
		goto out;
	write_sizes(&page, t);
	if ((rc = fm_page_end(&page)) != FM_OK ||
	        (rc = fm_html(&page, "Published tables, systems side by side", false, &html)) !=
	                FM_OK ||
	        (rc = fm_sink_put(sink, "compare.md", page.md.data, page.md.len)) != FM_OK)
		goto out;
	rc = fm_sink_put(sink, "compare.html", html.data, html.len);
out:
	fm_page_free(&page);
	fm_buf_free(&html);
	return rc;
}

int fm_report_tables(int datafd, const char *const *systems, size_t system_count,
        struct fm_sink *sink, const char *links)
{
	struct tables t = {.systems = systems,
	        .system_count = system_count < SYSTEMS ? system_count : SYSTEMS};
	struct visit v = {&t, openat(datafd, "tables", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	int above, rc;

	if (v.fd < 0 && (above = openat(datafd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
		v.fd = openat(above, "tables", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(above);
	}
	if (v.fd < 0)
		return FM_OK; /* no tables, no page */
	rc = fm_fs_walk(v.fd, 100000, one_table, &v);
	close(v.fd);
	if (rc == FM_OK && t.count > 0)
		rc = write_page(&t, sink, links);
	free(t.rows);
	return rc;
}
