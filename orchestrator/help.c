/* help.c: `fleetmark help` and `fleetmark help NAME`, from the tables of commands and options. */
#include "orchestrator/options.h"
#include "orchestrator/out.h"
#include "protocol/buf.h"
#include <stdio.h>
#include <string.h>

static void put_option(const struct fm_option *o)
{
	char name[60], letter[8] = "    ";

	if (o->letter != 0)
		snprintf(letter, sizeof letter, "-%c, ", o->letter);
	snprintf(name, sizeof name, "%s--%s%s%s", letter, o->name, o->value == NULL ? "" : " ",
	        o->value == NULL ? "" : o->value);
	fm_result("  %-28s %s", name, o->help);
}

static void put_options(const struct fm_command *c, bool common)
{
	for (const struct fm_option *o = fm_option_table; o->name != NULL; o++)
		if (o->common == common && (common || fm_option_taken(c, o)))
			put_option(o);
}

static void put_commands(const struct fm_command *commands, bool daily)
{
	for (const struct fm_command *c = commands; c->name != NULL; c++) {
		char name[60];

		if (c->daily != daily)
			continue;
		snprintf(name, sizeof name, "%s %s", c->name, c->operands);
		fm_result("  %-22s %s", name, c->summary);
	}
}

void fm_help_all(const struct fm_command *commands)
{
	fm_result("usage: fleetmark COMMAND [OPTIONS]");
	fm_result("Measures cryptographic submissions on a fleet of machines and hands back signed "
	          "evidence.");
	fm_result("%s", "");
	put_commands(commands, true);
	fm_result("%s", "");
	put_commands(commands, false);
	fm_result("  %-22s %s", "help [COMMAND]", "this, or what a command does and takes; man, bash, zsh: its page (scdoc), completions");
	fm_result("%s", "");
	fm_result("Options of every command:");
	put_options(NULL, true);
	fm_result("%s", "");
	fm_result("Exit status: 0 all good, 1 some cells failed, 2 usage or configuration, 3 "
	          "nothing could be measured, "
	          "4 verification failed, 130 interrupted.");
}

void fm_help_command(const struct fm_command *c)
{
	bool own = false;

	fm_result("usage: fleetmark %s%s%s [OPTIONS]", c->name, c->operands[0] == '\0' ? "" : " ",
	        c->operands);
	fm_result("%s.", c->summary);
	fm_result("%s", "");
	for (const char *p = c->help; *p != '\0';) {
		size_t len = strcspn(p, "\n");

		fm_result("%.*s", (int)len, p);
		p += len + (p[len] == '\n');
	}
	fm_result("%s", "");
	for (const struct fm_option *o = fm_option_table; o->name != NULL; o++)
		own |= !o->common && fm_option_taken(c, o);
	if (own) {
		fm_result("Options of this command:");
		put_options(c, false);
		fm_result("%s", "");
	}
	fm_result("Options of every command:");
	put_options(c, true);
}
