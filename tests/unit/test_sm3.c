/* test_sm3.c: SM3 against the examples of its standard, and around the block limits. */
#include "agent/worker/sm3.h"
#include "protocol/digest.h"
#include "tests/unit/scratch.h"

static void check(const char *msg, size_t len, const char *want)
{
	unsigned char digest[FM_SM3_BYTES];
	char hex[65];

	fm_sm3(msg, len, digest);
	fm_hex(digest, sizeof digest, hex);
	assert_string_equal(hex, want);
}

static void standard(void **state)
{
	char msg[64];

	(void)state;
	check("abc", 3, "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0");
	for (size_t i = 0; i < sizeof msg; i++)
		msg[i] = "abcd"[i % 4];
	check(msg, 64, "debe9ff92275b8a138604889c18e5a4d6fdb70e5387e5765293dcba39c0c5732");
	check(NULL, 0, "1ab21d8355cfa17f8e61194831e81a8f22bec8c728fefb747ed035eb5082aa2b");
}

/* Every length from 0 to 200 once, hashed together: padding at 55, 56, 63, 64, 119, 120 is in it.
 */
static void lengths(void **state)
{
	unsigned char msg[200], all[201 * FM_SM3_BYTES];
	char hex[65];

	(void)state;
	for (size_t i = 0; i < sizeof msg; i++)
		msg[i] = (unsigned char)(17 * i + 1);
	for (size_t len = 0; len <= 200; len++)
		fm_sm3(msg, len, all + len * FM_SM3_BYTES);
	fm_hex(all + 64 * FM_SM3_BYTES, FM_SM3_BYTES, hex);
	assert_string_equal(
	        hex, "42699b3c3e3c61e30ba610da41d35477668abd28e3865f4b4684485d244564ea");
	fm_hex(all + 119 * FM_SM3_BYTES, FM_SM3_BYTES, hex);
	assert_string_equal(
	        hex, "db4c2e04373a5e7d435f939d99e3e69a86fe506e5d75aa33d893f3fe28354539");
	for (size_t a = 0; a <= 200; a++)
		for (size_t b = 0; b < a; b++)
			assert_memory_not_equal(
			        all + a * FM_SM3_BYTES, all + b * FM_SM3_BYTES, FM_SM3_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(standard), cmocka_unit_test(lengths)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
