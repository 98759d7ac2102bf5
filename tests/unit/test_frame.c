/* test_frame.c: frames survive every way of cutting the stream; anything else ends the session. */
#include "protocol/frame.h"
#include "tests/unit/scratch.h"

static void one_byte_at_a_time(void **state)
{
	struct fm_buf wire = FM_BUF_INIT(1000);
	struct fm_frame_reader r;
	struct fm_frame f;
	uint32_t number = 0;
	int seen = 0;

	(void)state;
	assert_ok(fm_frame_put(&wire, &number, FM_FRAME_CALL, "call", 4));
	assert_ok(fm_frame_put(&wire, &number, FM_FRAME_PING, NULL, 0));
	assert_ok(fm_frame_put(&wire, &number, FM_FRAME_DATA, "\0\1", 2));
	assert_ok(fm_frame_put(&wire, &number, FM_FRAME_END, NULL, 0));
	assert_int_equal(number, 4);
	assert_int_equal(wire.len, 4 * FM_FRAME_HEADER + 6);
	assert_memory_equal(wire.data, "C\0\0\0\0\0\0\4\0\0\0\1call", 16);
	fm_frame_reader_init(&r);
	for (size_t i = 0; i < wire.len; i++) {
		int more;

		assert_ok(fm_frame_feed(&r, wire.data + i, 1));
		while ((more = fm_frame_next(&r, &f)) == 1) {
			assert_int_equal(f.type, "CPDE"[seen++]);
			if (f.type == FM_FRAME_CALL) {
				assert_int_equal(f.len, 4);
				assert_memory_equal(f.payload, "call", 4);
			}
		}
		assert_int_equal(more, 0);
	}
	assert_int_equal(seen, 4);
	fm_frame_reader_free(&r);
	fm_buf_free(&wire);
}

static void many_at_once(void **state)
{
	struct fm_buf wire = FM_BUF_INIT(1 << 20);
	struct fm_frame_reader r;
	struct fm_frame f;
	uint32_t number = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_ok(fm_frame_put(&wire, &number, FM_FRAME_EVENT, "0123456789", 10));
	fm_frame_reader_init(&r);
	assert_ok(fm_frame_feed(&r, wire.data, wire.len - 1));
	for (int i = 0; i < 999; i++)
		assert_int_equal(fm_frame_next(&r, &f), 1);
	assert_int_equal(fm_frame_next(&r, &f), 0);
	assert_ok(fm_frame_feed(&r, wire.data + wire.len - 1, 1));
	assert_int_equal(fm_frame_next(&r, &f), 1);
	assert_memory_equal(f.payload, "0123456789", 10);
	fm_frame_reader_free(&r);
	fm_buf_free(&wire);
}

static void refused(const char *bytes, size_t len, const char *words)
{
	struct fm_frame_reader r;
	struct fm_frame f;

	fm_frame_reader_init(&r);
	assert_ok(fm_frame_feed(&r, bytes, len));
	assert_fails(FM_ERR_FRAME, words, fm_frame_next(&r, &f));
	fm_frame_reader_free(&r);
}

static void anything_else_is_refused(void **state)
{
	(void)state;
	refused("Welcome to host", 15, "type 0x57");
	refused("X\0\0\0\0\0\0\0\0\0\0\1", 12, "type 0x58");
	refused("C\0\1\0\0\0\0\0\0\0\0\1", 12, "type 0x43");
	refused("C\0\0\0\0\x10\0\1\0\0\0\1", 12, "1048577 bytes");
	refused("C\0\0\0\xff\xff\xff\xff\0\0\0\1", 12, "4294967295 bytes");
	refused("E\0\0\0\0\0\0\1\0\0\0\1x", 13, "type 0x45");
	refused("C\0\0\0\0\0\0\0\0\0\0\2", 12, "number 2, expected 1");
	refused("C\0\0\0\0\0\0\0\0\0\0\0", 12, "number 0, expected 1");
}

static void limits_of_the_writer(void **state)
{
	struct fm_buf wire = FM_BUF_INIT(FM_FRAME_HEADER + 3);
	static char big[FM_FRAME_MAX + 1];
	struct fm_frame_reader r;
	uint32_t number = 0;

	(void)state;
	assert_fails(FM_ERR_INTERNAL, "cannot be sent",
	        fm_frame_put(&wire, &number, FM_FRAME_DATA, big, sizeof big));
	assert_fails(FM_ERR_INTERNAL, "cannot be sent",
	        fm_frame_put(&wire, &number, FM_FRAME_END, "x", 1));
	assert_fails(FM_ERR_SIZE, "", fm_frame_put(&wire, &number, FM_FRAME_DATA, "four", 4));
	assert_int_equal(wire.len, 0);
	assert_int_equal(number, 0);
	number = UINT32_MAX;
	assert_fails(FM_ERR_INTERNAL, "cannot be sent",
	        fm_frame_put(&wire, &number, FM_FRAME_PING, NULL, 0));
	fm_frame_reader_init(&r);
	for (int i = 0; i < 3; i++)
		assert_ok(fm_frame_feed(&r, big, sizeof big));
	assert_fails(FM_ERR_SIZE, "bytes that wait", fm_frame_feed(&r, big, sizeof big));
	fm_frame_reader_free(&r);
	fm_buf_free(&wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(one_byte_at_a_time),
	        cmocka_unit_test(many_at_once),
	        cmocka_unit_test(anything_else_is_refused),
	        cmocka_unit_test(limits_of_the_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
