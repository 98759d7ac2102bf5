/* cmd_check.c: `fleetmark check`: reaches every system in parallel and says whether it can measure,
 * and what could disturb it. */
#include "orchestrator/command.h"
#include "orchestrator/host.h"
#include "orchestrator/out.h"
#include "orchestrator/pool.h"
#include "orchestrator/select_sets.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_MAX     (64u << 10)
#define CHECK_WAIT_S 180
#define REPORT_MAX   (256u << 10)

enum rank { RANK_REFUSE, RANK_MARK, RANK_UNKNOWN, RANK_NOTE, RANK_OK, RANKS };

/* How to cure what a check found. */
static const char *const cures[][2] = {
        {"pin", "cpu = N in the inventory: one that this user may use"},
        {"emulator", "a real machine"},
        {"virtual", "a machine of its own, no guest"},
        {"governor", "fleetmark tune"},
        {"turbo", "fleetmark tune"},
        {"smt", "fleetmark tune"},
        {"sibling", "fleetmark tune takes the other thread of the core offline"},
        {"pressure", "wait until other work is over, or end it"},
        {"cooling", "let it cool, clean its fans; lower load beside it"},
        {"clocksource", "boot without clocksource=; find out in dmesg why tsc was given up"},
        {"user_read", "fleetmark tune"},
        {"aslr", "fleetmark tune"},
        {"perf_event_paranoid", "fleetmark tune"},
        {"nmi_watchdog", "fleetmark tune"},
        {"steal", "a host whose cores are not shared out to others"},
        {"quota", "no CPUQuota= or cpu.max for this user"},
        {"load", "wait until other work is over, or end it"},
        {"clock", "fleetmark tune; on a guest the host has the say"},
        {"thermal", "let it cool, clean its fans; lower load beside it"},
        {"memory", "end what fills it, or run without --kat full"},
        {"counter", "a machine or guest with a PMU, and perf_event_paranoid at most 2"},
        {"isolation", "boot with isolcpus=N nohz_full=N rcu_nocbs=N for the measured core"},
        {"enrolment",
                "fleetmark enrol SYSTEM, or run, which enrols where the SSH host key is pinned"},
        {"busy", "wait, or fleetmark cancel NAME"},
};

struct visit {
	const struct fm_system *system;
	struct fm_home *home;
	const struct fm_agent_source *agent;
	struct fm_buf text;          /* the report, printed in the inventory's order */
	struct fm_buf checks[RANKS]; /* its checks, worst first */
	int rc;
	char error[1000];
	bool reach;  /* no further than the facts */
	bool marked; /* something is bad or unknown */
	char machine[65], boot[65];
};

static void note(struct visit *v, const char *what, const char *severity, const char *state,
        const char *text)
{
	enum rank rank = strcmp(state, "ok") == 0          ? RANK_OK
	                 : strcmp(state, "unknown") == 0   ? RANK_UNKNOWN
	                 : strcmp(severity, "refuse") == 0 ? RANK_REFUSE
	                 : strcmp(severity, "mark") == 0   ? RANK_MARK
	                                                   : RANK_NOTE;
	static const char *const names[RANKS] = {"REFUSE", "mark", "unknown", "note", "ok"};
	const char *cure = NULL;
	char full[1400];

	for (size_t i = 0; rank != RANK_OK && i < sizeof cures / sizeof cures[0]; i++)
		if (strcmp(cures[i][0], what) == 0)
			cure = cures[i][1];
	snprintf(full, sizeof full, "%s%s%s", text,
	        cure == NULL ? "" : "; cure: ", cure == NULL ? "" : cure);
	fm_out_event(&(struct fm_event){.event = "host_check",
	        .system = v->system->name,
	        .stage = what,
	        .klass = severity,
	        .reason = state,
	        .text = full,
	        .quiet = true});
	v->marked = v->marked || rank != RANK_OK;
	(void)!fm_buf_printf(&v->checks[rank], "  %-7s %s: %s\n", names[rank], what, full);
}

static void percent_decode(char *text)
{
	char *to = text;
	unsigned value;

	for (char *from = text; *from != '\0'; from++) {
		if (from[0] == '%' && sscanf(from + 1, "%2X", &value) == 1 && from[1] != '\0' &&
		        from[2] != '\0') {
			*to++ = (char)value;
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

/* "check severity state value source" */
static void take_check(struct visit *v, const char *value)
{
	char copy[1100], text[1100], shown[2][500], *field[5], *save = NULL;

	snprintf(copy, sizeof copy, "%s", value);
	for (int i = 0; i < 5; i++) {
		field[i] = strtok_r(i == 0 ? copy : NULL, " ", &save);
		if (field[i] == NULL)
			return;
	}
	for (int i = 0; i < 2; i++) { /* a line end in it must not look like a line of ours */
		percent_decode(field[3 + i]);
		fm_escape(field[3 + i], strlen(field[3 + i]), shown[i], sizeof shown[i]);
	}
	snprintf(text, sizeof text, "%s, %s", shown[0], shown[1]);
	note(v, field[0], field[1], field[2], text);
	if (strcmp(field[1], "refuse") == 0 && strcmp(field[2], "bad") == 0 && v->rc == FM_OK)
		v->rc = fm_fail(FM_ERR_REFUSED, "%s: %s", field[0], text);
}

static int ask(struct visit *v, struct fm_session *s)
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX);
	struct fm_text reply = {0};
	const char *value;
	int rc = fm_call_begin(&call, "check");

	if (rc == FM_OK)
		rc = fm_text_put(&call, "cpu", "%d", v->system->cpu);
	if (rc == FM_OK && v->system->raw)
		rc = fm_text_put(&call, "counter", "raw");
	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_call(s, &call, NULL, 0, &reply, CHECK_WAIT_S);
	if (rc == FM_OK)
		rc = fm_text_take(&reply, "counter", &value);
	if (rc == FM_OK) {
		(void)!fm_buf_printf(&v->text, "  counter: %s\n", value);
		fm_out_event(&(struct fm_event){.event = "counter",
		        .system = v->system->name,
		        .text = value,
		        .quiet = true});
		while (fm_text_maybe(&reply, "rejected", &value))
			(void)!fm_buf_printf(&v->text, "    not %s\n", value);
		while (fm_text_maybe(&reply, "host_check", &value))
			take_check(v, value);
		rc = fm_text_close(&reply);
	}
	fm_text_free(&reply);
	fm_buf_free(&call);
	return rc;
}

static void describe(struct visit *v, struct fm_session *s)
{
	const struct fm_facts *f = fm_session_facts(s);

	(void)!fm_buf_printf(&v->text, "  %s\n", fm_session_describe(s));
	(void)!fm_buf_printf(&v->text,
	        "  %s, Linux %s, %s, %lld CPUs, %lld MiB, %lld MiB free, %s\n", f->os, f->kernel,
	        f->cpu_model, (long long)f->logical_cpus, (long long)f->memory_kib / 1024,
	        (long long)f->free_kib / 1024, f->compiler);
	if (f->emulator[0] != '\0')
		note(v, "emulator", "mark", "bad", f->emulator);
	if (f->holder[0] != '\0')
		note(v, "busy", "mark", "bad", f->holder);
	if (f->key[0] == '\0')
		note(v, "enrolment", "mark", "bad", "not enrolled yet");
}

static int check_fit(struct visit *v, struct fm_session *s)
{
	const struct fm_facts *f = fm_session_facts(s);

	snprintf(v->machine, sizeof v->machine, "%s", f->machine);
	snprintf(v->boot, sizeof v->boot, "%s", f->boot);
	return fm_facts_fit(f, v->system->arch);
}

static void visit(void *arg, int wake)
{
	struct visit *v = arg;
	struct fm_session *s = NULL;
	int rc = fm_session_open(&s, v->system, v->home, v->agent, wake, -1);

	if (rc == FM_OK) {
		describe(v, s);
		rc = check_fit(v, s);
	}
	if (rc == FM_OK) {
		v->rc = FM_OK;
		rc = v->reach ? FM_OK : ask(v, s);
	}
	fm_session_close(s);
	if (rc != FM_OK)
		v->rc = rc;
	if (v->rc != FM_OK)
		snprintf(v->error, sizeof v->error, "%s", fm_error_text());
}

/* One machine under two names: the later section is at fault. */
static void find_twins(struct visit *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (v[i].boot[0] == '\0' || strcmp(v[i].boot, v[k].boot) != 0)
				continue;
			v[i].rc = FM_ERR_SAME_MACHINE;
			snprintf(v[i].error, sizeof v[i].error,
			        "%s and %s are one machine (same boot-id)", v[i].system->name,
			        v[k].system->name);
			break;
		}
	}
}

static void print_lines(const struct fm_buf *text)
{
	char *save = NULL;

	for (char *line = text->len > 0 ? strtok_r(text->data, "\n", &save) : NULL; line != NULL;
	        line = strtok_r(NULL, "\n", &save))
		fm_result("%s", line);
}

static void print(const struct visit *v, bool json)
{
	const char *good = v->reach ? "reached" : "can measure";

	if (!json) {
		fm_result("%s: %s", v->system->name, v->rc == FM_OK ? good : "CANNOT MEASURE");
		print_lines(&v->text);
		for (int i = 0; i < RANKS; i++)
			print_lines(&v->checks[i]);
	}
	fm_out_event(&(struct fm_event){.event = "check",
	        .system = v->system->name,
	        .quiet = true,
	        .klass = fm_error_class(v->rc),
	        .reason = fm_error_reason(v->rc),
	        .text = v->rc == FM_OK ? good : v->error});
	if (v->rc != FM_OK) {
		(void)fm_fail(v->rc, "%s", v->error);
		fm_out_error(v->rc, v->system->name, "check", NULL);
	}
}

static int outcome(const struct visit *v, size_t count, bool strict)
{
	size_t good = 0, marked = 0;

	for (size_t i = 0; i < count; i++) {
		good += v[i].rc == FM_OK;
		marked += v[i].marked;
	}
	if (good == 0)
		return 3;
	return good < count || (strict && marked > 0) ? 1 : 0;
}

static int visit_all(const struct fm_options *o, const struct fm_inventory *inv,
        struct fm_home *home, const struct fm_agent_source *agent, int *status)
{
	struct visit *visits = fm_alloc_array(inv->count + 1, sizeof *visits);
	void **items = fm_alloc_array(inv->count + 1, sizeof *items);
	size_t count = 0;
	int rc = visits == NULL || items == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; rc == FM_OK && i < inv->count; i++) {
		if (!inv->systems[i].selected)
			continue;
		visits[count] = (struct visit){.system = &inv->systems[i],
		        .home = home,
		        .agent = agent,
		        .reach = o->reach,
		        .text = FM_BUF_INIT(REPORT_MAX),
		        .rc = FM_ERR_INTERRUPTED};
		for (int k = 0; k < RANKS; k++)
			visits[count].checks[k] = FM_BUF_INIT(REPORT_MAX);
		items[count] = &visits[count];
		count++;
	}
	if (rc == FM_OK)
		rc = fm_pool_run(visit, items, count, o->jobs);
	if (rc == FM_OK) {
		find_twins(visits, count);
		for (size_t i = 0; i < count; i++)
			print(&visits[i], o->json);
		*status = outcome(visits, count, o->strict);
	}
	for (size_t i = 0; i < count; i++) {
		fm_buf_free(&visits[i].text);
		for (int k = 0; k < RANKS; k++)
			fm_buf_free(&visits[i].checks[k]);
	}
	free(visits);
	free(items);
	return rc;
}

int fm_cmd_check(const struct fm_options *o, int *status)
{
	struct fm_inventory inv = {0};
	struct fm_home home = {.dirfd = -1};
	struct fm_agent_source agent = {0};
	int rc;

	if (o->inventory == NULL)
		return fm_fail(FM_ERR_USAGE, "no inventory: give -i FILE or write ./fleetmark.ini");
	rc = fm_inventory_load(o->inventory, &inv);
	if (rc == FM_OK)
		rc = fm_home_open(&home);
	if (rc == FM_OK)
		rc = fm_home_key(&home);
	if (rc == FM_OK)
		rc = fm_select_systems(o, &inv, &home);
	if (rc == FM_OK)
		rc = fm_agent_source(o->root, &agent);
	if (rc == FM_OK)
		rc = visit_all(o, &inv, &home, &agent, status);
	fm_agent_source_free(&agent);
	fm_home_close(&home);
	fm_inventory_free(&inv);
	return rc == FM_OK && *status != 0 ? FM_REPORTED : rc;
}
