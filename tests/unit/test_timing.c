/* test_timing.c: how calls are spread over windows, and that buffers, result lines and host
 * readings hold their promises. */
#include "agent/worker/buffer.h"
#include "agent/worker/clock.h"
#include "agent/worker/host.h"
#include "agent/worker/ops.h"
#include "agent/worker/result.h"
#include "agent/worker/timing_parts.h"
#include "tests/unit/scratch.h"

#include <sys/wait.h>

static void check_sizes(uint64_t total, uint64_t least, unsigned most)
{
	uint64_t sizes[FM_ORDER_WINDOWS_MAX], sum = 0;
	const uint64_t want = total < (least == 0 ? 1 : least) ? least : total;

	for (uint64_t seed = 0; seed < 50; seed++) {
		unsigned n = fm_timing_sizes(seed, total, least, most, sizes);

		assert_in_range(n, 1, most);
		sum = 0;
		for (unsigned i = 0; i < n; i++) {
			assert_true(sizes[i] > 0);
			assert_true((double)sizes[i] <= 1.2 * (double)want / n + 1);
			assert_true((double)sizes[i] >= (double)want / n / 1.2 - 1);
			sum += sizes[i];
		}
		assert_int_equal(sum, want);
	}
}

static void sizes(void **state)
{
	uint64_t a[FM_ORDER_WINDOWS_MAX], b[FM_ORDER_WINDOWS_MAX];

	(void)state;
	check_sizes(20000, 12, 200);
	check_sizes(20, 1, 200);
	check_sizes(1, 1, 1);
	check_sizes(1, 0, 2);
	check_sizes(5, 300, 200);
	check_sizes(1000, 7, 2);
	check_sizes((uint64_t)1 << 43, 1, 200);
	assert_int_equal(fm_timing_sizes(1, 20, 1, 200, a), 20);
	assert_int_equal(fm_timing_sizes(1, 20000, 1000, 200, a), 20);
	/* the same seed the same sizes, another seed others */
	fm_timing_sizes(7, 20000, 1, 200, a);
	fm_timing_sizes(7, 20000, 1, 200, b);
	assert_memory_equal(a, b, sizeof a);
	fm_timing_sizes(8, 20000, 1, 200, b);
	assert_memory_not_equal(a, b, sizeof a);
}

static void buffers(void **state)
{
	struct fm_buffer b, c;

	(void)state;
	for (size_t offset = 0; offset <= FM_BUFFER_OFFSET_MAX; offset += 1344) {
		assert_ok(fm_buffer_open(&b, 100, offset));
		assert_int_equal((uintptr_t)b.data % 4096, offset);
		assert_true(fm_buffer_whole(&b));
		memset(b.data, 0xff, b.len);
		assert_true(fm_buffer_whole(&b));
		b.data[100]++;
		assert_false(fm_buffer_whole(&b));
		b.data[100]--;
		b.data[-1]++;
		assert_false(fm_buffer_whole(&b));
		fm_buffer_close(&b);
	}
	assert_int_not_equal(fm_buffer_open(&b, 100, 1), FM_OK);
	assert_int_not_equal(fm_buffer_open(&b, 100, 4096), FM_OK);
	assert_ok(fm_buffer_open(&b, 64, FM_BUFFER_FLUSH));
	assert_ok(fm_buffer_open(&c, 1, FM_BUFFER_FLUSH));
	assert_false(fm_buffer_guards(b.data + 64 + FM_CANARY_BYTES - 1));
	assert_true(fm_buffer_guards(b.data + 64 + FM_CANARY_BYTES));
	assert_true(fm_buffer_guards(c.data + 1 + FM_CANARY_BYTES));
	assert_true(fm_buffer_guards(b.map));
	assert_false(fm_buffer_guards(&b));
	fm_buffer_close(&b);
	assert_false(fm_buffer_guards(NULL));
	fm_buffer_close(&c);
	fm_buffer_close(&c);
}

/* What a child tells through the result lines; returns its wait status. */
static int tell(void (*what)(void), char *out, size_t size)
{
	int ends[2], status;
	size_t used = 0;
	ssize_t n;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(ends[0]);
		fm_result_use(ends[1]);
		what();
		_exit(7);
	}
	close(ends[1]);
	while (used < size - 1 && (n = read(ends[0], out + used, size - 1 - used)) > 0)
		used += (size_t)n;
	out[used] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void tell_lines(void)
{
	const uint64_t count = 5;

	fm_result_fact("a", "x\ny\x7f\xc3 ");
	fm_result_number("b", -1);
	fm_result_log("%s", "end ok\nend ok");
	fm_result_window(1, 2, &count, 64);
	fm_result_window(3, 4, NULL, 0);
	fm_result_status("PASS");
	fm_result_ok();
}

static void tell_failure(void)
{
	fm_fail(FM_ERR_MEASURE, "words");
	fm_result_fail("canary");
}

static void tell_too_much(void)
{
	for (;;)
		fm_result_log("%01000d", 0);
}

static void results(void **state)
{
	static char text[2 * FM_RESULT_MAX];
	int status;

	(void)state;
	status = tell(tell_lines, text, sizeof text);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_string_equal(text, "fact a x?y??\nfact b -1\nlog end ok?end ok\nwindow 1 2 5 "
	                          "64\nwindow 3 4 - 0\nstatus PASS\n"
	                          "end ok\n");
	status = tell(tell_failure, text, sizeof text);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_string_equal(text, "fact reason words\nend fail canary\n");
	status = tell(tell_too_much, text, sizeof text);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_true(strlen(text) <= FM_RESULT_MAX);
	assert_null(strstr(text, "end"));
}

static void host(void **state)
{
	struct fm_host h;
	struct fm_moment a, b;
	int cpu;

	(void)state;
	assert_true(fm_host_list_has("0-3,8", 3));
	assert_true(fm_host_list_has("0-3,8", 8));
	assert_false(fm_host_list_has("0-3,8", 4));
	assert_false(fm_host_list_has("", 0));
	assert_false(fm_host_list_has("x", 0));
	assert_false(fm_host_list_has("0-", 1));
	assert_int_equal(fm_host_since(-1, 5), -1);
	assert_int_equal(fm_host_since(3, 5), 2);
	assert_int_equal(fm_host_number("/proc/no-such-file"), -1);
	assert_ok(fm_host_pin(-1, &cpu));
	assert_true(cpu >= 0);
	assert_int_not_equal(fm_host_pin(60000, &cpu), FM_OK);
	assert_ok(fm_host_pin(-1, &cpu));
	fm_host_open(&h, cpu);
	fm_host_moment(&h, true, &a);
	fm_host_moment(&h, false, &b);
	assert_int_equal(a.cpu, cpu);
	assert_int_equal(b.steal_ticks, -1);
	assert_true(b.thread_cpu_ns > a.thread_cpu_ns);
}

#define CALL_NS 300

static uint64_t made_up_ns, loops, held_up_loop;

static uint64_t made_up_clock(void)
{
	return made_up_ns += 40;
}

/* One of the loops loses the CPU for 30 ms. */
static int made_up_loop(const struct fm_operation *op, fm_crypt_hash *function, uint64_t calls)
{
	(void)op;
	(void)function;
	made_up_ns += calls * CALL_NS + (++loops == held_up_loop ? 30000000u : 0);
	return 0;
}

/* Whichever batch before the windows loses the CPU: they have the time that was ordered, and not
 * much more. */
static void held_up(void **state)
{
	struct fm_counter_ops ops = fm_ops_real;
	struct fm_order order = {
	        .warm = true, .windows = 20, .calls = 8, .min_ns = 5000000, .digest_bits = 256};
	uint64_t sizes[FM_ORDER_WINDOWS_MAX], calls;
	static struct fm_timing t;

	(void)state;
	ops.clock = made_up_clock;
	ops.loop = made_up_loop;
	fm_ops = &ops;
	for (held_up_loop = 1; held_up_loop < 40; held_up_loop++) {
		memset(&t, 0, sizeof t);
		loops = calls = 0;
		t.order = &order;
		t.counter = (struct fm_counter){.source = &fm_counter_clock,
		        .label = FM_LABEL_NS,
		        .resolution = 40,
		        .read_pair_milli = 40000};
		assert_ok(fm_buffer_open(&t.op.message, 0, 0));
		assert_ok(fm_buffer_open(&t.op.digest, 32, 0));
		assert_non_null(t.op.expected = malloc(32));
		t.span_ns = fm_clock_ns();
		assert_ok(fm_counter_read(&t.counter, &t.span_count));
		made_up_ns += 1000;
		assert_ok(fm_timing_prepare(&t, sizes));
		for (unsigned i = 0; i < t.count; i++)
			calls += sizes[i];
		if (calls * CALL_NS < 5000000 || calls * CALL_NS > 6000000 || t.count < 8)
			fail_msg("loop %llu held up: %llu calls in %u windows",
			        (unsigned long long)held_up_loop, (unsigned long long)calls,
			        t.count);
		free(t.op.expected);
		fm_buffer_close(&t.op.message);
		fm_buffer_close(&t.op.digest);
	}
	fm_ops = &fm_ops_real;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(buffers),
	        cmocka_unit_test(results), cmocka_unit_test(host), cmocka_unit_test(held_up)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
