/* tune.c: writes settings of the kernel and puts them back, with the old values kept on the host
 * from before the first write. */
#include "agent/tune.h"

#include "protocol/fs.h"
#include "protocol/hostfile.h"
#include "protocol/jobtext.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void value_of(const char *root, const char *path, char out[FM_TUNE_TEXT])
{
	char full[2 * FM_TUNE_TEXT], text[4096];

	snprintf(full, sizeof full, "%s%s", root, path);
	if (fm_hostfile_read(full, text, sizeof text) <= 0)
		text[0] = '\0';
	snprintf(out, FM_TUNE_TEXT, "%.*s", (int)strcspn(text, "\n"), text);
}

static bool write_value(
        const char *root, const char *path, const char *value, struct fm_tune_sudo *sudo)
{
	char full[2 * FM_TUNE_TEXT];

	snprintf(full, sizeof full, "%s%s", root, path);
	return fm_tune_write(full, value, sudo);
}

/* "<path> <old> <wanted>"; a value of no bytes or with a space is never changed. */
static bool read_line(const char *value, struct fm_tune_item *i)
{
	char extra;

	memset(i, 0, sizeof *i);
	return sscanf(value, "%159s %159s %159s %c", i->path, i->old, i->wanted, &extra) == 3 &&
	       (strncmp(i->path, "/sys/", 5) == 0 || strncmp(i->path, "/proc/sys/", 10) == 0) &&
	       strstr(i->path, "..") == NULL;
}

/* The state file; empty items and same = true without one. */
static int read_state(int dirfd, const char *boot, struct fm_tune_items *out, bool *same)
{
	struct fm_buf text = FM_BUF_INIT(1u << 16);
	struct fm_text t = {0};
	const char *value;
	char made[65];
	int rc;

	out->count = 0;
	*same = true;
	if ((rc = fm_fs_read(dirfd, FM_TUNE_STATE, 1u << 16, &text)) != FM_OK)
		return rc == FM_ERR_SYSTEM && errno == ENOENT ? FM_OK : rc;
	if ((rc = fm_text_open(&t, "tune", text.data, text.len)) == FM_OK &&
	        (rc = fm_text_take_hex(&t, "boot", made)) == FM_OK)
		*same = strcmp(made, boot) == 0;
	while (rc == FM_OK && fm_text_maybe(&t, "change", &value))
		if (out->count == FM_TUNE_MAX || !read_line(value, &out->at[out->count++]))
			rc = fm_fail(FM_ERR_FORM,
			        FM_TUNE_STATE " line %u: change must be <path> "
			                      "<old> <new>",
			        t.line);
	if (rc == FM_OK)
		rc = fm_text_close(&t);
	fm_text_free(&t);
	fm_buf_free(&text);
	return rc;
}

static int write_state(int dirfd, const char *boot, const struct fm_tune_items *items)
{
	struct fm_buf text = FM_BUF_INIT(1u << 16);
	int rc = fm_text_begin(&text, "tune");

	if (rc == FM_OK)
		rc = fm_text_put(&text, "boot", "%s", boot);
	for (size_t i = 0; rc == FM_OK && i < items->count; i++)
		rc = fm_text_put(&text, "change", "%s %s %s", items->at[i].path, items->at[i].old,
		        items->at[i].wanted);
	if (rc == FM_OK && (rc = fm_text_end(&text)) == FM_OK)
		rc = fm_fs_write(dirfd, FM_TUNE_STATE, text.data, text.len, 0600);
	fm_buf_free(&text);
	return rc;
}

/* An old value that stands there already stays. */
static void keep(struct fm_tune_items *kept, const struct fm_tune_item *x)
{
	for (size_t i = 0; i < kept->count; i++)
		if (strcmp(kept->at[i].path, x->path) == 0) {
			memcpy(kept->at[i].wanted, x->wanted, sizeof x->wanted);
			return;
		}
	if (kept->count < FM_TUNE_MAX)
		kept->at[kept->count++] = *x;
}

int fm_tune_apply(int dirfd, const char *boot, const char *root, struct fm_tune_items *items,
        struct fm_tune_sudo *sudo)
{
	struct fm_tune_items kept;
	bool same;
	int rc = read_state(dirfd, boot, &kept, &same);

	if (rc != FM_OK)
		return rc;
	if (!same)
		kept.count = 0; /* the kernel forgot those */
	for (size_t i = 0; i < items->count; i++)
		keep(&kept, &items->at[i]);
	if (items->count > 0 && (rc = write_state(dirfd, boot, &kept)) != FM_OK)
		return rc;
	for (size_t i = 0; i < items->count; i++) {
		struct fm_tune_item *x = &items->at[i];
		bool written = write_value(root, x->path, x->wanted, sudo);

		value_of(root, x->path, x->now);
		x->outcome = strcmp(x->now, x->wanted) == 0 ? "set" : written ? "kept" : "refused";
	}
	return FM_OK;
}

int fm_tune_restore(int dirfd, const char *boot, const char *root, struct fm_tune_items *out,
        struct fm_tune_sudo *sudo)
{
	struct fm_tune_items state;
	bool same, left = false;
	int rc = read_state(dirfd, boot, &state, &same);

	out->count = 0;
	if (rc != FM_OK || state.count == 0)
		return rc;
	for (size_t i = state.count; i > 0; i--) {
		struct fm_tune_item *x = &out->at[out->count++];

		*x = state.at[i - 1];
		value_of(root, x->path, x->now);
		if (!same) {
			x->outcome = "rebooted";
			continue;
		}
		if (strcmp(x->now, x->old) != 0 && strcmp(x->now, x->wanted) != 0) {
			x->outcome = "foreign";
			continue;
		}
		if (strcmp(x->now, x->old) != 0)
			(void)write_value(root, x->path, x->old, sudo);
		value_of(root, x->path, x->now);
		x->outcome = strcmp(x->now, x->old) == 0 ? "restored" : "refused";
		left = left || strcmp(x->now, x->old) != 0;
	}
	return left ? FM_OK : fm_fs_remove(dirfd, FM_TUNE_STATE);
}
