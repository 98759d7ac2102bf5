/* main.c: fleetmark-worker: reads one order on descriptor 3, does it, tells the results on
 * descriptor 4, ends. */
#include "agent/worker/clock.h"
#include "agent/worker/counters.h"
#include "agent/worker/digests.h"
#include "agent/worker/fake.h"
#include "agent/worker/kat.h"
#include "agent/worker/order.h"
#include "agent/worker/result.h"
#include "agent/worker/selftest.h"
#include "agent/worker/sound.h"
#include "agent/worker/timing.h"
#include "protocol/digest.h"
#include "protocol/world.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* One function per task; none comes back. NULL: fleetmark-weigh does it. */
static void (*const tasks[])(const struct fm_order *) = {
        [FM_TASK_SELFTEST] = fm_selftest_run,
        [FM_TASK_COUNTERS] = fm_counters_run,
        [FM_TASK_CLOCK] = fm_counters_clock_run,
        [FM_TASK_KAT] = fm_kat_run,
        [FM_TASK_DIGEST] = fm_digests_run,
        [FM_TASK_MEMORY] = NULL,
        [FM_TASK_TIME] = fm_timing_run,
        [FM_TASK_SOUND] = fm_sound_run,
};

int main(int argc, char **argv)
{
	struct fm_order order;

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("fleetmark-worker %s\n", FM_VERSION);
		return 0;
	}
	fm_clock_begin();
	if (argc == 2 && strcmp(argv[1], "--list-counters") == 0) {
		memset(&order, 0, sizeof order);
		order.cpu = -1;
		fm_result_use(1);
		fm_counters_run(&order);
	}
	if (argc != 1 || fcntl(FM_ORDER_FD, F_GETFD) < 0 || fcntl(FM_RESULT_FD, F_GETFD) < 0) {
		fprintf(stderr, "fleetmark-worker is started by fleetmark-agent: an order on "
		                "descriptor 3, results on 4\n");
		return 2;
	}
	if (fm_crypto_init() != FM_OK)
		fm_result_fail("system");
	if (fm_order_read(&order, FM_ORDER_FD) != FM_OK) {
		fm_result_fact("reason", "%s", fm_error_text());
		fm_result_raw("end fail order\n");
		return 2;
	}
	if (tasks[order.task] == NULL) {
		fm_result_fact("reason", "fleetmark-weigh does this task");
		fm_result_raw("end fail order\n");
		return 2;
	}
#ifdef FLEETMARK_TESTING
	if (order.world != NULL) {
		if (fm_world_use(order.world) != FM_OK)
			fm_result_fail("system");
		fm_fake_begin(&order);
		fm_clock_begin();
	}
#endif
	tasks[order.task](&order);
	return 1; /* no task comes back */
}
