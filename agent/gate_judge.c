/* gate_judge.c: from a worker's end and words to one status of the gate. */
#include "agent/gate_judge.h"

#include <string.h>
#include <sys/wait.h>

/* Reasons of `end fail` that are the host's and no verdict on the candidate. */
static bool host_fault(const char *reason)
{
	static const char *const words[] = {
	        "order", "pin", "aslr", "memory", "drng", "system", "counter"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (fm_streq(reason, words[i]))
			return true;
	return false;
}

static bool known_status(const char *status)
{
	static const char *const words[] = {"PASS", "NOKAT", "MISMATCH", "CRYPTOFAIL", "OVERFLOW",
	        "LOADFAIL", "TIMEOUT", "CRASH"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(status, words[i]) == 0)
			return true;
	return false;
}

/* The unit's status from how its worker ended and what it said. */
void fm_gate_judge(struct fm_unit *u, const struct fm_child *child, const struct fm_run *run)
{
	const char *words = fm_run_fact(run, "kat_reason"), *reason = fm_run_fact(run, "reason");
	const char *status = "CRASH";
	char how[FM_HOST_TEXT] = "";

	if (words == NULL)
		words = reason;
	if (child->killed == FM_CHILD_TIMEOUT) {
		status = "TIMEOUT";
		snprintf(how, sizeof how, "deadline passed%s%.100s",
		        run->file[0] != '\0' ? " in " : "", run->file);
	} else if (WIFSIGNALED(child->status) || run->malformed || run->reason == NULL) {
		(void)fm_child_good(child, how, sizeof how);
		if (how[0] == '\0')
			snprintf(how, sizeof how, "ended without a result");
	} else if (fm_run_good(child, run) && !fm_streq(fm_run_fact(run, "token"), u->kat_token) &&
	           u->kat_token[0] != '\0') {
		snprintf(how, sizeof how, "results that are not the worker's own");
		words = NULL;
	} else if (fm_run_good(child, run) && known_status(run->status)) {
		status = run->status;
	} else if (known_status(run->status) && strcmp(run->status, "PASS") != 0 &&
	           strcmp(run->status, "NOKAT") != 0) {
		status = run->status;
		snprintf(how, sizeof how, "%s%s%.100s", run->reason,
		        run->file[0] != '\0' ? " in " : "", run->file);
	} else if (fm_streq(run->reason, "library")) {
		status = "LOADFAIL";
	} else if (host_fault(run->reason)) {
		status = "LOADFAIL";
		u->kat_missing = true;
		u->kat_word = fm_streq(run->reason, "memory") ? "memory" : NULL;
		snprintf(how, sizeof how, "%s", run->reason);
	}
	if (words != NULL)
		fm_agent_clean(words, strlen(words), u->kat_reason);
	else
		fm_agent_clean(how, strlen(how), u->kat_reason);
	snprintf(u->kat_status, sizeof u->kat_status, "%s", status);
}
