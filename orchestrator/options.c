/* options.c: parses the command line by one table. */
#include "orchestrator/options.h"
#include "protocol/buf.h"
#include "protocol/path.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD(f) offsetof(struct fm_options, f)

const struct fm_option fm_option_table[] = {
        {'i', "inventory", FM_OPTION_TEXT, "FILE",
                "the fleet; default $FLEETMARK_INVENTORY, then ./fleetmark.ini", FIELD(inventory),
                true},
        {'l', "limit", FM_OPTION_TEXT, "SYSTEMS",
                "only these: names, arm_*, arm_[1-9], !name, @failed, @unreachable, joined by "
                "commas",
                FIELD(limit), true},
        {'c', "candidate", FM_OPTION_TEXT, "IDS", "only these candidates: globs joined by commas",
                FIELD(candidates), true},
        {0, "profile", FM_OPTION_TEXT, "NAME",
                "guide (default), rigorous (until 0.5 %) or smoke (seconds)", FIELD(profile), true},
        {'j', "jobs", FM_OPTION_NUMBER, "N", "hosts at a time, 1 to 128; default: all", FIELD(jobs),
                true},
        {0, "json", FM_OPTION_FLAG, NULL, "one JSON object per event on stdout", FIELD(json), true},
        {'q', "quiet", FM_OPTION_FLAG, NULL, "only results and errors", FIELD(quiet), true},
        {'v', "verbose", FM_OPTION_COUNT, NULL, "more about what is done", FIELD(verbose), true},
        {0, "dry-run", FM_OPTION_FLAG, NULL, "say what would be done and contact nobody",
                FIELD(dry_run), true},
        {0, "campaign", FM_OPTION_TEXT, "FILE",
                "campaign file that presets name, inventory, systems, candidates ...",
                FIELD(campaign), false},
        {0, "versions", FM_OPTION_TEXT, "LIST",
                "reference (default), performance, resource, joined by commas", FIELD(versions),
                false},
        {0, "kat", FM_OPTION_TEXT, "WHICH",
                "known answers: standard (default), loop with KAT_Loop, or full with the 1 GiB "
                "messages too",
                FIELD(kat), false},
        {0, "results", FM_OPTION_TEXT, "DIR", "where trees go; default ./results", FIELD(results),
                false},
        {0, "root", FM_OPTION_TEXT, "DIR", "folder with algos/, kat/, agent/ and protocol/",
                FIELD(root), false},
        {0, "data", FM_OPTION_TEXT, "DIR", "a data set in the published form instead of a tree",
                FIELD(data), false},
        {0, "layout", FM_OPTION_TEXT, "NAME", "fleetmark (default), published or site",
                FIELD(layout), false},
        {'o', "output", FM_OPTION_TEXT, "DIR", "where to write", FIELD(output), false},
        {0, "base", FM_OPTION_TEXT, "SYSTEM",
                "the system (compare: or version) that others are compared with", FIELD(base),
                false},
        {0, "key", FM_OPTION_TEXT, "FILE",
                "the controller's public line; default controller.pub of $FLEETMARK_HOME",
                FIELD(anchor), false},
        {0, "trust", FM_OPTION_TEXT, "DIR", "a newer trust folder, for later revocations",
                FIELD(trust), false},
        {0, "fingerprint", FM_OPTION_TEXT, "SHA256:...",
                "the SSH host key you were told for this host", FIELD(fingerprint), false},
        {0, "lost", FM_OPTION_FLAG, NULL, "its earlier key is lost and signs nothing any more",
                FIELD(lost), false},
        {0, "retired", FM_OPTION_FLAG, NULL, "the key counts until now", FIELD(retired), false},
        {0, "stolen-since", FM_OPTION_TEXT, "STAMP",
                "the key counts until then, YYYY-MM-DDTHH:MM:SSZ", FIELD(stolen_since), false},
        {0, "stolen", FM_OPTION_FLAG, NULL, "nothing the key ever signed counts", FIELD(stolen),
                false},
        {0, "netrc", FM_OPTION_TEXT, "FILE",
                "user and password of the server, as curl reads them (mode 0600)", FIELD(netrc),
                false},
        {0, "archive", FM_OPTION_TEXT, "FILE", "the package at hand: nothing is downloaded",
                FIELD(archive), false},
        {0, "notify", FM_OPTION_TEXT, "URL",
                "https address told when the campaign ends or needs someone; a token in it is "
                "safer in $FLEETMARK_NOTIFY",
                FIELD(notify), false},
        {'y', "yes", FM_OPTION_FLAG, NULL, "do not ask", FIELD(yes), false},
        {0, "restore", FM_OPTION_FLAG, NULL, "put back what tune changed", FIELD(restore), false},
        {0, "strict", FM_OPTION_FLAG, NULL, "fail if anything at all is marked", FIELD(strict),
                false},
        {0, "reach", FM_OPTION_FLAG, NULL,
                "only connect and bring the facts: nothing is measured, a running job stays as it is",
                FIELD(reach), false},
        {0, "check", FM_OPTION_FLAG, NULL, "write nothing, compare", FIELD(check), false},
        {0, NULL, FM_OPTION_FLAG, NULL, NULL, 0, false},
};

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; *p != '\0'; p += strspn(p, " ")) {
		if (strncmp(p, word, len) == 0 && (p[len] == ' ' || p[len] == '\0'))
			return true;
		p += strcspn(p, " ");
	}
	return false;
}

bool fm_option_taken(const struct fm_command *c, const struct fm_option *option)
{
	return option->common || has_word(c->options, option->name);
}

const struct fm_command *fm_command_find(const struct fm_command *commands, const char *name)
{
	for (; commands->name != NULL; commands++)
		if (strcmp(commands->name, name) == 0)
			return commands;
	return NULL;
}

/* One pass over argv. */
struct pass {
	int argc, at;
	char **argv;
	const struct fm_option *seen[64];
	size_t seen_count;
	struct fm_command_line *line;
};

static int set(struct pass *p, const struct fm_option *o, const char *value)
{
	char *field = (char *)&p->line->options + o->offset;
	uint64_t number;

	for (size_t i = 0;
	        i < p->seen_count && o->kind != FM_OPTION_COUNT && o->kind != FM_OPTION_FLAG; i++)
		if (p->seen[i] == o)
			return fm_fail(FM_ERR_USAGE, "--%s was given twice", o->name);
	if (p->seen_count < sizeof p->seen / sizeof p->seen[0])
		p->seen[p->seen_count++] = o;
	switch (o->kind) {
	case FM_OPTION_FLAG:
		*(bool *)(void *)field = true;
		break;
	case FM_OPTION_COUNT:
		++*(int *)(void *)field;
		break;
	case FM_OPTION_NUMBER:
		if (fm_parse_u64(value, 128, &number) != FM_OK || number == 0)
			return fm_fail(FM_ERR_USAGE,
			        "--%s: read '%.40s', allowed are whole numbers from 1 to 128",
			        o->name, value);
		*(int *)(void *)field = (int)number;
		break;
	case FM_OPTION_TEXT:
		if (value[0] == '\0')
			return fm_fail(FM_ERR_USAGE, "--%s: empty", o->name);
		*(const char **)(void *)field = value;
		break;
	}
	return FM_OK;
}

/* The value behind an option: in the same word, or the next one. */
static int take_value(
        struct pass *p, const struct fm_option *o, const char *inside, const char **value)
{
	*value = inside;
	if (inside != NULL)
		return FM_OK;
	if (p->at + 1 >= p->argc)
		return fm_fail(FM_ERR_USAGE, "--%s needs a value: %s", o->name, o->value);
	*value = p->argv[++p->at];
	return FM_OK;
}

static int unknown(const char *word)
{
	char shown[60];

	return fm_fail(FM_ERR_USAGE, "unknown option '%s'; fleetmark help lists them",
	        fm_escape(word, strlen(word), shown, sizeof shown));
}

static int take_long(struct pass *p, const char *word)
{
	const char *name = word + 2, *equals = strchr(name, '='), *value = NULL;
	size_t len = equals == NULL ? strlen(name) : (size_t)(equals - name);
	const struct fm_option *o = fm_option_table;
	int rc;

	if (strcmp(name, "help") == 0 || strcmp(name, "version") == 0) {
		p->line->help |= name[0] == 'h';
		p->line->version |= name[0] == 'v';
		return FM_OK;
	}
	while (o->name != NULL && !(strlen(o->name) == len && memcmp(o->name, name, len) == 0))
		o++;
	if (o->name == NULL)
		return unknown(word);
	if (o->value == NULL && equals != NULL)
		return fm_fail(FM_ERR_USAGE, "--%s takes no value", o->name);
	if (o->value != NULL &&
	        (rc = take_value(p, o, equals == NULL ? NULL : equals + 1, &value)) != FM_OK)
		return rc;
	return set(p, o, value);
}

/* -vq, -i FILE, -iFILE */
static int take_letters(struct pass *p, const char *word)
{
	for (const char *letter = word + 1; *letter != '\0'; letter++) {
		const struct fm_option *o = fm_option_table;
		const char *value = NULL;
		int rc;

		if (*letter == 'h') {
			p->line->help = true;
			continue;
		}
		while (o->name != NULL && o->letter != *letter)
			o++;
		if (o->name == NULL)
			return unknown(word);
		if (o->value == NULL) {
			if ((rc = set(p, o, NULL)) != FM_OK)
				return rc;
			continue;
		}
		if ((rc = take_value(p, o, letter[1] == '\0' ? NULL : letter + 1, &value)) != FM_OK)
			return rc;
		return set(p, o, value);
	}
	return FM_OK;
}

/* Are there as many operands as c->operands says ("TREE [TREE]", "SYSTEM...")? Which of them is
 * NAME? */
static int check_operands(const struct fm_command *c, struct fm_options *o)
{
	int least = 0, most = 0;
	const char *p = c->operands;

	while (*p != '\0') {
		size_t len = strcspn(p, " ");
		bool optional = p[0] == '[', many = memmem(p, len, "...", 3) != NULL;

		if (strncmp(p, "[NAME]", 6) == 0 && o->argc > most)
			o->name = o->argv[most];
		least += !optional;
		most = many ? 1000 : most + 1;
		p += len;
		p += strspn(p, " ");
	}
	if (o->argc >= least && o->argc <= most)
		return o->name == NULL ? FM_OK : fm_name_check("campaign", o->name);
	if (o->argc > most)
		return fm_fail(FM_ERR_USAGE, "'%.60s' is too much; usage: fleetmark %s%s%s",
		        o->argv[most], c->name, c->operands[0] == '\0' ? "" : " ", c->operands);
	return fm_fail(
	        FM_ERR_USAGE, "something is missing; usage: fleetmark %s %s", c->name, c->operands);
}

static int check_taken(const struct pass *p)
{
	const struct fm_command *c = p->line->command;

	for (size_t i = 0; i < p->seen_count; i++)
		if (!fm_option_taken(c, p->seen[i]))
			return fm_fail(FM_ERR_USAGE,
			        "%s takes no --%s; fleetmark help %s lists what it takes", c->name,
			        p->seen[i]->name, c->name);
	return FM_OK;
}

int fm_options_parse(
        int argc, char **argv, const struct fm_command *commands, struct fm_command_line *out)
{
	struct pass p = {.argc = argc, .argv = argv, .line = out};
	bool operands_only = false;
	int count = 0, rc = FM_OK;
	char shown[60];

	memset(out, 0, sizeof *out);
	for (p.at = 1; rc == FM_OK && p.at < argc; p.at++) {
		char *word = argv[p.at];

		if (!operands_only && strcmp(word, "--") == 0)
			operands_only = true;
		else if (!operands_only && strncmp(word, "--", 2) == 0)
			rc = take_long(&p, word);
		else if (!operands_only && word[0] == '-' && word[1] != '\0')
			rc = take_letters(&p, word);
		else
			argv[count++] = word; /* never overtakes p.at */
	}
	if (rc != FM_OK || count == 0)
		return rc;
	if ((out->command = fm_command_find(commands, argv[0])) == NULL)
		return fm_fail(FM_ERR_USAGE, "unknown command '%s'; fleetmark help lists them",
		        fm_escape(argv[0], strlen(argv[0]), shown, sizeof shown));
	out->options.argc = count - 1;
	out->options.argv = argv + 1;
	if (out->help)
		return FM_OK;
	return (rc = check_taken(&p)) != FM_OK ? rc : check_operands(out->command, &out->options);
}

/* share/fleetmark beside the folder this program lies in, so that an installed tree can be moved;
 * else the source tree it was built in, else where it was to be installed. */
static const char *default_root(void)
{
	static char root[4200];
	char exe[4096], algos[4300];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	char *slash;

	exe[n > 0 ? n : 0] = '\0';
	if ((slash = strrchr(exe, '/')) != NULL) {
		*slash = '\0';
		snprintf(root, sizeof root, "%s/../share/fleetmark", exe);
		snprintf(algos, sizeof algos, "%s/algos", root);
		if (access(algos, F_OK) == 0)
			return root;
	}
	return access(FM_SOURCE_ROOT "/algos", F_OK) == 0 ? FM_SOURCE_ROOT : FM_INSTALLED_ROOT;
}

int fm_options_finish(struct fm_options *o)
{
	const char *inventory = getenv("FLEETMARK_INVENTORY");
	const char *notify = getenv("FLEETMARK_NOTIFY");
	int rc;

	if (o->campaign != NULL && (rc = fm_campaign_file(o->campaign, o)) != FM_OK)
		return rc;
	if (o->inventory == NULL && inventory != NULL && inventory[0] != '\0')
		o->inventory = inventory;
	if (o->inventory == NULL && access("fleetmark.ini", F_OK) == 0)
		o->inventory = "fleetmark.ini";
	o->said.root = o->root != NULL;
	o->said.versions = o->versions != NULL;
	o->said.profile = o->profile != NULL;
	o->said.kat = o->kat != NULL;
	if (o->root == NULL)
		o->root = default_root();
	if (o->versions == NULL)
		o->versions = "reference";
	if (o->profile == NULL)
		o->profile = "guide";
	if (o->kat == NULL)
		o->kat = "standard";
	if (o->results == NULL)
		o->results = "results";
	if (o->layout == NULL)
		o->layout = "fleetmark";
	if (o->notify == NULL && notify != NULL && notify[0] != '\0')
		o->notify = notify;
	return FM_OK;
}
