/* hint.c: writes the commands that messages suggest, so that they can be pasted. */
#include "orchestrator/hint.h"

#include "protocol/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In single quotes where a shell would see more than a word. */
static void put_word(struct fm_buf *b, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	                            "_./,+:=@%-";

	if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
		(void)!fm_buf_puts(b, word);
		return;
	}
	(void)!fm_buf_puts(b, "'");
	for (; *word != '\0'; word++)
		(void)!(*word == '\'' ? fm_buf_puts(b, "'\\''") : fm_buf_put(b, word, 1));
	(void)!fm_buf_puts(b, "'");
}

/* " NAME VALUE", unless it is what would be taken anyway. */
static void put_place(struct fm_buf *b, const char *name, const char *value, const char *standard)
{
	if (value == NULL || value[0] == '\0' || (standard != NULL && strcmp(value, standard) == 0))
		return;
	(void)!fm_buf_printf(b, " %s ", name);
	put_word(b, value);
}

char *fm_hint(const struct fm_options *o, char *out, size_t size, const char *format, ...)
{
	struct fm_buf b = FM_BUF_INIT(1u << 16);
	const char *inventory = getenv("FLEETMARK_INVENTORY");
	char words[1000];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(words, sizeof words, format, args);
	va_end(args);
	if (inventory == NULL || inventory[0] == '\0')
		inventory = "fleetmark.ini";
	(void)!fm_buf_printf(&b, "fleetmark %s", words);
	put_place(&b, "-i", o->inventory, inventory);
	put_place(&b, "--results", o->results, "results");
	put_place(&b, "--root", o->said.root ? o->root : NULL, NULL);
	(void)snprintf(out, size, "%s", b.data == NULL ? words : b.data);
	fm_buf_free(&b);
	return out;
}
