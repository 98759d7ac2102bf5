/* bundle.c: puts one candidate's answer together and seals it; the key is opened only when no child
 * is alive. */
#include "agent/work.h"
#include "protocol/seal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Raw copies for people: one heading a file. */
static int write_host_text(const struct fm_job *j, int out)
{
	static const char *const files[] = {"/proc/version", "/proc/cpuinfo", "/proc/meminfo",
	        "/proc/loadavg", "/proc/cmdline", "/proc/sys/kernel/perf_event_paranoid",
	        "/proc/sys/kernel/randomize_va_space", "/proc/sys/kernel/nmi_watchdog",
	        "/proc/self/status", "/sys/devices/system/cpu/online",
	        "/sys/devices/system/cpu/isolated", "/sys/devices/system/cpu/smt/control",
	        "/sys/devices/system/cpu/intel_pstate/no_turbo",
	        "/sys/devices/system/cpu/cpufreq/boost",
	        "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor",
	        "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq",
	        "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
	        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
	        "/sys/devices/system/cpu/vulnerabilities/spectre_v2",
	        "/sys/devices/system/cpu/vulnerabilities/spec_store_bypass",
	        "/sys/devices/system/cpu/vulnerabilities/meltdown"};
	struct fm_buf text = FM_BUF_INIT(1u << 20);
	char number[12], *content = fm_alloc(1u << 15);
	int rc = content == NULL ? FM_ERR_MEMORY : FM_OK;

	snprintf(number, sizeof number, "%d", j->cpu);
	for (size_t i = 0; rc == FM_OK && i < sizeof files / sizeof files[0]; i++) {
		const char *mark = strstr(files[i], "%d");
		char path[160];
		int n;

		snprintf(path, sizeof path, "%.*s%s%s",
		        mark == NULL ? (int)strlen(files[i]) : (int)(mark - files[i]), files[i],
		        mark == NULL ? "" : number, mark == NULL ? "" : mark + 2);
		n = fm_facts_text(path, content, 1u << 15);
		rc = n < 0 ? fm_buf_printf(&text, "== %s\n(not there)\n", path)
		           : fm_buf_printf(&text, "== %s\n%s%s", path, content,
		                     n > 0 && content[n - 1] == '\n' ? "" : "\n");
	}
	for (size_t i = 0; i < text.len; i++) /* foreign text: nothing that a terminal obeys */
		if (((unsigned char)text.data[i] < 0x20 && text.data[i] != '\n' &&
		            text.data[i] != '\t') ||
		        (unsigned char)text.data[i] > 0x7e)
			text.data[i] = '?';
	if (rc == FM_OK)
		rc = fm_fs_write_deep(out, "env/host.txt", text.data, text.len, 0644);
	free(content);
	fm_buf_free(&text);
	return rc;
}

static int write_samples(const struct fm_job *j, const struct fm_candidate_work *c, int out)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < c->unit_count; i++)
		for (size_t k = 0; rc == FM_OK && k < c->units[i].cell_count; k++)
			if (c->units[i].cells[k].taken_count > 0)
				rc = fm_samples_write(out, &c->units[i].cells[k], j->counter.label);
	return rc;
}

/* Kills and reaps whatever is left, then opens the key for this one signature. */
static int seal(const struct fm_job *j, int out, char hex[65])
{
	struct fm_identity *id = NULL;
	int rc = fm_child_sweep();

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (rc == FM_OK)
		rc = fm_identity_load(j->agent->dir, FM_AGENT_KEY, &id);
	if (rc == FM_OK && !fm_public_equal(fm_identity_public(id), &j->mandate.plan.key))
		rc = fm_fail(FM_ERR_REFUSED, "this host's key changed during the job");
	if (rc == FM_OK)
		rc = fm_seal(out, FM_SEAL_BUNDLE, id, hex);
	fm_identity_free(id);
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return rc;
}

/* The sealed folder takes its place in one step. */
static int publish(const struct fm_job *j, const struct fm_candidate_work *c)
{
	char from[FM_NAME_MAX + 20], to[FM_NAME_MAX + 20];
	int fd = -1, rc = fm_fs_mkdirs(j->dir, "bundles", 0755, &fd);

	if (fd >= 0)
		close(fd);
	snprintf(from, sizeof from, "work/%s/out", c->plan->candidate);
	snprintf(to, sizeof to, "bundles/%s", c->plan->candidate);
	if (rc == FM_OK)
		rc = fm_fs_remove(j->dir, to);
	if (rc == FM_OK)
		rc = fm_fs_rename(j->dir, from, to);
	snprintf(from, sizeof from, "work/%s", c->plan->candidate);
	return rc != FM_OK ? rc : fm_fs_remove(j->dir, from);
}

int fm_job_bundle(struct fm_job *j, struct fm_candidate_work *c)
{
	char hex[65] = "", attempt[12];
	int out = -1, rc = fm_job_stage(j, "bundle", c->plan->candidate, 1);

	snprintf(attempt, sizeof attempt, "%u", c->item->attempt);
	if (rc == FM_OK)
		rc = fm_fs_dir(c->dir, "out", &out);
	if (rc == FM_OK && (rc = write_samples(j, c, out)) == FM_OK &&
	        (rc = write_host_text(j, out)) == FM_OK &&
	        (rc = fm_evidence_write(j, c, out)) == FM_OK && (rc = seal(j, out, hex)) == FM_OK &&
	        (rc = publish(j, c)) == FM_OK)
		rc = fm_lines_put(j->progress, "bundle", "candidate", c->plan->candidate, "attempt",
		        attempt, "job_nonce", c->item->nonce, "manifest_sha256", hex, NULL);
	if (rc == FM_OK)
		rc = fm_lines_sync(j->progress);
	if (out >= 0)
		close(out);
	return fm_wrap(rc, "bundle of %s", c->plan->candidate);
}
