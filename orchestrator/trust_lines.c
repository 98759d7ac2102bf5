/* trust_lines.c: the lines of allowed_signers and revoked_keys, parsed into a struct and written
 * from it. */
#include "orchestrator/trust_parts.h"
#include <stdio.h>
#include <string.h>

#define CONTROLLER_SPACES "plan.v1@fleetmark,tree.v1@fleetmark,trust.v1@fleetmark"
#define SYSTEM_SPACES     "bundle.v1@fleetmark,enrol.v1@fleetmark"
#define KEYS_MAX          4096

/* YYYYMMDDHHMMSSZ as a stamp that can be judged. */
static bool compact_ok(const char *s)
{
	char stamp[40];

	if (strlen(s) != 15 || s[14] != 'Z')
		return false;
	snprintf(stamp, sizeof stamp, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", s, s + 4, s + 6, s + 8,
	        s + 10, s + 12);
	return fm_stamp_ok(stamp);
}

/* Takes exactly this text off *p. */
static bool take(const char **p, const char *text)
{
	size_t len = strlen(text);

	if (strncmp(*p, text, len) != 0)
		return false;
	*p += len;
	return true;
}

static bool take_stamp(const char **p, char out[16])
{
	if (strnlen(*p, 16) < 16 || (*p)[15] != '"')
		return false;
	memcpy(out, *p, 15);
	out[15] = '\0';
	*p += 16;
	return compact_ok(out);
}

/* `<name> namespaces="...",valid-after="..."[,valid-before="..."] <public line>` */
static bool parse_signer(const char *line, bool controller, struct fm_trust_key *k)
{
	size_t name = strcspn(line, " ");
	const char *p = line + name;

	memset(k, 0, sizeof *k);
	if (name == 0 || name > FM_NAME_MAX)
		return false;
	memcpy(k->system, line, name);
	if (!fm_name_ok(k->system) || (strcmp(k->system, "controller") == 0) != controller ||
	        !take(&p, " namespaces=\"") ||
	        !take(&p, controller ? CONTROLLER_SPACES : SYSTEM_SPACES) ||
	        !take(&p, "\",valid-after=\"") || !take_stamp(&p, k->after))
		return false;
	if (!controller && take(&p, ",valid-before=\"") &&
	        (!take_stamp(&p, k->before) || strcmp(k->before, k->after) < 0))
		return false;
	return take(&p, " ") && strlen(p) == FM_PUBLIC_LINE && fm_public_parse(p, &k->key) == FM_OK;
}

/* A second line of the controller stands only in a handover: its next key. */
static int take_successor(struct fm_trust *t, const struct fm_trust_key *k)
{
	if (fm_public_equal(&t->controller, &k->key))
		return fm_fail(FM_ERR_IDENTITY, "the controller's key follows itself");
	t->successor = k->key;
	memcpy(t->successor_after, k->after, sizeof k->after);
	t->has_successor = true;
	return FM_OK;
}

/* No key twice; at any second at most one key per system. */
static int check_key(const struct fm_trust *t, const struct fm_trust_key *k)
{
	if (fm_public_equal(&t->controller, &k->key))
		return fm_fail(FM_ERR_IDENTITY, "system %s has the controller's key", k->system);
	for (size_t i = 0; i < t->count; i++) {
		const struct fm_trust_key *o = &t->keys[i];

		if (fm_public_equal(&o->key, &k->key))
			return fm_fail(FM_ERR_IDENTITY, "one key stands twice, for %s and for %s",
			        o->system, k->system);
		if (strcmp(o->system, k->system) == 0 &&
		        !((o->before[0] != '\0' && strcmp(o->before, k->after) < 0) ||
		                (k->before[0] != '\0' && strcmp(k->before, o->after) < 0)))
			return fm_fail(FM_ERR_IDENTITY, "two keys of %s are valid at the same time",
			        k->system);
	}
	return FM_OK;
}

int fm_trust_parse_signers(const char *text, size_t len, struct fm_trust *t)
{
	const char *end = text + len, *lf;
	size_t number = 0;
	int rc = FM_OK;

	for (const char *p = text; rc == FM_OK && p < end; p = lf + 1) {
		struct fm_trust_key k, *slot;
		char line[512];

		number++;
		if ((lf = memchr(p, '\n', (size_t)(end - p))) == NULL ||
		        (size_t)(lf - p) >= sizeof line ||
		        memchr(p, '\0', (size_t)(lf - p)) != NULL)
			return fm_fail(FM_ERR_FORM, "line %zu: too long, or not ended", number);
		memcpy(line, p, (size_t)(lf - p));
		line[lf - p] = '\0';
		if (!parse_signer(line, number == 1, &k) &&
		        !(number == 2 && parse_signer(line, true, &k)))
			return fm_fail(FM_ERR_FORM,
			        "line %zu is not of the form that FORMATS.md section 13 gives",
			        number);
		if (number == 1) {
			t->controller = k.key;
			memcpy(t->controller_after, k.after, sizeof k.after);
			continue;
		}
		if (strcmp(k.system, "controller") == 0) {
			if ((rc = take_successor(t, &k)) != FM_OK)
				return fm_wrap(rc, "line %zu", number);
			continue;
		}
		if (t->count >= KEYS_MAX)
			return fm_fail(FM_ERR_SIZE, "more than %d keys", KEYS_MAX);
		if ((rc = check_key(t, &k)) != FM_OK)
			return fm_wrap(rc, "line %zu", number);
		if ((slot = fm_grow(&t->keys, &t->count, sizeof *slot)) == NULL)
			return FM_ERR_MEMORY;
		*slot = k;
	}
	return number > 0 ? rc : fm_fail(FM_ERR_FORM, "empty: the controller's line is missing");
}

int fm_trust_parse_revoked(const char *text, size_t len, struct fm_trust *t)
{
	char line[FM_PUBLIC_LINE + 1];

	for (size_t at = 0; at < len; at += FM_PUBLIC_LINE + 1) {
		struct fm_public key, *slot;

		if (len - at < FM_PUBLIC_LINE + 1 || text[at + FM_PUBLIC_LINE] != '\n')
			return fm_fail(FM_ERR_FORM, "line %zu is no public line",
			        at / (FM_PUBLIC_LINE + 1) + 1);
		memcpy(line, text + at, FM_PUBLIC_LINE);
		line[FM_PUBLIC_LINE] = '\0';
		if (fm_public_parse(line, &key) != FM_OK)
			return fm_fail(FM_ERR_FORM, "line %zu is no public line",
			        at / (FM_PUBLIC_LINE + 1) + 1);
		if ((slot = fm_grow(&t->revoked, &t->revoked_count, sizeof *slot)) == NULL)
			return FM_ERR_MEMORY;
		*slot = key;
	}
	return FM_OK;
}

static int put_controller(struct fm_buf *out, const struct fm_public *key, const char *after)
{
	char line[FM_PUBLIC_LINE + 1];

	fm_public_line(key, line);
	return fm_buf_printf(out, "controller namespaces=\"%s\",valid-after=\"%s\" %s\n",
	        CONTROLLER_SPACES, after, line);
}

int fm_trust_format_signers(const struct fm_trust *t, struct fm_buf *out)
{
	char line[FM_PUBLIC_LINE + 1];
	int rc = put_controller(out, &t->controller, t->controller_after);

	if (rc == FM_OK && t->has_successor)
		rc = put_controller(out, &t->successor, t->successor_after);
	for (size_t i = 0; rc == FM_OK && i < t->count; i++) {
		const struct fm_trust_key *k = &t->keys[i];

		fm_public_line(&k->key, line);
		rc = fm_buf_printf(out, "%s namespaces=\"%s\",valid-after=\"%s\"", k->system,
		        SYSTEM_SPACES, k->after);
		if (rc == FM_OK && k->before[0] != '\0')
			rc = fm_buf_printf(out, ",valid-before=\"%s\"", k->before);
		if (rc == FM_OK)
			rc = fm_buf_printf(out, " %s\n", line);
	}
	return rc;
}
