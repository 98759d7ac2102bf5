/* drng.c: the deterministic generator that makes the messages of the known-answer files. */
#include "agent/worker/drng.h"

#include "agent/worker/sm3.h"
#include "protocol/buf.h"
#include "protocol/digest.h"

#include <stdlib.h>
#include <string.h>

/* sum = sum + number mod 2^440; number has len bytes. */
static void add(unsigned char sum[FM_DRNG_BYTES], const unsigned char *number, size_t len)
{
	unsigned carry = 0;

	for (size_t i = 0; i < FM_DRNG_BYTES; i++) {
		unsigned char *byte = &sum[FM_DRNG_BYTES - 1 - i];

		carry += *byte;
		if (i < len)
			carry += number[len - 1 - i];
		*byte = (unsigned char)carry;
		carry >>= 8;
	}
}

/* df(x), x = len bytes, at most FM_DRNG_SEED_MAX: 440 bits out of two hashes. */
static void derive(const unsigned char *x, size_t len, unsigned char out[FM_DRNG_BYTES])
{
	unsigned char in[5 + FM_DRNG_SEED_MAX] = {0x01, 0x00, 0x00, 0x01, 0xb8};
	unsigned char hash[FM_SM3_BYTES];

	memcpy(in + 5, x, len);
	fm_sm3(in, 5 + len, hash);
	memcpy(out, hash, FM_SM3_BYTES);
	in[0] = 0x02;
	fm_sm3(in, 5 + len, hash);
	memcpy(out + FM_SM3_BYTES, hash, FM_DRNG_BYTES - FM_SM3_BYTES);
}

void fm_drng_init(struct fm_drng *d, const void *seed, size_t seed_len)
{
	unsigned char in[1 + FM_DRNG_BYTES] = {0x00};

	memset(d, 0, sizeof *d);
	derive(seed, seed_len < FM_DRNG_SEED_MAX ? seed_len : FM_DRNG_SEED_MAX, d->v);
	memcpy(in + 1, d->v, FM_DRNG_BYTES);
	derive(in, sizeof in, d->c);
	d->counter[FM_DRNG_BYTES - 1] = 1;
}

void fm_drng_init_tag(struct fm_drng *d, const char *tag)
{
	unsigned char seed[FM_DRNG_SEED_MAX] = {0};
	size_t len = strnlen(tag, 8);

	for (size_t i = 0; i < 8; i++)
		memcpy(seed + 8 * i, tag, len);
	fm_drng_init(d, seed, sizeof seed);
}

void fm_drng_get(struct fm_drng *d, unsigned char *out, uint64_t bits)
{
	static const unsigned char one = 1;
	unsigned char data[FM_DRNG_BYTES], hash[FM_SM3_BYTES], in[1 + FM_DRNG_BYTES] = {0x03};
	uint64_t bytes = bits / 8 + (bits % 8 != 0), done = 0;

	memcpy(data, d->v, sizeof data);
	while (done < bytes) {
		size_t n = bytes - done < FM_SM3_BYTES ? (size_t)(bytes - done) : FM_SM3_BYTES;

		fm_sm3(data, sizeof data, hash);
		memcpy(out + done, hash, n);
		done += n;
		add(data, &one, 1);
	}
	if (bits % 8 != 0)
		out[bytes - 1] &= (unsigned char)(0xff00u >> (bits % 8));
	memcpy(in + 1, d->v, FM_DRNG_BYTES);
	fm_sm3(in, sizeof in, hash);
	add(d->v, hash, sizeof hash);
	add(d->v, d->c, FM_DRNG_BYTES);
	add(d->v, d->counter, FM_DRNG_BYTES);
	add(d->counter, &one, 1);
}

static int expect(const char *what, const unsigned char *bytes, size_t len, const char *hex)
{
	char seen[2 * FM_DRNG_BYTES + 1];

	fm_hex(bytes, len, seen);
	if (strcmp(seen, hex) != 0)
		return fm_fail(FM_ERR_INTERNAL, "self-test: %s is %s, must be %s", what, seen, hex);
	return FM_OK;
}

/* What get(1) to get(16) give one after another, in hex. */
static const char first_bits[] = "8040a090c0a8503d0e000a00ac2058c0125021bc10b2408d";

int fm_drng_selftest(void)
{
	struct fm_drng d;
	unsigned char out[512], digest[FM_SM3_BYTES], bits[24];
	size_t used = 0;
	int rc;

	fm_sm3("abc", 3, digest);
	if ((rc = expect("SM3(abc)", digest, sizeof digest,
	             "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0")) != FM_OK)
		return rc;
	fm_sm3("", 0, digest);
	if ((rc = expect("SM3 of nothing", digest, sizeof digest,
	             "1ab21d8355cfa17f8e61194831e81a8f22bec8c728fefb747ed035eb5082aa2b")) != FM_OK)
		return rc;
	fm_drng_init_tag(&d, "KAT_2_12");
	if ((rc = expect("V after init", d.v, sizeof d.v,
	             "ff9a9d0490c986b1702a1661ba7e72ec240c77a802416e98e53ce4ee42abaf5fb6da7484ee7c5"
	             "870cda6"
	             "242a338d90555bdc6263fae274")) != FM_OK ||
	        (rc = expect("C after init", d.c, sizeof d.c,
	                 "283fc5f39adcd7c2c7e18d7f1f7b42cee6700fba7d791c9eed7698ddd979bf07c21a97184"
	                 "1f32108e10"
	                 "5f1ce5b3abb979dfe6d35ced27a")) != FM_OK)
		return rc;
	fm_drng_get(&d, out, 0);
	if ((rc = expect("V after get(0)", d.v, sizeof d.v,
	             "27da62f82ba65e74380ba3e0d9f9b5bb0a7c87627fba8b92407ac679fd0273066568a7d5b57eb"
	             "03cfcfc"
	             "5339027760013bdd2dba6eac5e")) != FM_OK)
		return rc;
	for (unsigned n = 1; n <= 4096; n++) {
		fm_drng_get(&d, out, n);
		if (n <= 16) {
			memcpy(bits + used, out, (n + 7) / 8);
			used += (n + 7) / 8;
		}
	}
	if ((rc = expect("get(1..16)", bits, sizeof bits, first_bits)) != FM_OK)
		return rc;
	return expect("V after get(4096)", d.v, sizeof d.v,
	        "24399ca5f9228af250e395d88e26a4220b782f3a118c7a40a8bd19723a5ade8a744d11d79bc0fcb0b8"
	        "c190ae13bf"
	        "a24dc105efeb1e3ea3");
}

static int expect_sha256(const char *what, const char *seen, const char *hex)
{
	if (strcmp(seen, hex) != 0)
		return fm_fail(FM_ERR_INTERNAL, "self-test: SHA-256 of %s is %s, must be %s", what,
		        seen, hex);
	return FM_OK;
}

/* SHA-256 over the lines "Msg = HEX" of KAT_2_12, as the file spells them. */
static void hash_lines(char hex[65])
{
	static const char digits[] = "0123456789ABCDEF";
	struct fm_drng d;
	struct fm_sha256 h;
	unsigned char msg[512];
	char line[6 + 1024 + 1];

	fm_drng_init_tag(&d, "KAT_2_12");
	fm_sha256_start(&h);
	for (unsigned bits = 0; bits <= 4096; bits++) {
		size_t len = 6;

		fm_drng_get(&d, msg, bits);
		memcpy(line, "Msg = ", 6);
		for (unsigned i = 0; i < (bits + 7) / 8; i++) {
			line[len++] = digits[msg[i] >> 4];
			line[len++] = digits[msg[i] & 15];
		}
		line[len++] = '\n';
		fm_sha256_add(&h, line, len);
	}
	fm_sha256_end(&h, hex);
}

int fm_drng_selftest_messages(void)
{
	const size_t big = 1u << 20;
	struct fm_drng d;
	unsigned char *msg = NULL;
	char hex[65];
	int rc;

	hash_lines(hex);
	if ((rc = expect_sha256("the messages of KAT_2_12", hex,
	             "723320f3f7919a30084e3e39c631d1a92d051cbb1fed066b4e4d3da1ebc17c83")) != FM_OK)
		goto out;
	if ((msg = fm_alloc(big)) == NULL) {
		rc = FM_ERR_MEMORY;
		goto out;
	}
	fm_drng_init_tag(&d, "KAT_2_23");
	fm_drng_get(&d, msg, 8 * (uint64_t)big);
	fm_sha256_hex(msg, big, hex);
	if ((rc = expect_sha256("the message of KAT_2_23", hex,
	             "66492eb919f5da36a9d3f60e8e3f34c7a31f01e9f82751b68a503314625e9265")) != FM_OK)
		goto out;
	fm_drng_init_tag(&d, "KAT_Loop");
	fm_drng_get(&d, msg, 8192);
	fm_sha256_hex(msg, 1024, hex);
	rc = expect_sha256("the message of KAT_Loop", hex,
	        "cc95b9ceef7feff63703951ae63ba4b15c36e18d750c53cf1f81db5b25329684");
out:
	free(msg);
	return rc;
}
