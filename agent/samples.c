/* samples.c: writes the raw samples and the process table of one cell, every attempt, nothing
 * removed. */
#include "agent/work.h"

#include <string.h>

#define FILE_MAX (64u << 20)

enum column { COL_PROCESS, COL_CALLS, COL_NS, COL_COUNT, COL_EVENTS };

static uint64_t value(const struct fm_process *p, const struct fm_run_window *w, enum column column)
{
	switch (column) {
	case COL_PROCESS:
		return (uint64_t)p->col[FM_COL_process];
	case COL_CALLS:
		return w->calls;
	case COL_NS:
		return w->ns;
	case COL_COUNT:
		return w->count;
	case COL_EVENTS:
		return w->events;
	}
	return 0;
}

static int write_column(
        int out, const struct fm_cell_work *cell, const char *name, enum column column)
{
	struct fm_buf text = FM_BUF_INIT(FILE_MAX);
	char path[300];
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < cell->taken_count; i++)
		for (size_t k = 0; rc == FM_OK && k < (size_t)cell->taken[i].col[FM_COL_windows];
		        k++)
			rc = fm_buf_printf(&text, "%llu\n",
			        (unsigned long long)value(
			                &cell->taken[i], &cell->taken[i].windows[k], column));
	snprintf(path, sizeof path, "samples/%s.%s.txt", cell->stem, name);
	if (rc == FM_OK)
		rc = fm_fs_write_deep(
		        out, path, text.data == NULL ? "" : text.data, text.len, 0644);
	fm_buf_free(&text);
	return rc;
}

/* The process that took the place of number i, -1 if none did: the next attempt of its slot. */
static long long replaced_by(const struct fm_cell_work *cell, size_t i)
{
	const int64_t *col = cell->taken[i].col;

	if (col[FM_COL_state] == FM_ACCEPTED || col[FM_COL_reason] == FM_WHY_SUPERSEDED)
		return -1;
	for (size_t k = i + 1; k < cell->taken_count; k++)
		if (cell->taken[k].col[FM_COL_round] == col[FM_COL_round])
			return (long long)cell->taken[k].col[FM_COL_process];
	return -1;
}

static int write_table(int out, const struct fm_cell_work *cell)
{
	struct fm_buf text = FM_BUF_INIT(FILE_MAX);
	char path[300];
	int rc = FM_OK;

	for (int i = 0; rc == FM_OK && i < FM_COLUMN_COUNT; i++)
		rc = fm_buf_printf(&text, "%s%s", i == 0 ? "" : "\t", fm_column_names[i]);
	if (rc == FM_OK)
		rc = fm_buf_puts(&text, "\n");
	for (size_t k = 0; rc == FM_OK && k < cell->taken_count; k++) {
		for (int i = 0; rc == FM_OK && i < FM_COLUMN_COUNT; i++)
			rc = fm_buf_printf(&text, "%s%lld", i == 0 ? "" : "\t",
			        i == FM_COL_replaced_by ? replaced_by(cell, k)
			                                : (long long)cell->taken[k].col[i]);
		if (rc == FM_OK)
			rc = fm_buf_puts(&text, "\n");
	}
	snprintf(path, sizeof path, "env/%s.process.tsv", cell->stem);
	if (rc == FM_OK)
		rc = fm_fs_write_deep(out, path, text.data, text.len, 0644);
	fm_buf_free(&text);
	return rc;
}

int fm_samples_write(int out, const struct fm_cell_work *cell, const char *label)
{
	int rc;

	if ((rc = write_column(out, cell, "process", COL_PROCESS)) != FM_OK ||
	        (rc = write_column(out, cell, "calls", COL_CALLS)) != FM_OK ||
	        (rc = write_column(out, cell, "ns", COL_NS)) != FM_OK ||
	        (rc = write_column(out, cell, "events", COL_EVENTS)) != FM_OK)
		return rc;
	if (strcmp(label, "ns") != 0 && (rc = write_column(out, cell, label, COL_COUNT)) != FM_OK)
		return rc;
	return write_table(out, cell);
}
