/* campaign_ini.c: the campaign file, which presets what the command line leaves open. */
#include "orchestrator/ini.h"
#include "orchestrator/options.h"
#include "protocol/buf.h"
#include "protocol/path.h"
#include <stdlib.h>
#include <string.h>

#define KEYS "name, inventory, systems, candidates, versions, profile, kat"

/* Options hold plain pointers for as long as the program runs, so what a file gave is never freed.
 */
static char **kept;
static size_t kept_count;

static int keep(const char **slot, char *text)
{
	char **mine = text == NULL ? NULL : fm_grow(&kept, &kept_count, sizeof *mine);

	if (mine == NULL) {
		free(text);
		return FM_ERR_MEMORY;
	}
	*mine = text;
	if (*slot == NULL) /* the command line wins */
		*slot = text;
	return FM_OK;
}

/* Words with spaces or commas between become a list with commas. */
static int keep_list(const struct fm_ini *ini, const struct fm_ini_entry *e, const char **slot)
{
	char *text = fm_strdup(e->value);
	size_t used = 0;

	for (char *p = text; p != NULL && *p != '\0'; p++) {
		bool gap = *p == ' ' || *p == '\t' || *p == ',';

		if (!gap)
			text[used++] = *p;
		else if (used > 0 && text[used - 1] != ',')
			text[used++] = ',';
	}
	if (text == NULL)
		return FM_ERR_MEMORY;
	while (used > 0 && text[used - 1] == ',')
		used--;
	text[used] = '\0';
	if (used == 0) {
		free(text);
		return fm_ini_fail(ini, e, "%s: empty", e->key);
	}
	return keep(slot, text);
}

/* A relative inventory lies beside the campaign file. */
static char *beside(const char *file, const char *name)
{
	const char *slash = strrchr(file, '/');

	if (name[0] == '/' || slash == NULL)
		return fm_strdup(name);
	return fm_sprintf("%.*s/%s", (int)(slash - file), file, name);
}

static int take_key(const struct fm_ini *ini, const struct fm_ini_entry *e, struct fm_options *o)
{
	const char *k = e->key;

	if (strcmp(k, "systems") == 0)
		return keep_list(ini, e, &o->limit);
	if (strcmp(k, "candidates") == 0)
		return keep_list(ini, e, &o->candidates);
	if (strcmp(k, "versions") == 0)
		return keep_list(ini, e, &o->versions);
	if (e->value[0] == '\0')
		return fm_ini_fail(ini, e, "%s: empty", k);
	if (strcmp(k, "name") == 0)
		return fm_name_ok(e->value)
		               ? keep(&o->name, fm_strdup(e->value))
		               : fm_ini_fail(ini, e,
		                         "name: allowed are 1 to 64 of A-Z a-z 0-9 . _ - with a "
		                         "letter or digit first");
	if (strcmp(k, "inventory") == 0)
		return keep(&o->inventory, beside(fm_ini_path(ini), e->value));
	if (strcmp(k, "profile") == 0)
		return keep(&o->profile, fm_strdup(e->value));
	if (strcmp(k, "kat") == 0)
		return keep(&o->kat, fm_strdup(e->value));
	return fm_ini_unknown(ini, e, KEYS);
}

int fm_campaign_file(const char *path, struct fm_options *o)
{
	struct fm_ini *ini = NULL;
	int rc = fm_ini_load(path, &ini);

	for (size_t i = 0; rc == FM_OK && i < fm_ini_count(ini); i++) {
		const struct fm_ini_entry *e = fm_ini_at(ini, i);

		if (strcmp(e->section, "campaign") != 0)
			rc = fm_ini_fail(
			        ini, e, "unknown section [%s]; allowed: [campaign]", e->section);
		else if (e->key != NULL)
			rc = take_key(ini, e, o);
	}
	fm_ini_free(ini);
	return rc;
}
