/* test_drng.c: the generator of known-answer messages: known states, bit lengths, and that its
 * self-test can fail. */
#include "agent/worker/drng.h"
#include "protocol/digest.h"
#include "tests/unit/scratch.h"

static void known(void **state)
{
	(void)state;
	assert_ok(fm_crypto_init());
	assert_ok(fm_drng_selftest());
	assert_ok(fm_drng_selftest_messages());
}

/* 0 bits write nothing and still move on; unused low bits are 0; no byte behind the output is
 * touched. */
static void bits(void **state)
{
	struct fm_drng d, e;
	unsigned char out[66];

	(void)state;
	fm_drng_init_tag(&d, "KAT_2_12");
	e = d;
	memset(out, 0xee, sizeof out);
	fm_drng_get(&d, out, 0);
	assert_int_equal(out[0], 0xee);
	assert_memory_not_equal(d.v, e.v, sizeof d.v);
	for (unsigned n = 1; n <= 512; n++) {
		size_t len = (n + 7) / 8;

		memset(out, 0xee, sizeof out);
		fm_drng_get(&d, out, n);
		if (n % 8 != 0)
			assert_int_equal(out[len - 1] & (0xff >> (n % 8)), 0);
		assert_int_equal(out[len], 0xee);
	}
	assert_int_equal(d.counter[FM_DRNG_BYTES - 1], (1 + 1 + 512) & 0xff);
	assert_int_equal(d.counter[FM_DRNG_BYTES - 2], (1 + 1 + 512) >> 8);
}

/* One long request equals its own prefix, whatever its length: messages of a file do not depend on
 * buffers. */
static void prefixes(void **state)
{
	struct fm_drng d, e;
	unsigned char a[100], b[100];

	(void)state;
	fm_drng_init_tag(&d, "KAT_2_23");
	fm_drng_init_tag(&e, "KAT_2_23");
	fm_drng_get(&d, a, 8 * 100);
	fm_drng_get(&e, b, 8 * 33);
	assert_memory_equal(a, b, 33);
	fm_drng_init_tag(&e, "KAT_Loop");
	fm_drng_get(&e, b, 8 * 100);
	assert_memory_not_equal(a, b, 100);
}

/* The first seed of the public-key generator, computed in two independent ways for the guide. */
static void other_seed(void **state)
{
	struct fm_drng d;
	unsigned char out[64];
	char hex[129];

	(void)state;
	fm_drng_init(&d, "seedseedseedseedseedseedseedseedseedseedseedseedseedseedseedseed", 64);
	fm_drng_get(&d, out, 512);
	fm_hex(out, sizeof out, hex);
	assert_string_equal(hex,
	        "927f06b594798a4ddfaa4f03f92aaaf04e1d453f6ed1de19b86d3aade048a654"
	        "83df4754049b5cd3f586406cf2c64875c51edb576df342b5a970f40eabc15d3c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(bits),
	        cmocka_unit_test(prefixes), cmocka_unit_test(other_seed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
