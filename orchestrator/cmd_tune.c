/* cmd_tune.c: `fleetmark tune`: makes hosts quieter for measuring, with the operator's word, and
 * puts back what they had. */
#include "orchestrator/command.h"
#include "orchestrator/home.h"
#include "orchestrator/inventory.h"
#include "orchestrator/out.h"
#include "orchestrator/select_sets.h"
#include "orchestrator/session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL_MAX    4096
#define TUNE_WAIT_S 120
#define SETTINGS    64

/* One line of the reply: outcome, path, old, wanted and present value. */
struct setting {
	char outcome[16], path[168], old[168], wanted[168], now[168];
};
struct settings {
	struct setting at[SETTINGS];
	size_t count;
	char privilege[256]; /* why the host's sudo did not help, empty if it was not asked or did
	                      */
};

static int call(
        struct fm_session *s, const struct fm_system *sys, const char *mode, struct settings *out)
{
	struct fm_buf text = FM_BUF_INIT(CALL_MAX);
	struct fm_text reply = {0};
	const char *value;
	int rc = fm_call_begin(&text, "tune");

	out->count = 0;
	out->privilege[0] = '\0';
	if (rc == FM_OK)
		rc = fm_text_put(&text, "cpu", "%d", sys->cpu);
	if (rc == FM_OK)
		rc = fm_text_put(&text, "mode", "%s", mode);
	if (rc == FM_OK)
		rc = fm_text_end(&text);
	if (rc == FM_OK)
		rc = fm_session_call(s, &text, NULL, 0, &reply, TUNE_WAIT_S);
	while (rc == FM_OK && fm_text_maybe(&reply, "setting", &value)) {
		struct setting *x = &out->at[out->count];

		if (out->count == SETTINGS ||
		        sscanf(value, "%15s %167s %167s %167s %167s", x->outcome, x->path, x->old,
		                x->wanted, x->now) != 5)
			rc = fm_fail(
			        FM_ERR_FORM, "tune: the host's answer has a line '%.60s'", value);
		out->count++;
	}
	if (rc == FM_OK && fm_text_maybe(&reply, "privilege", &value))
		fm_escape(value, strlen(value), out->privilege, sizeof out->privilege);
	if (rc == FM_OK)
		rc = fm_text_close(&reply);
	fm_text_free(&reply);
	fm_buf_free(&text);
	return rc;
}

static const char *words(const struct setting *x)
{
	static const char *const table[][2] = {{"set", "set"},
	        {"refused", "NOT set: no right to write it"},
	        {"kept", "NOT set: the kernel keeps its own value"}, {"restored", "restored"},
	        {"foreign", "left alone: somebody changed it since"},
	        {"rebooted", "nothing written: the kernel has set it anew since the reboot"}};

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (strcmp(x->outcome, table[i][0]) == 0)
			return table[i][1];
	return "would be set";
}

static bool bad(const struct setting *x)
{
	return strcmp(x->outcome, "refused") == 0 || strcmp(x->outcome, "kept") == 0 ||
	       strcmp(x->outcome, "foreign") == 0;
}

/* What nobody but the administrator can do. */
static void tell_privilege(const struct fm_system *sys, const struct settings *list)
{
	char text[400];

	snprintf(text, sizeof text,
	        "%s: these need rights that neither the login has nor sudo gives without a "
	        "password; as the administrator:",
	        list->privilege);
	fm_result("%s: host-state/privilege: %s", sys->name, text);
	fm_out_event(&(struct fm_event){.event = "failed",
	        .system = sys->name,
	        .stage = "tune",
	        .klass = "host-state",
	        .reason = "privilege",
	        .text = text,
	        .quiet = true});
}

static void print(const struct fm_system *sys, const struct settings *list, bool back)
{
	if (list->privilege[0] != '\0')
		tell_privilege(sys, list);
	for (size_t i = 0; i < list->count; i++) {
		const struct setting *x = &list->at[i];
		const char *to = back ? x->old : x->wanted;
		char text[900];

		snprintf(text, sizeof text, "%s: %s -> %s: %s", x->path, back ? x->wanted : x->old,
		        to, words(x));
		if (strcmp(x->outcome, "foreign") == 0 || strcmp(x->outcome, "rebooted") == 0)
			snprintf(text, sizeof text, "%s: was %s, tuned to %s, is %s: %s", x->path,
			        x->old, x->wanted, x->now, words(x));
		fm_result("%s: %s", sys->name, text);
		fm_out_event(&(struct fm_event){.event = "setting",
		        .system = sys->name,
		        .stage = x->path,
		        .reason = x->outcome,
		        .text = text,
		        .quiet = true});
		if (strcmp(x->outcome, "refused") == 0)
			fm_result("%s:   echo %s | sudo tee %s", sys->name, to, x->path);
	}
}

static int ask(const struct fm_system *sys, const struct fm_options *o)
{
	char answer[16];

	if (o->yes)
		return FM_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return fm_fail(FM_ERR_USAGE,
		        "nothing changed; to change these: fleetmark tune --yes "
		        "-l %s",
		        sys->name);
	fm_say("%s: change these? The old values are kept there and come back with --restore. "
	       "[y/N]",
	        sys->name);
	if (fgets(answer, sizeof answer, stdin) == NULL || (answer[0] != 'y' && answer[0] != 'Y'))
		return fm_fail(FM_ERR_USAGE, "%s: nothing changed, as you said", sys->name);
	return FM_OK;
}

static int apply(const struct fm_options *o, struct fm_session *s, const struct fm_system *sys,
        struct settings *list)
{
	int rc = call(s, sys, "list", list);

	if (rc != FM_OK)
		return rc;
	if (list->count == 0) {
		fm_result("%s: tuned as far as this host can be, nothing to do", sys->name);
		return FM_OK;
	}
	print(sys, list, false);
	if (o->dry_run)
		return FM_OK;
	if ((rc = ask(sys, o)) == FM_OK && (rc = call(s, sys, "apply", list)) == FM_OK)
		print(sys, list, false);
	return rc;
}

static int restore(struct fm_session *s, const struct fm_system *sys, struct settings *list)
{
	int rc = call(s, sys, "restore", list);

	if (rc == FM_OK && list->count == 0)
		fm_result("%s: nothing was tuned here", sys->name);
	else if (rc == FM_OK)
		print(sys, list, true);
	return rc;
}

static int one_system(const struct fm_options *o, const struct fm_system *sys, struct fm_home *home,
        const struct fm_agent_source *agent, int *status)
{
	static struct settings list;
	struct fm_session *s = NULL;
	int rc = fm_session_open(&s, sys, home, agent, -1, -1);

	list.count = 0;
	if (rc == FM_OK)
		rc = o->restore ? restore(s, sys, &list) : apply(o, s, sys, &list);
	for (size_t i = 0; rc == FM_OK && i < list.count; i++)
		if (bad(&list.at[i]) && *status == 0)
			*status = 1;
	fm_session_close(s);
	return rc;
}

int fm_cmd_tune(const struct fm_options *o, int *status)
{
	struct fm_inventory inv = {0};
	struct fm_home home = {.dirfd = -1};
	struct fm_agent_source agent = {0};
	int rc;

	*status = 0;
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
	for (size_t i = 0; rc == FM_OK && i < inv.count; i++) {
		const struct fm_system *sys = &inv.systems[i];
		int one = sys->selected ? one_system(o, sys, &home, &agent, status) : FM_OK;

		if (one == FM_OK)
			continue;
		fm_out_error(one, sys->name, "tune", NULL);
		*status = fm_error_status(one) > *status ? fm_error_status(one) : *status;
	}
	fm_agent_source_free(&agent);
	fm_home_close(&home);
	fm_inventory_free(&inv);
	return rc == FM_OK && *status != 0 ? FM_REPORTED : rc;
}
