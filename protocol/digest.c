/* digest.c: SHA-256, SHA-512, hex digits and random bytes through libsodium. */
#include "protocol/digest.h"
#include <sodium.h>
#include <stdio.h>

_Static_assert(sizeof(crypto_hash_sha256_state) <= sizeof(struct fm_sha256), "opaque is too small");
_Static_assert(_Alignof(crypto_hash_sha256_state) <= _Alignof(struct fm_sha256), "alignment");

_Static_assert(sizeof(crypto_hash_sha512_state) <= sizeof(struct fm_sha512), "opaque is too small");

static crypto_hash_sha256_state *state_of(struct fm_sha256 *h)
{
	return (void *)h->opaque;
}

int fm_crypto_init(void)
{
	if (sodium_init() < 0)
		return fm_fail(FM_ERR_INTERNAL, "libsodium did not start");
	return FM_OK;
}

const char *fm_crypto_version(void)
{
	static _Thread_local char text[40];

	snprintf(text, sizeof text, "libsodium %s", sodium_version_string());
	return text;
}

void fm_sha256_hex(const void *bytes, size_t len, char hex[65])
{
	unsigned char digest[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(digest, bytes, len);
	fm_hex(digest, sizeof digest, hex);
}

void fm_sha256_start(struct fm_sha256 *h)
{
	crypto_hash_sha256_init(state_of(h));
}

void fm_sha256_add(struct fm_sha256 *h, const void *bytes, size_t len)
{
	crypto_hash_sha256_update(state_of(h), bytes, len);
}

void fm_sha256_end(struct fm_sha256 *h, char hex[65])
{
	unsigned char digest[crypto_hash_sha256_BYTES];

	crypto_hash_sha256_final(state_of(h), digest);
	fm_hex(digest, sizeof digest, hex);
}

void fm_sha512_start(struct fm_sha512 *h)
{
	crypto_hash_sha512_init((crypto_hash_sha512_state *)(void *)h->opaque);
}

void fm_sha512_add(struct fm_sha512 *h, const void *bytes, size_t len)
{
	crypto_hash_sha512_update((crypto_hash_sha512_state *)(void *)h->opaque, bytes, len);
}

void fm_sha512_end(struct fm_sha512 *h, unsigned char out[64])
{
	crypto_hash_sha512_final((crypto_hash_sha512_state *)(void *)h->opaque, out);
}

void fm_hex(const void *bytes, size_t len, char *out)
{
	static const char digit[] = "0123456789abcdef";
	const unsigned char *p = bytes;

	for (size_t n = 0; n < len; n++) {
		out[2 * n] = digit[p[n] >> 4];
		out[2 * n + 1] = digit[p[n] & 15];
	}
	out[2 * len] = '\0';
}

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int fm_unhex(const char *hex, void *out, size_t len)
{
	unsigned char *p = out;

	for (size_t n = 0; n < len; n++) {
		int high = nibble(hex[2 * n]), low = high < 0 ? -1 : nibble(hex[2 * n + 1]);

		if (low < 0)
			return fm_fail(FM_ERR_FORM, "expected %zu lower-case hex digits", 2 * len);
		p[n] = (unsigned char)(high << 4 | low);
	}
	if (hex[2 * len] != '\0')
		return fm_fail(FM_ERR_FORM, "expected exactly %zu lower-case hex digits", 2 * len);
	return FM_OK;
}

void fm_random(void *out, size_t len)
{
	randombytes_buf(out, len);
}

void fm_random_hex(size_t bytes, char *out)
{
	unsigned char raw[32];

	while (bytes > 0) {
		size_t take = bytes < sizeof raw ? bytes : sizeof raw;

		randombytes_buf(raw, take);
		fm_hex(raw, take, out);
		out += 2 * take;
		bytes -= take;
	}
	*out = '\0';
	sodium_memzero(raw, sizeof raw);
}
