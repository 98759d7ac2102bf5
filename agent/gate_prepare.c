/* gate_prepare.c: what the gate stands on: its generators checked once per job, and the long
 * message of KAT_2_33. */
#include "agent/gate_order.h"

#include <string.h>

/* One selftest of the generators; message: with the 1 GiB message of KAT_2_33. */
static int selftest(struct fm_job *j, bool message)
{
	struct fm_buf order = FM_BUF_INIT(4096);
	struct fm_child child = {.out_fd = -1, .result_fd = -1};
	struct fm_run run;
	const char *reason;
	int rc;

	memset(&run, 0, sizeof run);
	if ((rc = fm_order_begin(&order, "selftest")) != FM_OK)
		goto out;
	if (message)
		rc = fm_text_put(&order, "message_file", "%s/" FM_GATE_MESSAGE, j->agent->path);
	if (rc != FM_OK || (rc = fm_text_end(&order)) != FM_OK ||
	        (rc = fm_run_once(j->agent, &order, 3600000u, &child, &run)) != FM_OK)
		goto out;
	reason = fm_run_fact(&run, "reason");
	if (message && fm_streq(run.reason, "memory"))
		fm_agent_clean(reason == NULL ? "" : reason, reason == NULL ? 0 : strlen(reason),
		        j->no_message);
	else if (!fm_run_good(&child, &run))
		rc = fm_fail(FM_ERR_INTERNAL,
		        "the gate's own generators failed their self-test: %s",
		        reason != NULL       ? reason
		        : run.reason != NULL ? run.reason
		                             : "no end");
out:
	fm_run_free(&run);
	fm_child_free(&child);
	fm_buf_free(&order);
	return rc;
}

int fm_gate_prepare(struct fm_job *j)
{
	bool message = false;
	int rc = selftest(j, false);

	for (size_t i = 0; i < j->candidate_count; i++)
		for (size_t k = 0; !j->candidates[i].done && k < j->candidates[i].unit_count; k++)
			message = message || fm_gate_long(j, &j->candidates[i].units[k]);
	if (rc != FM_OK || !message)
		return rc;
	if ((rc = fm_job_note(j, "KAT_2_33: the 1 GiB message is made or checked")) == FM_OK)
		rc = selftest(j, true);
	if (rc == FM_OK && j->no_message[0] != '\0')
		rc = fm_job_note(j, j->no_message);
	return rc;
}
