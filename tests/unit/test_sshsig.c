/* test_sshsig.c: the golden vector, and every other spelling of a good signature, which stock tools
 * may take. */
#include "protocol/digest.h"
#include "protocol/sshsig.h"
#include "tests/unit/scratch.h"
#include <sodium.h>

#define NAMESPACE "bundle.v1@fleetmark"
#define BEGIN     "-----BEGIN SSH SIGNATURE-----\n"
#define END       "-----END SSH SIGNATURE-----\n"

static const char message[] = "fleetmark\n";
static struct fm_identity *id;
static struct fm_buf golden = {.max = FM_SSHSIG_MAX};

static int verify(const void *sig, size_t len)
{
	return fm_sshsig_verify(
	        fm_identity_public(id), NAMESPACE, message, strlen(message), sig, len);
}

static void golden_vector(void **state)
{
	char hex[65];

	(void)state;
	assert_int_equal(golden.len, 314);
	fm_sha256_hex(golden.data, golden.len, hex);
	assert_string_equal(
	        hex, "fc16fff14ca79a5a3f6c4dcb3f9d448809043081233e5d7ddf2ea4af6d0931ce");
	assert_ok(verify(golden.data, golden.len));
}

static void every_changed_byte_is_refused(void **state)
{
	char copy[400];

	(void)state;
	for (size_t i = 0; i < golden.len; i++) {
		memcpy(copy, golden.data, golden.len);
		copy[i] = copy[i] == 'A' ? 'B' : 'A';
		assert_int_not_equal(verify(copy, golden.len), FM_OK);
	}
	for (size_t len = 0; len < golden.len; len++)
		assert_int_not_equal(verify(golden.data, len), FM_OK);
}

static void key_namespace_and_message_count(void **state)
{
	const struct fm_public *pub = fm_identity_public(id);
	unsigned char seed[32] = {9};
	struct fm_identity *other;

	(void)state;
	assert_ok(fm_identity_from_seed(seed, &other));
	assert_fails(FM_ERR_SIGNATURE, "expected key",
	        fm_sshsig_verify(fm_identity_public(other), NAMESPACE, message, 10, golden.data,
	                golden.len));
	assert_fails(FM_ERR_SIGNATURE, "namespace plan.v1",
	        fm_sshsig_verify(pub, "plan.v1@fleetmark", message, 10, golden.data, golden.len));
	assert_fails(FM_ERR_SIGNATURE, "does not hold",
	        fm_sshsig_verify(pub, NAMESPACE, message, 9, golden.data, golden.len));
	assert_fails(FM_ERR_SIGNATURE, "does not hold",
	        fm_sshsig_verify(pub, NAMESPACE, "fleetmarK\n", 10, golden.data, golden.len));
	assert_fails(FM_ERR_INTERNAL, "namespace",
	        fm_sshsig_verify(pub, "", message, 10, golden.data, golden.len));
	fm_identity_free(other);
}

/* The blob of the golden vector, to be spoiled and armoured again. */
static size_t blob_of_golden(unsigned char blob[300])
{
	size_t len = 0;

	assert_int_equal(sodium_base642bin(blob, 300, golden.data + strlen(BEGIN),
	                         golden.len - strlen(BEGIN) - strlen(END), "\n", &len, NULL,
	                         sodium_base64_VARIANT_ORIGINAL),
	        0);
	assert_int_equal(len, 189);
	return len;
}

static void armour(struct fm_buf *out, const unsigned char *blob, size_t len, size_t columns)
{
	char text[600];

	sodium_bin2base64(text, sizeof text, blob, len, sodium_base64_VARIANT_ORIGINAL);
	*out = FM_BUF_INIT(FM_SSHSIG_MAX);
	assert_ok(fm_buf_puts(out, BEGIN));
	for (size_t at = 0; at < strlen(text); at += columns)
		assert_ok(fm_buf_printf(out, "%.*s\n", (int)columns, text + at));
	assert_ok(fm_buf_puts(out, END));
}

static void blob_refused(const unsigned char *blob, size_t len, const char *words)
{
	struct fm_buf sig;

	armour(&sig, blob, len, 70);
	assert_fails(FM_ERR_SIGNATURE, words, verify(sig.data, sig.len));
	fm_buf_free(&sig);
}

/* The group order L, little-endian: S + L signs the same bytes for a verifier that does not look.
 */
static void s_plus_l(unsigned char s[32])
{
	static const unsigned char order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58,
	        0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, [31] = 0x10};
	unsigned carry = 0;

	for (int i = 0; i < 32; i++) {
		carry += s[i] + order[i];
		s[i] = (unsigned char)carry;
		carry >>= 8;
	}
	assert_int_equal(carry, 0);
}

static void other_blobs_are_refused(void **state)
{
	unsigned char blob[300], longer[300];
	size_t len;

	(void)state;
	len = blob_of_golden(blob);
	s_plus_l(blob + len - 32);
	blob_refused(blob, len, "does not hold");
	len = blob_of_golden(blob);
	blob[9] = 0; /* version 0 */
	blob_refused(blob, len, "spelling");
	len = blob_of_golden(blob);
	/* reserved field: behind magic, version, key and namespace */
	memcpy(longer, blob, 6 + 4 + 55 + 4 + strlen(NAMESPACE));
	memcpy(longer + 65 + 4 + strlen(NAMESPACE), "\0\0\0\1x", 5);
	memcpy(longer + 65 + 4 + strlen(NAMESPACE) + 5, blob + 65 + 4 + strlen(NAMESPACE) + 4,
	        len - 65 - 4 - strlen(NAMESPACE) - 4);
	blob_refused(longer, len + 1, "spelling");
	len = blob_of_golden(blob);
	memcpy(blob + len - 64 - 4 - 11 - 4 - 4 - 6, "sha256", 6);
	blob_refused(blob, len, "spelling");
	len = blob_of_golden(blob);
	memset(blob + len, 0, 10); /* bytes behind the signature */
	blob_refused(blob, len + 10, "spelling");
	len = blob_of_golden(blob);
	blob_refused(blob, 64, "spelling");
}

static void refused(const char *sig, int code)
{
	assert_int_equal(verify(sig, strlen(sig)), code);
}

static void other_armours_are_refused(void **state)
{
	unsigned char blob[300];
	size_t len = blob_of_golden(blob);
	static const size_t columns[] = {1, 64, 69, 71, 76, 400};
	struct fm_buf sig;
	char text[800];

	(void)state;
	armour(&sig, blob, len, 70);
	assert_int_equal(sig.len, golden.len);
	assert_memory_equal(sig.data, golden.data, sig.len);
	fm_buf_free(&sig);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		armour(&sig, blob, len, columns[i]);
		assert_fails(FM_ERR_SIGNATURE, "spelling", verify(sig.data, sig.len));
		fm_buf_free(&sig);
	}
	snprintf(text, sizeof text, "%strailing\n", golden.data);
	refused(text, FM_ERR_FORM);
	snprintf(text, sizeof text, "%s\n", golden.data);
	refused(text, FM_ERR_FORM);
	snprintf(text, sizeof text, "\n%s", golden.data);
	refused(text, FM_ERR_FORM);
	snprintf(text, sizeof text, "%s%s", golden.data, golden.data);
	refused(text, FM_ERR_FORM);
	snprintf(text, sizeof text, "%.*s\n%s", (int)strlen(BEGIN), golden.data,
	        golden.data + strlen(BEGIN));
	refused(text, FM_ERR_SIGNATURE);
	snprintf(text, sizeof text, "%.*s", (int)golden.len - 1, golden.data);
	refused(text, FM_ERR_FORM);
	refused(BEGIN END, FM_ERR_FORM);
	refused("", FM_ERR_FORM);
	refused(END BEGIN, FM_ERR_FORM);
	memset(text, 'A', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	refused(text, FM_ERR_FORM);
}

static void size_is_capped(void **state)
{
	static char big[FM_SSHSIG_MAX + 1];
	struct fm_buf small = FM_BUF_INIT(100);

	(void)state;
	memset(big, 'A', sizeof big);
	assert_fails(FM_ERR_FORM, "4097 bytes", verify(big, sizeof big));
	memcpy(big, BEGIN, strlen(BEGIN));
	memcpy(big + FM_SSHSIG_MAX - strlen(END), END, strlen(END));
	assert_int_not_equal(verify(big, FM_SSHSIG_MAX), FM_OK);
	assert_ok(fm_buf_puts(&small, "before"));
	assert_fails(FM_ERR_SIZE, "100", fm_sshsig_sign(id, NAMESPACE, message, 10, &small));
	assert_string_equal(small.data, "before");
	fm_buf_free(&small);
}

static int init(void **state)
{
	unsigned char seed[32];

	(void)state;
	for (unsigned char i = 0; i < 32; i++)
		seed[i] = i;
	assert_ok(fm_crypto_init());
	assert_ok(fm_identity_from_seed(seed, &id));
	assert_ok(fm_sshsig_sign(id, NAMESPACE, message, strlen(message), &golden));
	return 0;
}

static int done(void **state)
{
	(void)state;
	fm_identity_free(id);
	fm_buf_free(&golden);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(golden_vector),
	        cmocka_unit_test(every_changed_byte_is_refused),
	        cmocka_unit_test(key_namespace_and_message_count),
	        cmocka_unit_test(other_blobs_are_refused),
	        cmocka_unit_test(other_armours_are_refused),
	        cmocka_unit_test(size_is_capped),
	};

	return cmocka_run_group_tests(tests, init, done);
}
