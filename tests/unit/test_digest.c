/* test_digest.c: SHA-256 against FIPS 180-4 examples, whole and in pieces; hex both ways; random
 * bytes differ. */
#include "protocol/digest.h"
#include "protocol/path.h"
#include "tests/unit/scratch.h"

static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char empty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char million[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void sha256(void **state)
{
	struct fm_sha256 h;
	char hex[65], piece[1000];

	(void)state;
	fm_sha256_hex("abc", 3, hex);
	assert_string_equal(hex, abc);
	fm_sha256_hex("", 0, hex);
	assert_string_equal(hex, empty);
	fm_sha256_start(&h);
	fm_sha256_end(&h, hex);
	assert_string_equal(hex, empty);
	memset(piece, 'a', sizeof piece);
	fm_sha256_start(&h);
	for (int i = 0; i < 1000; i++)
		fm_sha256_add(&h, piece, sizeof piece);
	fm_sha256_end(&h, hex);
	assert_string_equal(hex, million);
}

static void hex_both_ways(void **state)
{
	unsigned char raw[3];
	char hex[7];

	(void)state;
	fm_hex("\x00\xa5\xff", 3, hex);
	assert_string_equal(hex, "00a5ff");
	assert_ok(fm_unhex(hex, raw, 3));
	assert_memory_equal(raw, "\x00\xa5\xff", 3);
	assert_fails(FM_ERR_FORM, "6 lower-case", fm_unhex("00A5ff", raw, 3));
	assert_fails(FM_ERR_FORM, "6 lower-case", fm_unhex("00a5f", raw, 3));
	assert_fails(FM_ERR_FORM, "exactly 6", fm_unhex("00a5ff0", raw, 3));
	assert_fails(FM_ERR_FORM, "6 lower-case", fm_unhex("", raw, 3));
}

static void random_bytes(void **state)
{
	char one[65], two[65], longer[201];

	(void)state;
	fm_random_hex(32, one);
	fm_random_hex(32, two);
	assert_true(fm_hex64_ok(one) && fm_hex64_ok(two));
	assert_string_not_equal(one, two);
	fm_random_hex(100, longer);
	assert_int_equal(strlen(longer), 200);
	fm_random(one, 16);
}

static int init(void **state)
{
	(void)state;
	assert_ok(fm_crypto_init());
	assert_ok(fm_crypto_init());
	assert_memory_equal(fm_crypto_version(), "libsodium 1.", 12);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(sha256),
	        cmocka_unit_test(hex_both_ways),
	        cmocka_unit_test(random_bytes),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
