/* anchor.c: reads the controller's public line that a reader has from elsewhere than the tree. */
#include "orchestrator/anchor.h"
#include "orchestrator/home.h"
#include "protocol/fs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define ANCHOR_MAX 1024

int fm_anchor_read(const struct fm_options *o, struct fm_public *out)
{
	struct fm_buf text = FM_BUF_INIT(ANCHOR_MAX);
	char *path = NULL;
	int rc = FM_ERR_MEMORY;

	if ((path = o->anchor != NULL ? fm_strdup(o->anchor) : fm_home_path("controller.pub")) ==
	        NULL)
		goto out;
	if ((rc = fm_fs_read(AT_FDCWD, path, ANCHOR_MAX, &text)) != FM_OK) {
		rc = fm_fail(FM_ERR_USAGE,
		        "%s cannot be read; give the controller's public line, obtained apart from "
		        "the tree, with --key FILE",
		        path);
		goto out;
	}
	if (text.len > 0) {
		text.data[strcspn(text.data, "\r\n")] = '\0';
		if (strlen(text.data) > FM_PUBLIC_LINE && text.data[FM_PUBLIC_LINE] == ' ')
			text.data[FM_PUBLIC_LINE] = '\0';
	}
	if ((rc = fm_public_parse(text.len > 0 ? text.data : "", out)) != FM_OK)
		rc = fm_fail(FM_ERR_USAGE, "%s: no line 'ssh-ed25519 ...'", path);
out:
	free(path);
	fm_buf_free(&text);
	return rc;
}
