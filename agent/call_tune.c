/* call_tune.c: the call tune: lists, applies or restores settings of this host. */
#include "agent/attach.h"
#include "agent/door.h"
#include "agent/facts.h"
#include "agent/tune.h"

#include <string.h>

int fm_call_tune(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	struct fm_tune_items items = {.count = 0};
	struct fm_tune_sudo sudo = {.refused = false};
	const char *mode;
	char boot[65], word[8];
	int64_t cpu = -1;
	int rc;

	if ((rc = fm_text_take_i64(call, "cpu", &cpu)) != FM_OK ||
	        (rc = fm_text_take(call, "mode", &mode)) != FM_OK)
		return rc;
	snprintf(word, sizeof word, "%s", mode);
	if ((rc = fm_text_close(call)) != FM_OK || (rc = fm_door_refuse_busy("tune")) != FM_OK)
		return rc;
	if (cpu < -1 || cpu > 65535)
		return fm_fail(FM_ERR_FORM, "tune: cpu %lld", (long long)cpu);
	fm_facts_boot(boot);
	if (strcmp(word, "restore") == 0) {
		rc = fm_tune_restore(at->agent->dir, boot, "", &items, &sudo);
	} else if (strcmp(word, "list") == 0 || strcmp(word, "apply") == 0) {
		fm_tune_list("", cpu < 0 ? fm_facts_cpu_last() : (int)cpu, &items);
		if (word[0] == 'a')
			rc = fm_tune_apply(at->agent->dir, boot, "", &items, &sudo);
	} else {
		rc = fm_fail(FM_ERR_FORM, "tune: mode must be list, apply or restore");
	}
	for (size_t i = 0; rc == FM_OK && i < items.count; i++) {
		const struct fm_tune_item *x = &items.at[i];

		rc = fm_text_put(reply, "setting", "%s %s %s %s %s", x->outcome, x->path, x->old,
		        x->wanted, x->now[0] == '\0' ? "-" : x->now);
	}
	if (rc == FM_OK && sudo.refused)
		rc = fm_text_put(reply, "privilege", "sudo -n: %s",
		        sudo.said[0] == '\0' ? "refused" : sudo.said);
	return rc;
}
