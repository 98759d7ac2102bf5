/* command.h: what a command is; main.c holds the table of them, options.c the one table of options. */
#ifndef FM_COMMAND_H
#define FM_COMMAND_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stddef.h>

/* What a command returns when it has already told its errors; the exit status is in *status then. */
#define FM_REPORTED 1

/* The command line after parsing. Strings point into argv or the environment and live as long as the program. */
struct fm_options {
	const char *inventory;  /* -i, $FLEETMARK_INVENTORY, ./fleetmark.ini; NULL if none of them */
	const char *limit;      /* -l: comma-separated names, globs, ranges, !name, @failed, @unreachable; NULL: all */
	const char *candidates; /* -c: comma-separated globs over candidate ids; NULL: all in algos/ with origin = own */
	const char *versions;   /* --versions: comma-separated; default "reference" */
	const char *profile;    /* smoke, guide (default), rigorous */
	const char *kat;        /* standard (default) or full */
	const char *campaign;   /* --campaign FILE: campaign INI that presets the above */
	const char *results;    /* default "results" */
	const char *root;       /* folder with algos/ kat/ agent/ protocol/ */
	const char *data;       /* report --data */
	const char *layout;     /* report --layout: fleetmark, published, site */
	const char *output;     /* -o */
	const char *base;       /* report/compare --base SYSTEM */
	const char *anchor;     /* verify --key FILE: the controller's public line; default: $FLEETMARK_HOME/controller.pub */
	const char *trust;      /* verify --trust DIR: a newer trust folder */
	const char *fingerprint;/* enrol --fingerprint SHA256:... */
	const char *stolen_since; /* trust revoke --stolen-since STAMP */
	const char *netrc;      /* publish --netrc FILE: user and password of the server */
	const char *notify;     /* run --notify URL, else $FLEETMARK_NOTIFY */
	const char *archive;    /* fetch --archive FILE: the package at hand */
	const char *name;       /* campaign: operand NAME, else the campaign file's; NULL: <inventory's stem>-<profile> */
	struct {
		bool profile, kat, versions, root;
	} said;                 /* named by the user, in words or a campaign file: not a default */
	int jobs;               /* -j; 0: default */
	int verbose;            /* -v counted */
	bool json, quiet, dry_run, yes, strict, check, restore, reach;
	bool lost;              /* enrol --lost */
	bool retired, stolen;   /* trust revoke */
	int argc;               /* operands behind the command */
	char **argv;
};

/* Runs to completion and returns FM_OK or a code whose exit status main.c uses; has reported its own errors when it
 * returns FM_REPORTED (the real status is in *status). */
struct fm_command {
	const char *name;
	const char *operands; /* for the usage line, "" if none */
	const char *summary;  /* one line of `fleetmark help` */
	const char *help;     /* paragraphs of `fleetmark help NAME` */
	const char *options;  /* letters and long names it takes, space separated, beyond the common ones */
	bool daily;           /* listed first */
	int (*run)(const struct fm_options *o, int *status);
};

extern const struct fm_command fm_commands[]; /* ends with name NULL; in main.c */

FM_CHECK int fm_cmd_try(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_check(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_run(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_status(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_watch(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_cancel(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_verify(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_compare(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_plan(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_keygen(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_enrol(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_publish(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_trust(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_fetch(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_adopt(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_report(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_redo(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_list(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_tune(const struct fm_options *o, int *status);
FM_CHECK int fm_cmd_remove(const struct fm_options *o, int *status);

#endif
