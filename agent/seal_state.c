/* seal_state.c: finds out what an earlier run finished, so that a started job repeats nothing. */
#include "agent/seal_state.h"
#include "protocol/seal.h"

#include <string.h>

int fm_seal_state_each(void *arg, const struct fm_line *line)
{
	struct fm_job *j = arg;

	if (strcmp(line->kind, "bundle") != 0)
		return FM_OK;
	for (size_t i = 0; i < j->candidate_count; i++) {
		struct fm_candidate_work *c = &j->candidates[i];
		const char *hex = fm_line_get(line, "manifest_sha256");

		if (!fm_streq(fm_line_get(line, "candidate"), c->plan->candidate))
			continue;
		c->done = hex != NULL && fm_hex64_ok(hex) &&
		          fm_streq(fm_line_get(line, "job_nonce"), c->item->nonce);
		if (c->done)
			memcpy(c->sealed_sha256, hex, sizeof c->sealed_sha256);
	}
	return FM_OK;
}

void fm_seal_state_settle(struct fm_job *j)
{
	char path[FM_NAME_MAX + 40], hex[65];

	for (size_t i = 0; i < j->candidate_count; i++) {
		struct fm_candidate_work *c = &j->candidates[i];

		snprintf(path, sizeof path, "bundles/%s/%s", c->plan->candidate, FM_MANIFEST_NAME);
		if (c->done && (fm_fs_sha256(j->dir, path, hex, NULL) != FM_OK ||
		                       strcmp(hex, c->sealed_sha256) != 0))
			c->done = false;
	}
}
