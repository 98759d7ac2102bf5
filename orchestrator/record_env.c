/* record_env.c: the environment object of records and campaign.json: read, kept, printed. */
#include "orchestrator/jsonr.h"
#include "orchestrator/record.h"

#include <string.h>

const char *const fm_env_name[FM_ENV_KEYS] = {"hostname", "architecture", "cpu_model", "machine",
        "cpu_number", "logical_cpus_online", "virtualized", "memory_total_kib", "os", "kernel",
        "compiler", "cmake", "python", "perf_event_paranoid", "cpufreq_governor", "cpufreq_driver",
        "cpufreq_min_khz", "cpufreq_max_khz", "cpufreq_avg_khz", "intel_pstate_no_turbo",
        "cpufreq_boost", "smt_control", "core_clock_hz", "core_clock_min_hz", "core_clock_max_hz",
        "core_clock_mhz"};

void fm_env_text(struct fm_env *env, enum fm_env_key key, const char *text)
{
	env->value[key].kind = text == NULL ? FM_ENV_NULL : FM_ENV_TEXT;
	env->value[key].text = text;
}

void fm_env_number(struct fm_env *env, enum fm_env_key key, int64_t number)
{
	env->value[key].kind = FM_ENV_NUMBER;
	env->value[key].number = number;
}

void fm_env_truth(struct fm_env *env, enum fm_env_key key, bool truth)
{
	env->value[key].kind = FM_ENV_TRUTH;
	env->value[key].number = truth;
}

const char *fm_env_get(const struct fm_env *env, enum fm_env_key key)
{
	return env->value[key].kind == FM_ENV_TEXT ? env->value[key].text : NULL;
}

/* What a key of `environment` must be when it is not null. */
static enum fm_env_kind env_kind(int key)
{
	switch (key) {
	case FM_ENV_CPU_NUMBER:
	case FM_ENV_MEMORY_KIB:
	case FM_ENV_CLOCK_HZ:
	case FM_ENV_CLOCK_MIN_HZ:
	case FM_ENV_CLOCK_MAX_HZ:
	case FM_ENV_CLOCK_MHZ:
		return FM_ENV_NUMBER;
	case FM_ENV_VIRTUALIZED:
		return FM_ENV_TRUTH;
	default:
		return FM_ENV_TEXT;
	}
}

static int env_value(const struct fm_json_node *o, int key, struct fm_env *out)
{
	bool truth;
	int rc = FM_OK;

	if (!fm_json_has(o, fm_env_name[key]))
		return FM_OK;
	out->value[key].kind = FM_ENV_NULL;
	if (fm_json_is_null(o, fm_env_name[key]))
		return FM_OK;
	out->value[key].kind = env_kind(key);
	switch (out->value[key].kind) {
	case FM_ENV_NUMBER:
		return fm_json_int(o, fm_env_name[key], &out->value[key].number);
	case FM_ENV_TRUTH:
		if ((rc = fm_json_bool(o, fm_env_name[key], &truth)) == FM_OK)
			out->value[key].number = truth;
		return rc;
	default:
		return fm_json_str(o, fm_env_name[key], &out->value[key].text);
	}
}

int fm_env_read(const char *what, const struct fm_json_node *object, struct fm_env *out)
{
	static const int required[] = {FM_ENV_HOSTNAME, FM_ENV_ARCHITECTURE, FM_ENV_CPU_MODEL,
	        FM_ENV_CPU_NUMBER, FM_ENV_MEMORY_KIB, FM_ENV_OS, FM_ENV_KERNEL, FM_ENV_COMPILER};
	int rc;

	memset(out, 0, sizeof *out);
	for (const struct fm_json_node *m = fm_json_first(object); m != NULL; m = fm_json_next(m)) {
		int k = 0;
		while (k < FM_ENV_KEYS && strcmp(fm_env_name[k], fm_json_key(m)) != 0)
			k++;
		if (k == FM_ENV_KEYS)
			return fm_fail(FM_ERR_FORM, "%s: environment: unknown key %.60s", what,
			        fm_json_key(m));
	}
	for (int k = 0; k < FM_ENV_KEYS; k++)
		if ((rc = env_value(object, k, out)) != FM_OK)
			return fm_wrap(rc, "%s: environment", what);
	for (size_t i = 0; i < sizeof required / sizeof *required; i++)
		if (out->value[required[i]].kind == FM_ENV_ABSENT ||
		        out->value[required[i]].kind == FM_ENV_NULL)
			return fm_fail(FM_ERR_FORM,
			        "%s: environment: %s: must be there and not null", what,
			        fm_env_name[required[i]]);
	return FM_OK;
}

void fm_env_write(struct fm_jsonp *w, const char *key, const struct fm_env *env)
{
	fm_jsonp_object(w, key);
	for (int k = 0; k < FM_ENV_KEYS; k++)
		switch (env->value[k].kind) {
		case FM_ENV_ABSENT:
			break;
		case FM_ENV_NULL:
			fm_jsonp_null(w, fm_env_name[k]);
			break;
		case FM_ENV_TEXT:
			fm_jsonp_str(w, fm_env_name[k], env->value[k].text);
			break;
		case FM_ENV_NUMBER:
			fm_jsonp_int(w, fm_env_name[k], env->value[k].number);
			break;
		case FM_ENV_TRUTH:
			fm_jsonp_bool(w, fm_env_name[k], env->value[k].number != 0);
			break;
		}
	fm_jsonp_close(w);
}
