/* test_wire.c: a host that keeps the line alive and never comes to an end. */
#include "orchestrator/wire.h"
#include "tests/unit/scratch.h"

struct fm_channel {
	uint32_t number;
	unsigned asked;
};

/* Each read brings one frame: a ping, or a data frame of one byte. */
static ssize_t drip(
        struct fm_channel *c, void *bytes, size_t size, int *is_stderr, uint64_t deadline)
{
	struct fm_buf out = FM_BUF_INIT(100);
	size_t len;

	(void)deadline;
	*is_stderr = 0;
	usleep(5000);
	if (fm_frame_put(&out, &c->number, c->asked++ % 2 == 0 ? FM_FRAME_PING : FM_FRAME_DATA,
	            "xxxxxxxx", 8) != FM_OK)
		return -1;
	len = out.len;
	assert_true(len <= size);
	memcpy(bytes, out.data, len);
	fm_buf_free(&out);
	return (ssize_t)len;
}

static int swallow(struct fm_channel *c, const void *bytes, size_t len, uint64_t deadline)
{
	(void)c;
	(void)bytes;
	(void)len;
	(void)deadline;
	return FM_OK;
}

static void nothing(struct fm_channel *c)
{
	(void)c;
}

static void ends_at_its_time(void **state)
{
	const struct fm_transport_ops ops = {.read = drip, .write = swallow, .discard = nothing};
	struct fm_channel c = {0};
	struct fm_wire w;
	struct fm_frame frame;
	uint64_t start = fm_now_ns();
	int rc = FM_OK, frames = 0;

	(void)state;
	fm_wire_start(&w, &ops, &c, -1);
	w.until = start + 300 * FM_MS;
	while (rc == FM_OK) {
		rc = fm_wire_next(&w, &frame, 60);
		frames += rc == FM_OK;
	}
	assert_int_equal(rc, FM_ERR_TIMEOUT);
	assert_non_null(strstr(fm_error_text(), "does not come to an end"));
	assert_true(frames > 1);
	assert_true(fm_now_ns() - start < 20 * FM_S);
	w.until = 0;
	assert_int_equal(fm_wire_next(&w, &frame, 60), FM_OK);
	fm_wire_stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ends_at_its_time)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
