/* respell.c: other spellings of a good signature, for the attack tests: nothing is forged, but only
 * one spelling may pass.
 *
 *   respell order|reserved|version|wide|text < MANIFEST.sha256.sig
 *
 * order: the scalar S plus the group order; reserved: that field filled; version: 0; wide: base64
 * in lines of 76; text: a line behind the armour. */
#include <stdio.h>
#include <string.h>

#define BEGIN "-----BEGIN SSH SIGNATURE-----\n"
#define END   "-----END SSH SIGNATURE-----\n"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static size_t decode(const char *text, unsigned char *out)
{
	unsigned long bits = 0;
	size_t n = 0;
	int have = 0;

	for (; *text != '\0' && *text != '-' && *text != '='; text++) {
		const char *at = strchr(digits, *text);

		if (at == NULL)
			continue;
		bits = bits << 6 | (unsigned long)(at - digits);
		if ((have += 6) >= 8)
			out[n++] = (unsigned char)(bits >> (have -= 8) & 255);
	}
	return n;
}

static void encode(const unsigned char *bytes, size_t len, size_t wide)
{
	size_t column = 0;

	for (size_t i = 0; i < len; i += 3) {
		unsigned long bits = 0;
		size_t here = len - i < 3 ? len - i : 3;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < here ? bytes[i + k] : 0u);
		for (size_t k = 0; k < 4; k++) {
			(void)putchar(k > here ? '=' : digits[bits >> (18 - 6 * k) & 63]);
			if (++column % wide == 0)
				(void)putchar('\n');
		}
	}
	if (column % wide != 0)
		(void)putchar('\n');
}

/* S + L, little-endian; S is the second half of the last 64 bytes. */
static void add_order(unsigned char *s)
{
	static const unsigned char order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58,
	        0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, [31] = 0x10};
	unsigned carry = 0;

	for (int i = 0; i < 32; i++) {
		carry += s[i] + order[i];
		s[i] = (unsigned char)carry;
		carry >>= 8;
	}
}

/* The blob: "SSHSIG", version, then strings: key, namespace, reserved, hash, signature. */
static size_t fill_reserved(unsigned char *blob, size_t len)
{
	size_t at = 10;

	for (int i = 0; i < 2; i++)
		at += 4 + ((size_t)blob[at + 2] << 8 | blob[at + 3]);
	memmove(blob + at + 8, blob + at + 4, len - at - 4);
	memcpy(blob + at, "\0\0\0\4evil", 8);
	return len + 4;
}

int main(int argc, char **argv)
{
	char text[4096];
	unsigned char blob[4096];
	size_t n = fread(text, 1, sizeof text - 1, stdin), len;
	const char *how = argc == 2 ? argv[1] : "";

	text[n] = '\0';
	if (strncmp(text, BEGIN, sizeof BEGIN - 1) != 0 ||
	        (len = decode(text + sizeof BEGIN - 1, blob)) < 100)
		return 1;
	if (strcmp(how, "order") == 0)
		add_order(blob + len - 32);
	else if (strcmp(how, "reserved") == 0)
		len = fill_reserved(blob, len);
	else if (strcmp(how, "version") == 0)
		blob[9] = 0;
	else if (strcmp(how, "wide") != 0 && strcmp(how, "text") != 0)
		return 2;
	(void)fputs(BEGIN, stdout);
	encode(blob, len, strcmp(how, "wide") == 0 ? 76 : 70);
	(void)fputs(END, stdout);
	if (strcmp(how, "text") == 0)
		(void)fputs("anything\n", stdout);
	return 0;
}
