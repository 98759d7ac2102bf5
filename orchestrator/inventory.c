/* inventory.c: reads an inventory; every value passes an allow-list here, before any other code
 * sees it. */
#include "orchestrator/inventory.h"
#include "orchestrator/ini.h"
#include "protocol/buf.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SYSTEMS_MAX 256
#define KEYS                                                                                     \
	"arch, transport, address, port, user, identity, jump, hostkey, cpu, counter, workdir, " \
	"about"

#define ALNUM  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

/* 1 to max bytes of the set, the first one not '-'. */
static bool made_of(const char *text, size_t len, size_t max, const char *set)
{
	if (len == 0 || len > max || text[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0' || strchr(set, text[i]) == NULL)
			return false;
	return true;
}

static bool user_ok(const char *text, size_t len)
{
	return made_of(text, len, 32, LOWER DIGITS "_-") && strchr(DIGITS, text[0]) == NULL;
}

/* An IP literal, or labels joined by '.': DNS names and ssh aliases. */
static bool address_ok(const char *text, size_t len)
{
	unsigned char ip[16];
	char copy[256];
	size_t label = 0;

	if (len == 0 || len >= sizeof copy)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (inet_pton(AF_INET, copy, ip) == 1 || inet_pton(AF_INET6, copy, ip) == 1)
		return true;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && copy[i] != '.')
			continue;
		if (!made_of(copy + label, i - label, 63, ALNUM "_-"))
			return false;
		label = i + 1;
	}
	return true;
}

/* [USER@]HOST[:PORT], with an IPv6 address in brackets. */
static bool hop_ok(const char *text, size_t len)
{
	const char *at = memchr(text, '@', len), *close, *colon;
	uint64_t port;
	char digits[6];

	if (at != NULL) {
		if (!user_ok(text, (size_t)(at - text)))
			return false;
		len -= (size_t)(at + 1 - text);
		text = at + 1;
	}
	close = len > 0 && text[0] == '[' ? memchr(text, ']', len) : NULL;
	colon = memchr(close == NULL ? text : close, ':',
	        len - (size_t)(close == NULL ? 0 : close - text));
	if (colon != NULL) {
		size_t n = len - (size_t)(colon + 1 - text);

		if (n == 0 || n >= sizeof digits)
			return false;
		memcpy(digits, colon + 1, n);
		digits[n] = '\0';
		if (fm_parse_u64(digits, 65535, &port) != FM_OK || port == 0)
			return false;
		len = (size_t)(colon - text);
	}
	if (close == NULL)
		return address_ok(text, len);
	return close == text + len - 1 && memchr(text, ':', len) != NULL &&
	       address_ok(text + 1, len - 2);
}

static bool jump_ok(const char *text)
{
	for (;;) {
		size_t len = strcspn(text, ",");

		if (!hop_ok(text, len))
			return false;
		if (text[len] == '\0')
			return true;
		text += len + 1;
	}
}

static bool path_ok(const char *text)
{
	size_t len = strlen(text);
	bool rooted = text[0] == '/' || strncmp(text, "~/", 2) == 0;

	/* '~' means the home folder in front and nothing anywhere else. */
	return rooted && made_of(text, len, 400, ALNUM "._/~+-") && strchr(text + 1, '~') == NULL &&
	       strstr(text, "/../") == NULL && !(len >= 3 && strcmp(text + len - 3, "/..") == 0);
}

static bool hostkey_ok(const char *text)
{
	return strncmp(text, "SHA256:", 7) == 0 && strlen(text) == 50 && text[7] != '-' &&
	       made_of(text + 7, 43, 43, ALNUM "+/");
}

static bool about_ok(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return len <= 200;
}

static int set(char **slot, const char *value)
{
	free(*slot);
	return (*slot = fm_strdup(value)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

static int refuse(const struct fm_ini *ini, const struct fm_ini_entry *e, const char *allowed)
{
	char shown[100];

	return fm_ini_fail(ini, e, "%s: read '%s', allowed: %s", e->key,
	        fm_escape(e->value, strlen(e->value), shown, sizeof shown), allowed);
}

static int take_number(
        const struct fm_ini *ini, const struct fm_ini_entry *e, int min, int max, int *out)
{
	int64_t value;
	int rc = fm_ini_int(ini, e, min, max, &value);

	*out = (int)value;
	return rc;
}

static int take_key(const struct fm_ini *ini, const struct fm_ini_entry *e, struct fm_system *s)
{
	const char *k = e->key, *v = e->value;

	if (strcmp(k, "arch") == 0) {
		if (strcmp(v, "x86_64") != 0 && strcmp(v, "aarch64") != 0)
			return refuse(ini, e, "x86_64, aarch64");
		memcpy(s->arch, v, strlen(v) + 1);
		return FM_OK;
	}
	if (strcmp(k, "transport") == 0) {
		if (strcmp(v, "ssh") != 0 && strcmp(v, "local") != 0)
			return refuse(ini, e, "ssh, local");
		s->transport = strcmp(v, "local") == 0 ? FM_TRANSPORT_LOCAL : FM_TRANSPORT_SSH;
		return FM_OK;
	}
	if (strcmp(k, "port") == 0)
		return take_number(ini, e, 1, 65535, &s->port);
	if (strcmp(k, "cpu") == 0)
		return take_number(ini, e, 0, 4095, &s->cpu);
	if (strcmp(k, "counter") == 0) {
		s->raw = strcmp(v, "raw") == 0;
		return s->raw || strcmp(v, "auto") == 0 ? FM_OK : refuse(ini, e, "auto, raw");
	}
	if (strcmp(k, "address") == 0)
		return address_ok(v, strlen(v))
		               ? set(&s->address, v)
		               : refuse(ini, e, "an IP address, a DNS name, an ssh alias");
	if (strcmp(k, "user") == 0)
		return user_ok(v, strlen(v))
		               ? set(&s->user, v)
		               : refuse(ini, e, "a-z or _, then a-z 0-9 _ -, at most 32");
	if (strcmp(k, "identity") == 0)
		return path_ok(v) ? set(&s->identity, v)
		                  : refuse(ini, e,
		                            "the path of a key file, / or ~/ first, of A-Z a-z 0-9 "
		                            ". _ / + -");
	if (strcmp(k, "jump") == 0)
		return jump_ok(v) ? set(&s->jump, v)
		                  : refuse(ini, e, "[USER@]HOST[:PORT], joined by commas");
	if (strcmp(k, "hostkey") == 0)
		return hostkey_ok(v) ? set(&s->hostkey, v)
		                     : refuse(ini, e,
		                               "SHA256: and 43 base64 characters, as ssh-keygen "
		                               "-lf prints");
	if (strcmp(k, "workdir") == 0)
		return path_ok(v)
		               ? set(&s->workdir, v)
		               : refuse(ini, e, "a path, / or ~/ first, of A-Z a-z 0-9 . _ / + -");
	if (strcmp(k, "about") == 0)
		return about_ok(v) ? set(&s->about, v)
		                   : refuse(ini, e, "printable ASCII, at most 200 bytes");
	return fm_ini_unknown(ini, e, KEYS);
}

static int begin_system(
        const struct fm_ini *ini, const struct fm_ini_entry *e, struct fm_inventory *inv)
{
	struct fm_system *s;

	if (!fm_name_ok(e->section) || strcmp(e->section, "controller") == 0) {
		char shown[100];

		return fm_ini_fail(ini, e,
		        "system '%s': names are 1 to 64 of A-Z a-z 0-9 . _ - with a letter or "
		        "digit first, "
		        "and not 'controller'",
		        fm_escape(e->section, strlen(e->section), shown, sizeof shown));
	}
	for (size_t i = 0; i < inv->count; i++)
		if (strcasecmp(inv->systems[i].name, e->section) == 0)
			return fm_ini_fail(ini, e,
			        "system '%s' differs from '%s' in line %d only in upper and lower "
			        "case",
			        e->section, inv->systems[i].name, inv->systems[i].line);
	if (inv->count >= SYSTEMS_MAX)
		return fm_ini_fail(ini, e, "more than %d systems", SYSTEMS_MAX);
	if ((s = fm_grow(&inv->systems, &inv->count, sizeof *s)) == NULL)
		return FM_ERR_MEMORY;
	memcpy(s->name, e->section, strlen(e->section) + 1);
	s->cpu = -1;
	s->line = e->line;
	s->selected = true;
	return FM_OK;
}

/* What can only be judged when all keys of a system are read. */
static int finish_system(
        const struct fm_ini *ini, const struct fm_ini_entry *section, struct fm_system *s)
{
	if (s->arch[0] == '\0')
		return fm_ini_fail(
		        ini, section, "system '%s' needs arch = x86_64 or aarch64", s->name);
	if (s->transport == FM_TRANSPORT_LOCAL &&
	        (s->address != NULL || s->port != 0 || s->user != NULL || s->identity != NULL ||
	                s->jump != NULL || s->hostkey != NULL))
		return fm_ini_fail(ini, section,
		        "system '%s' is local: address, port, user, identity, jump and hostkey are "
		        "for "
		        "transport = ssh",
		        s->name);
	if (s->address == NULL && (s->address = fm_strdup(s->name)) == NULL)
		return FM_ERR_MEMORY;
	if (s->workdir == NULL && (s->workdir = fm_strdup("~/.fleetmark")) == NULL)
		return FM_ERR_MEMORY;
	return FM_OK;
}

/* File name without folder and .ini, made a name: other bytes become '-', at most 48 so that a
 * profile and .<n> fit behind. */
static void make_stem(const char *path, char stem[FM_NAME_MAX + 1])
{
	const char *base = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
	size_t len = strlen(base), used = 0;

	if (len > 4 && strcmp(base + len - 4, ".ini") == 0)
		len -= 4;
	if (len == 0 || strchr(ALNUM, base[0]) == NULL)
		stem[used++] = 'f';
	for (size_t i = 0; i < len && used < 48; i++)
		stem[used++] =
		        base[i] != '\0' && strchr(ALNUM "._-", base[i]) != NULL ? base[i] : '-';
	stem[used] = '\0';
}

int fm_inventory_load(const char *path, struct fm_inventory *out)
{
	struct fm_ini *ini = NULL;
	const struct fm_ini_entry *section = NULL;
	int rc;

	memset(out, 0, sizeof *out);
	if ((rc = fm_ini_load(path, &ini)) != FM_OK)
		return rc;
	make_stem(path, out->stem);
	if ((out->path = fm_strdup(path)) == NULL)
		rc = FM_ERR_MEMORY;
	for (size_t i = 0; rc == FM_OK && i < fm_ini_count(ini); i++) {
		const struct fm_ini_entry *e = fm_ini_at(ini, i);

		if (e->key != NULL) {
			rc = take_key(ini, e, &out->systems[out->count - 1]);
			continue;
		}
		if (section != NULL)
			rc = finish_system(ini, section, &out->systems[out->count - 1]);
		section = e;
		if (rc == FM_OK)
			rc = begin_system(ini, e, out);
	}
	if (rc == FM_OK && section != NULL)
		rc = finish_system(ini, section, &out->systems[out->count - 1]);
	if (rc == FM_OK && section == NULL)
		rc = fm_fail(FM_ERR_CONFIG,
		        "%s: no system in it; a system is a section like [x86_1] with arch = "
		        "x86_64",
		        path);
	fm_ini_free(ini);
	if (rc != FM_OK)
		fm_inventory_free(out);
	return rc;
}

void fm_inventory_free(struct fm_inventory *inv)
{
	for (size_t i = 0; i < inv->count; i++) {
		struct fm_system *s = &inv->systems[i];

		free(s->address);
		free(s->user);
		free(s->identity);
		free(s->jump);
		free(s->hostkey);
		free(s->about);
		free(s->workdir);
	}
	free(inv->systems);
	free(inv->path);
	memset(inv, 0, sizeof *inv);
}

struct fm_system *fm_inventory_find(const struct fm_inventory *inv, const char *name)
{
	for (size_t i = 0; i < inv->count; i++)
		if (strcmp(inv->systems[i].name, name) == 0)
			return &inv->systems[i];
	return NULL;
}

int fm_inventory_single(const char *name, const char *arch, enum fm_transport_kind transport,
        const char *user, const char *address, int port, struct fm_inventory *out)
{
	struct fm_system *s;
	int rc;

	memset(out, 0, sizeof *out);
	if ((rc = fm_name_check("system", name)) != FM_OK)
		return rc;
	if ((user != NULL && !user_ok(user, strlen(user))) ||
	        (address != NULL && !address_ok(address, strlen(address))) || port < 0 ||
	        port > 65535)
		return fm_fail(FM_ERR_USAGE,
		        "%s%s%s is not [USER@]HOST: a user is a-z or _, then a-z 0-9 _ -; a host "
		        "an IP address, a DNS name or an ssh alias",
		        user == NULL ? "" : user, user == NULL ? "" : "@",
		        address == NULL ? "" : address);
	if ((s = fm_grow(&out->systems, &out->count, sizeof *s)) == NULL ||
	        (out->path = fm_strdup("")) == NULL ||
	        (s->address = fm_strdup(address == NULL ? name : address)) == NULL ||
	        (user != NULL && (s->user = fm_strdup(user)) == NULL) ||
	        (s->workdir = fm_strdup("~/.fleetmark")) == NULL) {
		fm_inventory_free(out);
		return FM_ERR_MEMORY;
	}
	snprintf(out->stem, sizeof out->stem, "try");
	snprintf(s->name, sizeof s->name, "%s", name);
	snprintf(s->arch, sizeof s->arch, "%s", arch);
	s->transport = transport;
	s->port = port;
	s->cpu = -1;
	s->selected = true;
	return FM_OK;
}
