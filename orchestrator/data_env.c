/* data_env.c: facts of a system as records and pages name them: environment, counter, clock,
 * isolation, KAT files. */
#include "orchestrator/report_parts.h"
#include "protocol/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of a host check, NULL if it is not there or unknown. */
static const struct fm_ev_check *check_of(const struct fm_evidence *e, const char *name)
{
	for (size_t i = 0; i < e->check_count; i++)
		if (strcmp(e->checks[i].check, name) == 0)
			return strcmp(e->checks[i].state, "unknown") == 0 ? NULL : &e->checks[i];
	return NULL;
}

const char *fm_evidence_compiler(const struct fm_evidence *e)
{
	for (size_t i = 0; i < e->toolchain_count; i++)
		if (strcmp(e->toolchain[i].name, "cc") == 0)
			return e->toolchain[i].version;
	return "unknown";
}

/* Smallest, median and largest measured clock of the checks; 0 if none was measured. */
static void clocks_of(const struct fm_evidence *e, int64_t *low, int64_t *middle, int64_t *high)
{
	*low = *middle = *high = 0;
	for (size_t i = 0; i < e->clock_count; i++) {
		int64_t hz = e->clocks[i].measured_hz;
		if (hz <= 0)
			continue;
		*low = *low == 0 || hz < *low ? hz : *low;
		*high = hz > *high ? hz : *high;
	}
	for (size_t i = 0; i < e->clock_count; i++) { /* the one with as many below as above */
		size_t below = 0, equal = 0, known = 0;
		for (size_t k = 0; k < e->clock_count; k++) {
			known += e->clocks[k].measured_hz > 0;
			below += e->clocks[k].measured_hz > 0 &&
			         e->clocks[k].measured_hz < e->clocks[i].measured_hz;
			equal += e->clocks[k].measured_hz == e->clocks[i].measured_hz;
		}
		if (e->clocks[i].measured_hz > 0 && below <= (known - 1) / 2 &&
		        below + equal > (known - 1) / 2)
			*middle = e->clocks[i].measured_hz;
	}
}

/* "performance, 800000 to 2100000 kHz" as the agent writes it. */
static void governor_of(const char *value, struct fm_env *env, struct fm_env_store *store)
{
	unsigned long long low, high;
	size_t n = strcspn(value, ",");

	snprintf(store->governor, sizeof store->governor, "%.*s", (int)n, value);
	fm_env_text(env, FM_ENV_GOVERNOR, store->governor);
	if (sscanf(value + n, ", %llu to %llu kHz", &low, &high) != 2)
		return;
	snprintf(store->low, sizeof store->low, "%llu", low);
	snprintf(store->high, sizeof store->high, "%llu", high);
	fm_env_text(env, FM_ENV_MIN_KHZ, store->low);
	fm_env_text(env, FM_ENV_MAX_KHZ, store->high);
}

void fm_data_env(const char *system, const struct fm_evidence *e, struct fm_env *env,
        struct fm_env_store *store)
{
	static const enum fm_env_key unknown[] = {FM_ENV_LOGICAL_CPUS, FM_ENV_CMAKE, FM_ENV_PYTHON,
	        FM_ENV_PARANOID, FM_ENV_GOVERNOR, FM_ENV_DRIVER, FM_ENV_MIN_KHZ, FM_ENV_MAX_KHZ,
	        FM_ENV_NO_TURBO, FM_ENV_BOOST, FM_ENV_SMT, FM_ENV_CLOCK_HZ, FM_ENV_CLOCK_MIN_HZ,
	        FM_ENV_CLOCK_MAX_HZ, FM_ENV_CLOCK_MHZ};
	const struct fm_ev_check *c;
	int64_t low, middle, high;

	memset(env, 0, sizeof *env);
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		fm_env_text(env, unknown[i], NULL);
	fm_env_text(env, FM_ENV_HOSTNAME, system);
	fm_env_text(env, FM_ENV_ARCHITECTURE, e->host.arch);
	fm_env_text(env, FM_ENV_CPU_MODEL, e->host.cpu_model);
	fm_env_number(env, FM_ENV_CPU_NUMBER, e->measure.cpu);
	snprintf(store->cpus, sizeof store->cpus, "%lld", (long long)e->host.logical_cpus);
	fm_env_text(env, FM_ENV_LOGICAL_CPUS, store->cpus);
	fm_env_truth(env, FM_ENV_VIRTUALIZED, e->host.virtual_machine != 0);
	fm_env_number(env, FM_ENV_MEMORY_KIB, e->host.memory_kib);
	fm_env_text(env, FM_ENV_OS, e->host.os);
	fm_env_text(env, FM_ENV_KERNEL, e->host.kernel);
	fm_env_text(env, FM_ENV_COMPILER, fm_evidence_compiler(e));
	if ((c = check_of(e, "perf_event_paranoid")) != NULL)
		fm_env_text(env, FM_ENV_PARANOID, c->value);
	if ((c = check_of(e, "governor")) != NULL)
		governor_of(c->value, env, store);
	if ((c = check_of(e, "turbo")) != NULL)
		fm_env_text(env,
		        strstr(c->source, "no_turbo") != NULL ? FM_ENV_NO_TURBO : FM_ENV_BOOST,
		        c->value);
	clocks_of(e, &low, &middle, &high);
	if (middle > 0) {
		fm_env_number(env, FM_ENV_CLOCK_HZ, middle);
		fm_env_number(env, FM_ENV_CLOCK_MIN_HZ, low);
		fm_env_number(env, FM_ENV_CLOCK_MAX_HZ, high);
		fm_env_number(env, FM_ENV_CLOCK_MHZ, (middle + 25000000) / 50000000 * 50);
	}
}

static void keep(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text);
}

/* What the guide calls one data set: big and small cores never share one. */
static int same_core_type(const struct fm_report_system *s, const char *core_type)
{
	if (strcmp(s->core_type, core_type) == 0 || strcmp(s->core_type, "unknown") == 0 ||
	        strcmp(core_type, "unknown") == 0)
		return FM_OK;
	return fm_fail(FM_ERR_CONFLICT,
	        "system %s: measured on a core of type %s and on one of type %s, which do not "
	        "belong "
	        "into one data set; give cpu = N in the inventory and measure them again",
	        s->plan->name, s->core_type, core_type);
}

/* The stamps and clock range grow with every bundle; the other facts are those of the first. */
int fm_data_environment(struct fm_report_system *s, const struct fm_evidence *e)
{
	int64_t low, middle, high;

	clocks_of(e, &low, &middle, &high);
	if (!s->any || strcmp(e->clock.started_at, s->started) < 0)
		keep(s->started, sizeof s->started, e->clock.started_at);
	if (!s->any || strcmp(e->clock.finished_at, s->ended) > 0)
		keep(s->ended, sizeof s->ended, e->clock.finished_at);
	if (low > 0 && (s->measured_low == 0 || low < s->measured_low))
		s->measured_low = low;
	if (high > s->measured_high)
		s->measured_high = high;
	s->emulated = s->emulated || fm_evidence_emulated(e);
	if (s->any)
		return same_core_type(s, e->measure.core_type);
	s->any = true;
	s->measured_hz = middle;
	s->nominal_khz = e->clock_count > 0 ? e->clocks[0].nominal_khz : -1;
	keep(s->cpu_model, sizeof s->cpu_model, e->host.cpu_model);
	keep(s->os, sizeof s->os, e->host.os);
	keep(s->kernel, sizeof s->kernel, e->host.kernel);
	keep(s->microcode, sizeof s->microcode, e->host.microcode);
	keep(s->compiler, sizeof s->compiler, fm_evidence_compiler(e));
	keep(s->isolation, sizeof s->isolation, e->isolation.mode);
	keep(s->emulator, sizeof s->emulator, e->host.emulator);
	keep(s->label, sizeof s->label, e->counter.label);
	keep(s->source, sizeof s->source, e->counter.source);
	keep(s->scope, sizeof s->scope, e->counter.scope);
	keep(s->core_type, sizeof s->core_type, e->measure.core_type);
	keep(s->agent_source, sizeof s->agent_source, e->agent.source_sha256);
	s->hz = e->counter.hz;
	s->cpu = e->measure.cpu;
	s->memory_kib = e->host.memory_kib;
	s->virtual_machine = e->host.virtual_machine != 0;
	s->landlock = e->isolation.landlock;
	s->seccomp = e->isolation.seccomp;
	fm_data_env(s->plan->name, e, &s->environment, &s->store);
	for (int k = 0; k < FM_ENV_KEYS; k++) { /* the evidence goes, the environment stays */
		if (s->environment.value[k].kind != FM_ENV_TEXT)
			continue;
		if ((s->env_strings[k] = fm_strdup(s->environment.value[k].text)) == NULL)
			return FM_ERR_MEMORY;
		s->environment.value[k].text = s->env_strings[k];
	}
	return FM_OK;
}

static int by_file(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The files of the official generator; vectors.txt is ours. */
static const char *const official[] = {"KAT_2_12", "KAT_2_23", "KAT_2_33", "KAT_Loop"};

/* Is there a line `generated <hex> strict <file>`: made, but nobody published its digest? */
static bool generated(const struct fm_buf *log, const char *tag)
{
	for (const char *at = log->data; at != NULL; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, "generated ", 10) == 0 && strlen(at) > 82 &&
		        strncmp(at + 82, tag, strlen(tag)) == 0)
			return true;
	}
	return false;
}

/* `manifest <hex> <mode> <file>` lines of a KAT log, sorted by file: digest of them, and which
 * official files are absent. */
int fm_data_kat(const struct fm_side *s, const struct fm_buf *log, struct fm_build_fig *f)
{
	const struct fm_instance *in = fm_candidate_instance(s->candidate, f->instance);
	char *copy = fm_strdup(log->data), *rest = copy, *line;
	const char *agreed[64];
	struct fm_sha256 hash;
	struct fm_buf absent = FM_BUF_INIT(4096);
	size_t n = 0;
	int rc = copy == NULL ? FM_ERR_MEMORY : FM_OK;

	while (rc == FM_OK && (line = strsep(&rest, "\n")) != NULL) {
		char *mode, *file;
		if (strncmp(line, "manifest ", 9) != 0 || (mode = strchr(line + 9, ' ')) == NULL ||
		        (file = strchr(mode + 1, ' ')) == NULL ||
		        n == sizeof agreed / sizeof *agreed)
			continue;
		*file = '\0'; /* "<file>\0" sorts; the line is put together again below */
		agreed[n++] = file + 1;
	}
	if (n > 1)
		qsort(agreed, n, sizeof *agreed, by_file);
	fm_sha256_start(&hash);
	for (size_t i = 0; i < n; i++) {
		const char *start = agreed[i] - 1; /* back to the beginning of its line */
		while (start > copy && start[-1] != '\0')
			start--;
		fm_sha256_add(&hash, start, strlen(start));
		fm_sha256_add(&hash, " ", 1);
		fm_sha256_add(&hash, agreed[i], strlen(agreed[i]));
		fm_sha256_add(&hash, "\n", 1);
	}
	for (size_t k = 0; rc == FM_OK && in != NULL && in->kat_count > 0 && k < 4; k++) {
		bool found = false, made = generated(log, official[k]);
		for (size_t i = 0; i < n; i++)
			found = found || strncmp(agreed[i], official[k], strlen(official[k])) == 0;
		if (!found)
			rc = fm_buf_printf(&absent, "%s%s%s", absent.len > 0 ? ", " : "",
			        official[k], made ? " (no reference)" : "");
	}
	if (rc == FM_OK && n > 0) {
		if ((f->kat_digest = fm_alloc(65)) == NULL)
			rc = FM_ERR_MEMORY;
		else
			fm_sha256_end(&hash, f->kat_digest);
	}
	f->not_run = absent.data;
	free(copy);
	return rc;
}
