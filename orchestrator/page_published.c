/* page_published.c: a candidate page in the layout of the published pages, byte for byte, and in
 * the form of their site. */
#include "orchestrator/number.h"
#include "orchestrator/page_data.h"
#include "orchestrator/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DASH    "\xe2\x80\x93"
#define HARNESS "[harness](https://github.com/ngcc-dev/ngcc-harness)"

int fm_page_arch(const char *arch, const char **name, const char **guide)
{
	bool arm = strcmp(arch, "aarch64") == 0;

	*name = *guide = "";
	if (!arm && strcmp(arch, "x86_64") != 0)
		return fm_fail(
		        FM_ERR_FORM, "architecture: read %.40s, allowed are x86_64, aarch64", arch);
	*name = arm ? "AArch64" : "x86-64";
	*guide = arm ? "ARM" : "x86";
	return FM_OK;
}

struct fm_num fm_page_n(const struct fm_cell_fig *c)
{
	struct fm_num n;

	if (c->iterations < 0)
		snprintf(n.s, sizeof n.s, "%lld (%lld processes)", (long long)c->measurements,
		        (long long)c->trials);
	else
		snprintf(n.s, sizeof n.s, "%lld (%lld \xc3\x97 %lld)", (long long)c->measurements,
		        (long long)c->trials, (long long)c->iterations);
	return n;
}

static const char *env_or(const struct fm_env *env, enum fm_env_key key, const char *otherwise)
{
	const char *text = fm_env_get(env, key);
	return text == NULL ? otherwise : text;
}

static bool is(const struct fm_env *env, enum fm_env_key key, const char *text)
{
	return strcmp(env_or(env, key, ""), text) == 0;
}

static const char *turbo(const struct fm_env *env)
{
	if (is(env, FM_ENV_NO_TURBO, "1"))
		return "off";
	if (is(env, FM_ENV_NO_TURBO, "0"))
		return "on";
	if (is(env, FM_ENV_BOOST, "0"))
		return "off";
	return is(env, FM_ENV_BOOST, "1") ? "on" : "unknown";
}

static double khz(const struct fm_env *env, enum fm_env_key key)
{
	uint64_t v;
	const char *text = fm_env_get(env, key);
	return text != NULL && fm_parse_u64(text, 1u << 30, &v) == FM_OK ? (double)v : NAN;
}

void fm_page_clock(struct fm_page *p, const struct fm_env *env)
{
	double least = khz(env, FM_ENV_MIN_KHZ), most = khz(env, FM_ENV_MAX_KHZ);
	const char *smt = env_or(env, FM_ENV_SMT, "unknown");
	bool none = strcmp(smt, "notsupported") == 0 || strcmp(smt, "notimplemented") == 0;

	if (is(env, FM_ENV_ARCHITECTURE, "aarch64") && isfinite(most) && least == most) {
		fm_page(p, "fixed %s GHz (governor ", fm_n_ghz(most).s);
		fm_page_plain(p, "governor", env_or(env, FM_ENV_GOVERNOR, "unknown"));
		fm_page(p, ", minimum = maximum), boost %s, SMT ", turbo(env));
	} else if (fm_env_get(env, FM_ENV_DRIVER) == NULL &&
	           env->value[FM_ENV_CLOCK_HZ].kind == FM_ENV_NUMBER) {
		fm_page(p, "measured %s GHz, set by firmware, SMT ",
		        fm_n_ghz((double)env->value[FM_ENV_CLOCK_HZ].number / 1e3).s);
	} else {
		fm_page(p, "max %s GHz, governor ", isfinite(most) ? fm_n_ghz(most).s : "unknown");
		fm_page_plain(p, "governor", env_or(env, FM_ENV_GOVERNOR, "unknown"));
		fm_page(p, ", turbo %s, SMT ", turbo(env));
		none = false;
	}
	fm_page_plain(p, "smt_control", none ? "none" : smt);
}

static void plain_cell(struct fm_page *p, const char *what, const char *text)
{
	fm_page(p, " ");
	fm_page_plain(p, what, text);
	fm_page(p, " |");
}

static void write_head(
        struct fm_page *p, const struct fm_page_published *d, const char *arch, const char *guide)
{
	if (d->site) {
		fm_page(p, "<!-- synchronized from harness: %s/perf_%s.md -->\n", d->id, d->system);
		fm_page(p,
		        "<p class=\"crumb\"><a href=\"../index.md\">Performance measurements</a> "
		        "\xe2\x80\xba "
		        "<a href=\"index.md\">%s</a> \xe2\x80\xba <code>%s</code> \xc2\xb7 "
		        "system: ",
		        d->system, d->id);
		for (size_t i = 0; i < d->system_count; i++) {
			const char *s = d->systems[i], *gap = i > 0 ? " \xc2\xb7 " : "";
			if (strcmp(s, d->system) == 0)
				fm_page(p, "%s<strong>%s</strong>", gap, s);
			else
				fm_page(p, "%s<a href=\"../%s/%s.md\">%s</a>", gap, s, d->id, s);
		}
		fm_page(p, "</p>\n\n");
	}
	fm_page(p, "# %s ", d->id);
	fm_page_plain(p, "name", d->name);
	fm_page(p, " \xe2\x80\x94 performance on %s (system %s)\n\n", arch, d->system);
	if (!d->site) {
		fm_page(p,
		        "[Performance %s](../performance/summary_%s.md) \xe2\x80\xba `%s` \xc2\xb7 "
		        "[method](../performance/method_%s.md) \xc2\xb7 [NICCS page](",
		        d->system, d->system, d->id, d->system);
		fm_page_plain(p, "page", d->address);
		fm_page(p, ")\n\n");
	}
	if (d->side != NULL) {
		fm_page(p, "[Index](../index.md) \xc2\xb7 [side by side](compare.md)\n\n");
		fm_page_warnings(p, d->report, d->side->system);
	}
	fm_page(p,
	        "Independent measurement following the structure of the NICCS %s self-assessment "
	        "guide, "
	        "\xc2\xa7"
	        "3.5 (1)\xe2\x80\x93(7). Not a submitter self-assessment.\n\n",
	        guide);
}

static bool is_avx2(const char *label)
{
	size_t n = strlen(label);
	return n >= 5 && strcmp(label + n - 5, "-avx2") == 0;
}

static void write_basic(
        struct fm_page *p, const struct fm_page_published *d, const char **labels, size_t count)
{
	bool avx2 = false, reference = false;

	for (size_t i = 0; i < count; i++) {
		avx2 = avx2 || is_avx2(labels[i]);
		reference = reference || !is_avx2(labels[i]);
	}
	fm_page(p, "## 1. Basic information\n\n- Category: cryptographic hash algorithm; function: "
	           "hash\n- Algorithm: ");
	fm_page_plain(p, "name", d->name);
	fm_page(p, "\n- Implementation versions measured: %s%s%s\n- Parameter sets:",
	        avx2 ? "optimized (AVX2)" : "", avx2 && reference ? ", " : "",
	        reference ? "reference" : "");
	for (size_t i = 0; i < count; i++)
		fm_page(p, "%s `%s`", i > 0 ? "," : "", labels[i]);
	fm_page(p, "\n");
	if (d->site) {
		fm_page(p, "- Security evaluation: [%s report](../../reports/%s.md)\n", d->id,
		        d->id);
		fm_page(p,
		        "- Measurement method: [%s method](method.md)\n- Submission: [NICCS page](",
		        d->system);
		fm_page_plain(p, "page", d->address);
		fm_page(p, ")\n");
	}
	fm_page(p, "\n");
}

static void write_environment(struct fm_page *p, const struct fm_page_published *d)
{
	const struct fm_env *env = d->env;

	fm_page(p, "## 2. Assessment environment\n\n| item | value |\n|---|---|\n| processor | ");
	fm_page_plain(p, "cpu_model", env_or(env, FM_ENV_CPU_MODEL, "unknown"));
	fm_page(p, " (CPU %lld, one core) |\n", (long long)env->value[FM_ENV_CPU_NUMBER].number);
	if (fm_env_get(env, FM_ENV_MACHINE) != NULL) {
		fm_page(p, "| machine |");
		plain_cell(p, "machine", fm_env_get(env, FM_ENV_MACHINE));
		fm_page(p, "\n");
	}
	fm_page(p, "| clock | ");
	fm_page_clock(p, env);
	fm_page(p, " |\n| memory | %s |\n| OS / kernel | ",
	        fm_n_mib_of_kib(env->value[FM_ENV_MEMORY_KIB].number).s);
	fm_page_plain(p, "os", env_or(env, FM_ENV_OS, "unknown"));
	fm_page(p, " / ");
	fm_page_plain(p, "kernel", env_or(env, FM_ENV_KERNEL, "unknown"));
	fm_page(p, " |\n| compiler / build tool | ");
	fm_page_plain(p, "compiler", env_or(env, FM_ENV_COMPILER, "unknown"));
	fm_page(p, " / ");
	fm_page_plain(p, "cmake", env_or(env, FM_ENV_CMAKE, DASH));
	fm_page(p, " |\n| campaign start / end (UTC) | %.19s / %.19s |\n\n", d->started, d->ended);
}

static void write_kat(
        struct fm_page *p, const struct fm_page_published *d, const char **labels, size_t count)
{
	fm_page(p,
	        "## 3. Functional testing (KAT)\n\nEach library was checked against the submitted "
	        "KAT vectors "
	        "(SHA-256 manifest `%s/kat.sha256`%s) before timing.\n\n| instance | build flags | "
	        "KAT |\n|---|---|---|\n",
	        d->id, d->own ? "" : " in the harness");
	for (size_t i = 0; i < count; i++) {
		const struct fm_build_fig *b = fm_builds_find(d->builds, labels[i]);
		fm_page(p, "| `%s` |", labels[i]);
		plain_cell(p, "flags", b == NULL || b->flags == NULL ? DASH : b->flags);
		plain_cell(p, "kat", b == NULL || b->kat == NULL ? DASH : b->kat);
		fm_page(p, "\n");
	}
	fm_page(p, "\n");
	for (size_t i = 0; i < count && d->side != NULL; i++)
		if (fm_builds_find(d->builds, labels[i]) == NULL)
			fm_page(p,
			        "The data set has no build entry for `%s`: its flags and known "
			        "answers are not known.\n\n",
			        labels[i]);
}

static void write_performance(struct fm_page *p, const struct fm_page_published *d)
{
	fm_page(p, "## 4. Performance\n\n| instance | message | mean cycles | cycles/byte | mean "
	           "time | MB/s | n |\n"
	           "|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < d->cells->count; i++) {
		const struct fm_cell_fig *c = &d->cells->list[i];
		if (c->state != FM_CELL_MEASURED) {
			fm_page(p, "| `%s` | %s | failed | | | | |\n", c->label, c->key);
			continue;
		}
		fm_page(p, "| `%s` | %lld B | %s | %s | %s | %s | %s |\n", c->label,
		        (long long)c->bytes, fm_n_cycles(c->mean_cycles, FM_STYLE_PUBLISHED).s,
		        fm_n_per_byte(c->bytes > 0 ? c->mean_cycles / (double)c->bytes : NAN).s,
		        fm_n_time(c->mean_seconds, FM_STYLE_PUBLISHED).s, fm_n_mbs(c->mbs).s,
		        fm_page_n(c).s);
	}
	fm_page(p, "\n");
}

static void write_resources(struct fm_page *p, const struct fm_page_published *d)
{
	fm_page(p, "## 5. Resource consumption\n\nStatic memory is approximated by the library's "
	           "loadable ELF segments; "
	           "peak memory is the process high-water mark (VmHWM) including the benchmark "
	           "driver and libc, so both "
	           "are upper-bound proxies rather than isolated algorithm memory.\n\n"
	           "| instance | operation | static: ELF image (bytes) | baseline RSS | peak RSS "
	           "|\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < d->cells->count; i++) {
		const struct fm_cell_fig *c = &d->cells->list[i];
		const struct fm_build_fig *b = fm_builds_find(d->builds, c->label);
		if (c->state != FM_CELL_MEASURED || c->peak_rss == 0)
			continue;
		fm_page(p, "| `%s` | %s | %s | %s | %s |\n", c->label, c->key,
		        b == NULL || b->elf_bytes < 0 ? DASH : fm_n_int(b->elf_bytes).s,
		        fm_n_kib(c->baseline_rss).s, fm_n_kib(c->peak_rss).s);
	}
	fm_page(p, "\n");
}

static int by_key(const void *a, const void *b)
{
	return strcmp((*(const struct fm_cell_fig *const *)a)->key,
	        (*(const struct fm_cell_fig *const *)b)->key);
}

/* The KAT log of a label, then its records by operation key as plain text. */
static int write_evidence_of(
        struct fm_page *p, const struct fm_page_published *d, const char *label)
{
	const struct fm_build_fig *b = fm_builds_find(d->builds, label);
	const struct fm_cell_fig **mine = fm_alloc_array(d->cells->count + 1, sizeof *mine);
	size_t n = 0;

	if (mine == NULL)
		return FM_ERR_MEMORY;
	if (b != NULL && b->kat_log != NULL && b->kat_log_sha256 != NULL) {
		fm_page(p, "| `%s` | KAT log (sha256 `%.16s\xe2\x80\xa6`) | `", label,
		        b->kat_log_sha256);
		fm_page_plain(p, "kat_log", b->kat_log);
		fm_page(p, "` |\n");
	}
	for (size_t i = 0; i < d->cells->count; i++)
		if (strcmp(d->cells->list[i].label, label) == 0)
			mine[n++] = &d->cells->list[i];
	if (n > 1)
		qsort(mine, n, sizeof *mine, by_key);
	for (size_t i = 0; i < n; i++)
		fm_page(p, "| `%s` | timing %s | `records/%s/%s__%s.json` |\n", label, mine[i]->key,
		        d->id, label, mine[i]->key);
	free(mine);
	return FM_OK;
}

static int write_index(
        struct fm_page *p, const struct fm_page_published *d, const char **labels, size_t count)
{
	int rc = FM_OK;

	fm_page(p,
	        "## 7. Raw evidence index\n\nPaths are relative to `performance/data/%s/`%s; each "
	        "JSON file records "
	        "its commands, environment and trials.\n\n| instance | item | file "
	        "|\n|---|---|---|\n",
	        d->system, d->own ? "" : " in the " HARNESS);
	for (size_t i = 0; i < count && rc == FM_OK; i++)
		rc = write_evidence_of(p, d, labels[i]);
	if (!d->own)
		fm_page(p, "\nScripts: `performance/campaign.py`, `performance/ngcc_perf.c`, "
		           "`performance/hashprof/` in "
		           "the " HARNESS ".\n");
	fm_page(p, "\n");
	return rc;
}

int fm_page_published(const struct fm_page_published *d, struct fm_page *p)
{
	const char **labels = NULL, *arch, *guide;
	size_t count;
	int rc;

	if ((rc = fm_page_arch(env_or(d->env, FM_ENV_ARCHITECTURE, ""), &arch, &guide)) != FM_OK ||
	        (rc = fm_labels(d->cells, d->builds, &labels, &count)) != FM_OK)
		return rc;
	write_head(p, d, arch, guide);
	write_basic(p, d, labels, count);
	write_environment(p, d);
	write_kat(p, d, labels, count);
	if (d->side != NULL)
		rc = fm_page_performance(p, d->report, d->side);
	else
		write_performance(p, d);
	write_resources(p, d);
	if (rc == FM_OK)
		rc = write_index(p, d, labels, count);
	free(labels);
	return rc != FM_OK ? rc : fm_page_end(p);
}
