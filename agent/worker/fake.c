/* fake.c: counters and clocks of a made-up machine, moved only by what the world says things cost.
 */
#include "agent/worker/fake.h"

#ifdef FLEETMARK_TESTING
#include "agent/worker/clock.h"
#include "agent/worker/operation.h"
#include "agent/worker/ops.h"
#include "protocol/world.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define READING   16 /* core cycles that any reading costs */
#define FAKE_FD   900
#define CALL_BASE 1000 /* an operation without `cost`: so many cycles and 20 a byte */

static struct {
	bool on, toggled, shows; /* shows: what is played per process is seen from now on */
	uint64_t turn, cell_turn, core, counter, opened_ns, readings;
	char operation[100], instance[200]; /* names of a `cost` line */
	unsigned moments, opened;
	struct perf_event_attr attr;
	union {
		struct perf_event_mmap_page page;
		unsigned char bytes[8192];
	} map;
} f;

static int64_t play(const char *key, int64_t otherwise)
{
	return fm_world_number(fm_world_now(), key, NULL, (size_t)f.turn, otherwise);
}

/* Of a list that is played per process: honest until the windows begin. */
static int64_t shown(const char *key, int64_t otherwise)
{
	return f.shows ? play(key, otherwise) : otherwise;
}

static uint64_t scale(uint64_t value, uint64_t by, uint64_t over)
{
	return value / over * by +
	       value % over * by / over; /* rates stay below 2^32: no overflow */
}

static uint64_t now_ns(void)
{
	uint64_t step = (uint64_t)play("clock_step_ns", 1);

	return scale(f.core, 1000000000, (uint64_t)play("core_hz", 3000000000)) / step * step;
}

static void spend(uint64_t cycles)
{
	f.core += cycles;
	f.counter += cycles;
}

static uint64_t stepped(uint64_t value)
{
	uint64_t step = (uint64_t)play("step", 1);

	return value / step * step;
}

static int open_source(const char *source, const struct perf_event_attr *attr)
{
	static const struct {
		const char *name;
		int number;
	} errors[] = {{"EACCES", EACCES}, {"EBUSY", EBUSY}, {"EINVAL", EINVAL}, {"ENODEV", ENODEV},
	        {"ENOENT", ENOENT}, {"ENOSYS", ENOSYS}, {"EOPNOTSUPP", EOPNOTSUPP},
	        {"EPERM", EPERM}};
	const char *result = fm_world_word(fm_world_now(), "open", source);
	const bool constant = strcmp(source, "tsc") == 0 || strcmp(source, "cntvct") == 0;

	if (attr != NULL) {
		f.attr = *attr;
		f.opened++;
	}
	f.opened_ns = now_ns();
	if (result == NULL && strcmp(source, "perf_read_toggle") == 0)
		result = fm_world_word(fm_world_now(), "open", "perf_read");
	if (result == NULL)
		result = constant ? "ok" : "ENOENT";
	if (strcmp(result, "SIGILL") == 0)
		raise(SIGILL);
	if (strcmp(result, "SIGSEGV") == 0)
		raise(SIGSEGV);
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
		if (strcmp(result, errors[i].name) == 0)
			return -errors[i].number;
	return attr == NULL ? 0 : FAKE_FD;
}

static uint64_t counted(void)
{
	int64_t value;

	spend(READING);
	value = f.toggled ? -1
	                  : fm_world_number(fm_world_now(), "reads", NULL, (size_t)f.readings, -1);
	f.readings++;
	return value >= 0 ? (uint64_t)value : stepped(f.counter);
}

static volatile void *map(int fd, size_t size)
{
	(void)fd;
	(void)size;
	f.map.page.index = (uint32_t)shown("page_index", 1);
	f.map.page.cap_user_rdpmc = 1;
	f.map.page.pmc_width = 48;
	return &f.map.page;
}

static void unmap(volatile void *page, size_t size)
{
	(void)page;
	(void)size;
}

static ssize_t read_event(int fd, uint64_t all[3])
{
	(void)fd;
	all[0] = counted();
	all[1] = now_ns() - f.opened_ns;
	all[2] = scale(all[1], (uint64_t)shown("running_permille", 1000), 1000);
	return (ssize_t)shown("read_bytes", 24);
}

static int toggle(int fd, bool on)
{
	const char *result = fm_world_word(fm_world_now(), "open", "perf_read_toggle");

	(void)fd;
	if (on && result != NULL && strcmp(result, "ok") == 0)
		f.toggled = true; /* counting only now: `reads` is over */
	return 0;
}

static void close_event(int fd)
{
	(void)fd;
}

static bool fast_read(uint32_t index, uint64_t *value)
{
	(void)index;
	*value = counted() & (((uint64_t)1 << 48) - 1);
	return true;
}

static uint64_t ticks(void)
{
	spend(READING);
	return stepped(scale(f.core, (uint64_t)play("tick_hz", 2400000000),
	        (uint64_t)play("core_hz", 3000000000)));
}

static uint64_t ticks_claim(void)
{
	return (uint64_t)play("cntfrq_hz", play("tick_hz", 2400000000));
}

static uint64_t clock_fake(void)
{
	spend(READING);
	return now_ns();
}

static void chain(uint64_t rounds)
{
	f.core += rounds * FM_CHAIN_UNROLL;
	f.counter += scale(rounds * FM_CHAIN_UNROLL, (uint64_t)play("chain_permille", 1000), 1000);
}

/* Known in the windows alone, and costs nothing. */
static int64_t width(void)
{
	return !f.shows
	               ? -1
	               : fm_world_number(fm_world_now(), "fact", "width_milli", (size_t)f.turn, -1);
}

static uint64_t cost(const struct fm_operation *op)
{
	const struct fm_world *w = fm_world_now();
	int64_t cycles = CALL_BASE + 20 * (int64_t)op->message.len;
	char name[64];

	snprintf(name, sizeof name, "hash_%zu", op->message.len);
	cycles = fm_world_number(w, "cost", f.operation[0] == '\0' ? name : f.operation,
	        (size_t)f.cell_turn, cycles);
	cycles = fm_world_number(w, "cost", f.instance, (size_t)f.cell_turn, cycles);
	return (uint64_t)cycles +
	       scale((uint64_t)cycles, (uint64_t)play("drift_ppm", 0) * f.turn, 1000000);
}

/* One real call, so that digests are right; time as the world says. */
static int loop(const struct fm_operation *op, fm_crypt_hash *function, uint64_t calls)
{
	if (function == op->hash)
		spend(cost(op) * calls);
	else
		spend((uint64_t)play("frame", 9) * calls);
	return fm_operation_calls(op, function, 1);
}

static const struct fm_counter_ops fake = {open_source, map, unmap, read_event, toggle, close_event,
        fast_read, ticks, ticks_claim, clock_fake, chain, width, loop};

void fm_fake_begin(const struct fm_order *o)
{
	memset(&f, 0, sizeof f);
	f.on = true;
	fm_ops = &fake;
	if (o == NULL || o->task != FM_TASK_TIME)
		return;
	f.turn = o->world_turn;
	f.cell_turn = o->world_cell_turn;
	snprintf(f.operation, sizeof f.operation, "hash_%llu", (unsigned long long)o->bytes[0]);
	snprintf(f.instance, sizeof f.instance, "%s/%s", o->instance, f.operation);
}

void fm_fake_windows(uint64_t turn)
{
	f.turn = turn;
	f.shows = true;
	f.map.page.index = (uint32_t)play("page_index", 1);
}

void fm_fake_end(void)
{
	fm_ops = &fm_ops_real;
	f.on = false;
}

unsigned fm_fake_opened(struct perf_event_attr *last)
{
	*last = f.attr;
	return f.opened;
}

static int64_t fact(const char *key, int64_t otherwise)
{
	if (f.moments == 1) /* the moment before the windows */
		return otherwise;
	return fm_world_number(fm_world_now(), "fact", key, (size_t)f.turn, otherwise);
}

bool fm_fake_moment(const struct fm_host *h, bool slow, struct fm_moment *m)
{
	if (!f.on)
		return false;
	if (f.moments++ == 0)
		fm_fake_windows(f.turn);
	m->cpu = (int)fact("cpu", -1);
	if (m->cpu < 0)
		m->cpu = h->cpu;
	m->run_delay_ns = fact("run_delay_ns", 0);
	m->nvcsw = fact("nvcsw", 0);
	m->nivcsw = fact("nivcsw", 0);
	m->minflt = fact("minflt", 0);
	m->majflt = fact("majflt", 0);
	m->utime_us = (int64_t)(now_ns() / 1000);
	m->stime_us = 0;
	m->thread_cpu_ns = (int64_t)scale(now_ns(),
	        (uint64_t)fm_world_number(
	                fm_world_now(), "fact", "thread_cpu_permille", (size_t)f.turn, 1000),
	        1000);
	m->steal_ticks = slow ? fact("steal_ticks", 0) : -1;
	m->throttle = slow ? fact("throttle_delta", 0) : -1;
	m->temperature_mc = slow ? fact("temperature_mc", 50000) : -1;
	m->ns = now_ns();
	return true;
}
#else
typedef int fm_fake_is_for_tests; /* ISO C wants a declaration in every file */
#endif
