/* options.h: the one table of options; parsing, help and completion come from it. */
#ifndef FM_OPTIONS_H
#define FM_OPTIONS_H

#include "orchestrator/command.h"

enum fm_option_kind { FM_OPTION_FLAG, FM_OPTION_COUNT, FM_OPTION_NUMBER, FM_OPTION_TEXT };

struct fm_option {
	char letter; /* 0: none */
	const char *name; /* without the dashes */
	enum fm_option_kind kind;
	const char *value; /* what stands behind it in help, NULL for flags */
	const char *help;
	size_t offset; /* in struct fm_options */
	bool common;   /* every command takes it */
};
extern const struct fm_option fm_option_table[]; /* ends with name NULL */

struct fm_command_line {
	struct fm_options options;
	const struct fm_command *command; /* NULL: none was named */
	bool help, version;               /* -h, --help, --version */
};

/* Parses argv[1..]; operands are gathered at the front of argv. commands ends with name NULL. FM_ERR_USAGE with what was read
 * and what is allowed. Defaults are not set yet. */
FM_CHECK int fm_options_parse(int argc, char **argv, const struct fm_command *commands, struct fm_command_line *out);

/* What was not said: from the file of --campaign, then the environment, then defaults. */
FM_CHECK int fm_options_finish(struct fm_options *o);

/* Does the command take this option? */
bool fm_option_taken(const struct fm_command *c, const struct fm_option *option);

const struct fm_command *fm_command_find(const struct fm_command *commands, const char *name); /* NULL if unknown */

/* `fleetmark help` and `fleetmark help NAME`, as lines of results. */
void fm_help_all(const struct fm_command *commands);
void fm_help_command(const struct fm_command *c);

/* `fleetmark help man|bash|zsh`: the manual page in scdoc and the completions of two shells; false if what is none of them. */
bool fm_help_file(const struct fm_command *commands, const char *what);

/* campaign_ini.c: presets from a campaign file (section [campaign]: name, inventory, systems, candidates, versions, profile, kat) whatever
 * the command line left open. Its strings live as long as the program. */
FM_CHECK int fm_campaign_file(const char *path, struct fm_options *o);

#endif
