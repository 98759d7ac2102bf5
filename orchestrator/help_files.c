/* help_files.c: the manual page (scdoc) and the completions of bash and zsh, from the tables of
 * commands and options. */
#include "orchestrator/options.h"
#include "orchestrator/out.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A line as it is: tabs mean something in these files. */
FM_PRINTF(1, 2) static void put(const char *format, ...)
{
	char line[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	fm_out_verbatim(line);
}

/* ---- scdoc: \ before what it would read as markup ---- */

static const char *plain(const char *text, char out[2000])
{
	size_t n = 0;

	for (; *text != '\0' && n < 1990; text++) {
		if (strchr("_*\\", *text) != NULL)
			out[n++] = '\\';
		out[n++] = *text;
	}
	out[n] = '\0';
	return out;
}

static void man_option(const struct fm_option *o)
{
	char text[2000], letter[16] = "", name[100];

	if (o->letter != 0)
		snprintf(letter, sizeof letter, "*-%c*, ", o->letter);
	snprintf(name, sizeof name, "%s", o->value == NULL ? "" : o->value);
	put("%s*--%s*%s%s%s", letter, o->name, o->value == NULL ? "" : " ",
	        o->value == NULL ? "" : plain(name, text), "");
	put("\t%s.", plain(o->help, text));
	put("%s", "");
}

/* The paragraphs of a command's help, its line ends as they are. */
static void man_text(const char *help)
{
	while (*help != '\0') {
		size_t len = strcspn(help, "\n");
		char line[900], text[2000];

		snprintf(line, sizeof line, "%.*s", (int)len, help);
		/* a line that begins so would be a list, a heading, a macro or a comment */
		put("%s%s", line[0] != '\0' && strchr("-.#;", line[0]) != NULL ? "\\" : "",
		        plain(line, text));
		help += len + (help[len] == '\n');
	}
	put("%s", "");
}

static void man_command(const struct fm_command *c)
{
	char operands[200], text[2000];

	snprintf(operands, sizeof operands, "%s", c->operands);
	put("## fleetmark %s%s%s", c->name, operands[0] == '\0' ? "" : " ", plain(operands, text));
	put("%s", "");
	man_text(c->help);
	for (const struct fm_option *o = fm_option_table; o->name != NULL; o++)
		if (!o->common && fm_option_taken(c, o))
			man_option(o);
}

static const char man_end[] =
        "# ENVIRONMENT\n"
        "\n"
        "*FLEETMARK\\_INVENTORY*\n"
        "\tThe inventory, where -i does not name one.\n"
        "\n"
        "*FLEETMARK\\_HOME*\n"
        "\tFolder of the controller's key, trust and known hosts; default \\~/.config/fleetmark.\n"
        "\n"
        "*FLEETMARK\\_NOTIFY*\n"
        "\tAs --notify, for a URL that other users must not see.\n"
        "\n"
        "*CURL\\_CA\\_BUNDLE*, *https\\_proxy*\n"
        "\tCertificates and proxy for https.\n"
        "\n"
        "# FILES\n"
        "\n"
        "*./fleetmark.ini*\n"
        "\tThe default inventory: one section per system.\n"
        "\n"
        "*results/NAME/*\n"
        "\tThe tree of a campaign; incoming/ in it has the journal, the events and a log per "
        "system.\n"
        "\n"
        "*\\~/.ssh/config*\n"
        "\tResolved by ssh -G; keys of the inventory win.\n"
        "\n"
        "*\\~/.fleetmark/*\n"
        "\tOn a host: everything of ours there; fleetmark remove takes it off.\n"
        "\n"
        "# EXIT STATUS\n"
        "\n"
        "*0* all good; *1* some cells failed; *2* usage or configuration; *3* nothing could be "
        "measured; *4* verification failed; *130* interrupted.\n"
        "\n"
        "# SEE ALSO\n"
        "\n"
        "*ssh*(1), *ssh\\_config*(5), *ssh-keygen*(1), *sha256sum*(1)\n";

static void help_man(const struct fm_command *commands)
{
	put("%s", "fleetmark(1) \"fleetmark " FM_VERSION "\"");
	put("%s", "");
	put("%s", "# NAME");
	put("%s", "");
	put("%s", "fleetmark - benchmark campaigns for cryptographic submissions over a fleet");
	put("%s", "");
	put("%s", "# SYNOPSIS");
	put("%s", "");
	put("%s", "*fleetmark* _COMMAND_ [_OPTIONS_]");
	put("%s", "");
	put("%s", "# DESCRIPTION");
	put("%s", "");
	put("%s", "Measures cryptographic submissions on machines of several architectures "
	          "over SSH and "
	          "hands back signed evidence that");
	put("%s", "anyone can check. Results go to standard output, everything else to "
	          "standard error.");
	put("%s", "");
	put("%s", "# OPTIONS OF EVERY COMMAND");
	put("%s", "");
	for (const struct fm_option *o = fm_option_table; o->name != NULL; o++)
		if (o->common)
			man_option(o);
	put("%s", "# COMMANDS");
	put("%s", "");
	for (const struct fm_command *c = commands; c->name != NULL; c++)
		man_command(c);
	for (const char *p = man_end; *p != '\0';) {
		size_t len = strcspn(p, "\n");

		put("%.*s", (int)len, p);
		p += len + (p[len] == '\n');
	}
}

/* ---- completion ---- */

/* What stands behind an option: a file, a folder, or one of some words. */
static const char *values_of(const struct fm_option *o)
{
	static const struct {
		const char *name, *words;
	} known[] = {{"profile", "guide rigorous smoke"}, {"kat", "standard full"},
	        {"versions", "reference performance resource"},
	        {"layout", "fleetmark published site"}};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (strcmp(o->name, known[i].name) == 0)
			return known[i].words;
	return NULL;
}

static void bash_case(const struct fm_option *o)
{
	char letter[8] = "";

	if (o->value == NULL)
		return;
	if (o->letter != 0)
		snprintf(letter, sizeof letter, "|-%c", o->letter);
	if (values_of(o) != NULL)
		put("	--%s%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return;;", o->name,
		        letter, values_of(o));
	else if (strcmp(o->value, "DIR") == 0)
		put("	--%s%s) COMPREPLY=($(compgen -d -- \"$cur\")); return;;", o->name, letter);
	else if (strcmp(o->value, "FILE") == 0)
		put("	--%s%s) COMPREPLY=($(compgen -f -- \"$cur\")); return;;", o->name, letter);
	else
		put("	--%s%s) return;;", o->name, letter);
}

static void put_words(const char *before, const struct fm_command *c)
{
	char line[3000];
	size_t n = (size_t)snprintf(line, sizeof line, "%s", before);

	for (const struct fm_option *o = fm_option_table; o->name != NULL && n < sizeof line; o++) {
		if (!fm_option_taken(c, o))
			continue;
		n += (size_t)snprintf(line + n, sizeof line - n, " --%s", o->name);
		if (o->letter != 0 && n < sizeof line)
			n += (size_t)snprintf(line + n, sizeof line - n, " -%c", o->letter);
	}
	put("%s';;", line);
}

static void help_bash(const struct fm_command *commands)
{
	char line[3000] = "	commands='help";
	size_t n = strlen(line);

	for (const struct fm_command *c = commands; c->name != NULL && n < sizeof line; c++)
		n += (size_t)snprintf(line + n, sizeof line - n, " %s", c->name);
	put("%s", "# bash completion of fleetmark, made by: fleetmark help bash");
	put("%s", "_fleetmark() {");
	put("%s", "	local cur=${COMP_WORDS[COMP_CWORD]} "
	          "prev=${COMP_WORDS[COMP_CWORD-1]} commands options= command= w i");
	put("%s'", line);
	put("%s", "	case $prev in");
	for (const struct fm_option *o = fm_option_table; o->name != NULL; o++)
		bash_case(o);
	put("%s", "	esac");
	put("%s", "	for ((i = 1; i < COMP_CWORD; i++)); do");
	put("%s", "		for w in $commands; do [ \"${COMP_WORDS[i]}\" != \"$w\" ] "
	          "|| command=${command:-$w}; done");
	put("%s", "	done");
	put("%s", "	case $command in");
	put("%s", "	'' | help) COMPREPLY=($(compgen -W \"$commands --help --version\" "
	          "-- \"$cur\")); return;;");
	for (const struct fm_command *c = commands; c->name != NULL; c++) {
		char before[100];

		snprintf(before, sizeof before, "	%s) options='--help", c->name);
		put_words(before, c);
	}
	put("%s", "	esac");
	put("%s", "	case $cur in");
	put("%s", "	-*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"));;");
	put("%s", "	*) COMPREPLY=($(compgen -f -- \"$cur\"));;");
	put("%s", "	esac");
	put("%s", "}");
	put("%s", "complete -o filenames -F _fleetmark fleetmark");
}

/* For zsh within single quotes and brackets: what would end them goes. */
static const char *zsh_text(const char *text, char out[600])
{
	size_t n = 0;

	for (; *text != '\0' && n < 590; text++)
		if (strchr("'[]:\\", *text) == NULL)
			out[n++] = *text;
	out[n] = '\0';
	return out;
}

static void zsh_option(const struct fm_option *o)
{
	char text[600], value[200] = "";

	if (o->value != NULL && values_of(o) != NULL)
		snprintf(value, sizeof value, ":%s:(%s)", o->name, values_of(o));
	else if (o->value != NULL)
		snprintf(value, sizeof value, ":%s:%s", o->name,
		        strcmp(o->value, "DIR") == 0    ? "_files -/"
		        : strcmp(o->value, "FILE") == 0 ? "_files"
		                                        : "");
	put("			'--%s[%s]%s' \\", o->name, zsh_text(o->help, text), value);
	if (o->letter != 0)
		put("			'-%c[%s]%s' \\", o->letter, text, value);
}

static void help_zsh(const struct fm_command *commands)
{
	char text[600];

	put("%s", "#compdef fleetmark");
	put("%s", "# zsh completion of fleetmark, made by: fleetmark help zsh");
	put("%s", "_fleetmark() {");
	put("%s", "	local -a commands");
	put("%s", "	commands=(");
	for (const struct fm_command *c = commands; c->name != NULL; c++)
		put("		'%s:%s'", c->name, zsh_text(c->summary, text));
	put("%s", "		'help:what a command does and takes'");
	put("%s", "	)");
	put("%s", "	if ((CURRENT == 2)); then _describe command commands; return; fi");
	put("%s", "	case $words[2] in");
	put("%s", "	help) _describe command commands;;");
	for (const struct fm_command *c = commands; c->name != NULL; c++) {
		put("	%s)", c->name);
		put("%s", "		shift words; ((CURRENT--))");
		put("%s", "		_arguments \\");
		for (const struct fm_option *o = fm_option_table; o->name != NULL; o++)
			if (fm_option_taken(c, o))
				zsh_option(o);
		put("%s", "			'*:operand:_files';;");
	}
	put("%s", "	esac");
	put("%s", "}");
	put("%s", "_fleetmark \"$@\"");
}

bool fm_help_file(const struct fm_command *commands, const char *what)
{
	static const struct {
		const char *name;
		void (*put)(const struct fm_command *);
	} files[] = {{"man", help_man}, {"bash", help_bash}, {"zsh", help_zsh}};

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		if (strcmp(files[i].name, what) == 0) {
			files[i].put(commands);
			return true;
		}
	}
	return false;
}
