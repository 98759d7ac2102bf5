/* call_host.c: the calls about the host itself: facts, check, remove. */
#include "agent/attach.h"
#include "agent/door.h"
#include "agent/facts.h"
#include "agent/hostcheck.h"
#include "agent/runner.h"
#include "agent/tune.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fm_call_facts(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	struct fm_host_facts f;
	char key[81], controller[81], holder[FM_HOST_TEXT];
	int rc;

	if ((rc = fm_text_close(call)) != FM_OK || (rc = fm_facts_read(at->agent, &f)) != FM_OK ||
	        (rc = fm_agent_public_line(at->agent, FM_AGENT_KEY_PUB, key)) != FM_OK ||
	        (rc = fm_agent_public_line(at->agent, FM_AGENT_CONTROLLER, controller)) != FM_OK)
		return rc;
	(void)fm_door_holder(holder);
	if ((rc = fm_text_put(reply, "agent_version", "%s", FM_VERSION)) != FM_OK ||
	        (rc = fm_text_put(reply, "agent_source", "%s", at->agent->source)) != FM_OK ||
	        (rc = fm_text_put(reply, "agent_sha256", "%s", f.agent_sha256)) != FM_OK ||
	        (rc = fm_text_put(reply, "worker_sha256", "%s", f.worker_sha256)) != FM_OK ||
	        (rc = fm_reply_text(reply, "libsodium", f.libsodium)) != FM_OK ||
	        (rc = fm_text_put(reply, "arch", "%s", FM_ARCH)) != FM_OK ||
	        (rc = fm_text_put(reply, "machine", "%s", f.machine)) != FM_OK ||
	        (rc = fm_text_put(reply, "boot", "%s", f.boot)) != FM_OK ||
	        (rc = fm_reply_text(reply, "cpu_model", f.cpu_model)) != FM_OK ||
	        (rc = fm_reply_text(reply, "microcode", f.microcode)) != FM_OK ||
	        (rc = fm_reply_text(reply, "os", f.os)) != FM_OK ||
	        (rc = fm_reply_text(reply, "kernel", f.kernel)) != FM_OK ||
	        (rc = fm_reply_text(reply, "compiler", f.compiler)) != FM_OK ||
	        (rc = fm_text_put(reply, "emulator", "%s", f.emulator)) != FM_OK ||
	        (rc = fm_text_put(reply, "memory_kib", "%lld", (long long)f.memory_kib)) != FM_OK ||
	        (rc = fm_text_put(reply, "logical_cpus", "%d", f.logical_cpus)) != FM_OK ||
	        (rc = fm_text_put(reply, "virtual", "%d", f.virtual_machine)) != FM_OK ||
	        (rc = fm_text_put(reply, "cpu_last", "%d", f.cpu_last)) != FM_OK ||
	        (rc = fm_text_put(reply, "free_kib", "%lld", (long long)f.free_kib)) != FM_OK ||
	        (rc = fm_text_put(reply, "key", "%s", key)) != FM_OK ||
	        (rc = fm_text_put(reply, "controller", "%s", controller)) != FM_OK ||
	        (rc = fm_reply_text(reply, "holder", holder)) != FM_OK)
		return rc;
	for (size_t i = 0; rc == FM_OK && i < f.missing_count; i++)
		rc = fm_text_put(reply, "missing", "%s", f.missing[i]);
	return rc;
}

int fm_call_check(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	struct fm_host_facts f;
	struct fm_checks checks = {.count = 0};
	struct fm_counter counter;
	const char *wanted = NULL;
	int64_t cpu = -1;
	int rc;

	memset(&counter, 0, sizeof counter);
	if ((rc = fm_text_take_i64(call, "cpu", &cpu)) != FM_OK ||
	        (fm_text_maybe(call, "counter", &wanted) && strcmp(wanted, "raw") != 0 &&
	                (rc = fm_fail(FM_ERR_FORM, "check: counter can only be raw")) != FM_OK) ||
	        (rc = fm_text_close(call)) != FM_OK ||
	        (rc = fm_door_refuse_busy("check")) != FM_OK ||
	        (rc = fm_facts_read(at->agent, &f)) != FM_OK)
		return rc;
	if (cpu < 0)
		cpu = f.cpu_last;
	if ((rc = fm_hostcheck_counter(at->agent, (int)cpu, wanted, f.emulator, &counter)) !=
	                FM_OK ||
	        (rc = fm_hostcheck_run(&f, (int)cpu, &counter, &checks)) != FM_OK ||
	        (rc = fm_text_put(reply, "counter", "%s %s %s %lld", counter.label, counter.source,
	                 counter.scope, (long long)counter.hz)) != FM_OK)
		goto out;
	for (size_t i = 0; rc == FM_OK && i < counter.rejected_count; i++)
		rc = fm_reply_text(reply, "rejected", counter.rejected[i]);
	for (size_t i = 0; rc == FM_OK && i < checks.count; i++)
		rc = fm_hostcheck_put(reply, &checks.at[i]);
	if (rc == FM_OK && faccessat(at->agent->dir, FM_TUNE_STATE, F_OK, 0) == 0)
		rc = fm_hostcheck_put(
		        reply, &(struct fm_check){"tuned", "note", "ok",
		                       "yes; fleetmark tune --restore puts the old values back",
		                       FM_TUNE_STATE});
out:
	fm_counter_free(&counter);
	return rc;
}

/* What an agent or the bootstrap makes in the work folder; the folder may have been somebody's
 * before. */
static bool is_ours(const char *name)
{
	static const char *const names[] = {"agent", "src", "jobs", "key", "key.new", "key.pub",
	        "controller.pub", "nonces", "epoch"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	/* half-written files; a torn end of the list of nonces is kept beside it */
	return strncmp(name, ".probe-", 7) == 0 || strncmp(name, "nonces.", 7) == 0 ||
	       (name[0] == '.' && strlen(name) > 5 && strcmp(name + strlen(name) - 4, ".new") == 0);
}

int fm_call_remove(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	const struct dirent *e;
	int rc, copy;
	DIR *d;

	if ((rc = fm_text_close(call)) != FM_OK || (rc = fm_door_refuse_busy("remove")) != FM_OK)
		return rc;
	if (faccessat(at->agent->dir, FM_TUNE_STATE, F_OK, 0) == 0)
		return fm_fail(FM_ERR_REFUSED,
		        "this host is tuned and its old values are kept here; first: fleetmark "
		        "tune --restore");
	copy = openat(at->agent->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = copy < 0 ? NULL : fdopendir(copy);
	if (d == NULL)
		return fm_fail_errno("%s", at->agent->path);
	while (rc == FM_OK && (e = readdir(d)) != NULL)
		if (is_ours(e->d_name))
			rc = fm_fs_remove(at->agent->dir, e->d_name);
		else if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = fm_reply_text(reply, "left", e->d_name);
	closedir(d);
	if (rc == FM_OK)
		(void)rmdir(at->agent->path);
	return rc;
}
