/* test_katfile.c: the canonical form of known-answer text, however it arrives. */
#include "agent/worker/katfile.h"
#include "tests/unit/scratch.h"

/* From the guide: Msg_Len = 0, Msg of nothing, Dst_Len = 8, Dst = AB, empty line. */
static const char lf[] = "Msg_Len = 0\nMsg = \nDst_Len = 8\nDst = AB\n\n";
static const char strict[] = "8d42fec446078cc803f7a19d8d0cadd414c2e3594fb266ebd324b7d7bd96d9cb";

static void digest_cut(const char *text, size_t step, char hex[65])
{
	struct fm_katfile k;
	size_t len = strlen(text);

	fm_katfile_start(&k);
	for (size_t at = 0; at < len; at += step)
		fm_katfile_add(&k, text + at, len - at < step ? len - at : step);
	assert_ok(fm_katfile_end(&k, hex, NULL));
}

static void canonical(void **state)
{
	static const char *const same[] = {lf,
	        "Msg_Len = 0\r\nMsg = \r\nDst_Len = 8\r\nDst = AB\r\n\r\n",
	        "Msg_Len = 0\nMsg =\nDst_Len = 8\nDst = AB",
	        "\n \t\r\nMsg_Len = 0 \t \nMsg =\t\r \nDst_Len = 8\nDst = AB\n \n\n"};
	static const char *const other[] = {"msg_Len = 0\nMsg =\nDst_Len = 8\nDst = AB\n",
	        "Msg_Len  = 0\nMsg =\nDst_Len = 8\nDst = AB\n",
	        " Msg_Len = 0\nMsg =\nDst_Len = 8\nDst = AB\n",
	        "Msg_Len = 0\rMsg =\nDst_Len = 8\nDst = AB\n"};
	char hex[65];

	(void)state;
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		for (size_t step = 1; step < 50; step++) {
			digest_cut(same[i], step, hex);
			assert_string_equal(hex, strict);
		}
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		digest_cut(other[i], 7, hex);
		assert_string_not_equal(hex, strict);
	}
}

static void records(void **state)
{
	struct fm_katfile k;
	unsigned char digest = 0xab;
	uint64_t bytes;
	char hex[65];

	(void)state;
	fm_katfile_start(&k);
	fm_katfile_number(&k, "Msg_Len", 0);
	fm_katfile_hex(&k, "Msg", &digest, 0);
	fm_katfile_number(&k, "Dst_Len", 8);
	fm_katfile_hex(&k, "Dst", &digest, 1);
	fm_katfile_gap(&k);
	assert_ok(fm_katfile_end(&k, hex, &bytes));
	assert_string_equal(hex, strict);
	assert_int_equal(bytes, strlen(lf));
}

/* Blanks are kept until the line's fate is known, but not without end. */
static void too_many_blanks(void **state)
{
	struct fm_katfile k;
	char hex[65], blanks[4096];

	(void)state;
	memset(blanks, ' ', sizeof blanks);
	fm_katfile_start(&k);
	for (size_t i = 0; i <= FM_KATFILE_BLANKS_MAX / sizeof blanks; i++)
		fm_katfile_add(&k, blanks, sizeof blanks);
	assert_int_equal(fm_katfile_end(&k, hex, NULL), FM_ERR_SIZE);
	assert_string_equal(hex, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(canonical), cmocka_unit_test(records),
	        cmocka_unit_test(too_many_blanks)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
