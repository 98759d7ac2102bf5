/* package_name.c: names inside packages, in any encoding, spelled so that our path rule takes them.
 */
#include "orchestrator/package.h"
#include <string.h>

static bool is_letter(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_';
}

static bool stands(unsigned char c, bool first)
{
	return is_letter(c) || (!first && (c == '.' || c == '-'));
}

static int refuse(const char *what, const char *name, const char *why)
{
	char shown[200];

	return fm_fail(FM_ERR_SOURCE, "%s: entry '%s': %s", what,
	        fm_escape(name, strlen(name), shown, sizeof shown), why);
}

static int put_part(struct fm_buf *out, const unsigned char *part, size_t len)
{
	bool guard =
	        !stands(part[0], true) || (part[0] == '_' && len > 1 && !stands(part[1], false));
	int rc = guard ? fm_buf_puts(out, "_") : FM_OK;

	for (size_t i = 0; rc == FM_OK && i < len; i++)
		rc = stands(part[i], i == 0) && !(guard && i == 0)
		             ? fm_buf_put(out, &part[i], 1)
		             : fm_buf_printf(out, "+%02X", part[i]);
	return rc;
}

/* Why a part may not be in a package, or NULL. Backslashes divide parts on some systems. */
static const char *bad_part(const char *part, size_t len)
{
	const char *end = part + len;

	if (len == 0)
		return "has an empty part";
	while (part < end) {
		size_t piece = 0;

		while (part + piece < end && part[piece] != '\\')
			piece++;
		if (piece == 2 && part[0] == '.' && part[1] == '.')
			return "leads out of its folder ('..')";
		if (piece == 1 && part[0] == '.')
			return "has a part '.'";
		part += piece + 1;
	}
	return NULL;
}

static const char *bad_name(const char *name)
{
	if (name[0] == '/' || name[0] == '\\')
		return "is an absolute name";
	if (((name[0] | 0x20) >= 'a' && (name[0] | 0x20) <= 'z') && name[1] == ':')
		return "begins with a drive letter";
	for (const char *p = name; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return "has control bytes in its name";
	return NULL;
}

int fm_package_name(const char *what, const char *name, char **safe)
{
	struct fm_buf out = FM_BUF_INIT(1u << 16);
	const char *why = bad_name(name), *at = name;
	size_t len;
	int rc = FM_OK;

	*safe = NULL;
	if (why != NULL)
		return refuse(what, name, why);
	while (at[0] == '.' && at[1] == '/')
		at += 2;
	len = strlen(at);
	if (len > 0 && at[len - 1] == '/')
		len--;
	if (len == 1 && at[0] == '.')
		len = 0;
	for (size_t from = 0; rc == FM_OK && len > 0 && from <= len;) {
		const char *slash = memchr(at + from, '/', len - from);
		size_t part = slash == NULL ? len - from : (size_t)(slash - at) - from;

		if ((why = bad_part(at + from, part)) != NULL) {
			rc = refuse(what, name, why);
			break;
		}
		if (from > 0)
			rc = fm_buf_puts(&out, "/");
		if (rc == FM_OK)
			rc = put_part(&out, (const unsigned char *)at + from, part);
		from += part + 1;
	}
	if (rc == FM_ERR_SIZE)
		rc = refuse(what, name, "has a name of more than 64 KiB");
	if (rc == FM_OK && (*safe = fm_strdup(out.data == NULL ? "" : out.data)) == NULL)
		rc = FM_ERR_MEMORY;
	fm_buf_free(&out);
	return rc;
}

bool fm_package_word(const char *word)
{
	char path[FM_PATH_MAX + 1];
	size_t len = strlen(word);

	if (strncmp(word, ".../", 4) == 0)
		return fm_path_ok(word + 4);
	if (len < 2 || len > FM_PATH_MAX || word[len - 1] != '/')
		return false;
	memcpy(path, word, len - 1);
	path[len - 1] = '\0';
	return strcmp(path, ".") == 0 || fm_path_ok(path);
}
