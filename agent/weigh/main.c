/* main.c: fleetmark-weigh: the worker that counts allocations. Reads one order on descriptor 3,
 * weighs one operation, tells the results on descriptor 4, ends; it never times. */
#include "agent/weigh/weigh.h"
#include "agent/worker/clock.h"
#include "agent/worker/result.h"
#include "protocol/digest.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct fm_order order;

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("fleetmark-weigh %s\n", FM_VERSION);
		return 0;
	}
	fm_clock_begin();
	if (argc != 1 || fcntl(FM_ORDER_FD, F_GETFD) < 0 || fcntl(FM_RESULT_FD, F_GETFD) < 0) {
		fprintf(stderr, "fleetmark-weigh is started by fleetmark-agent: an order on "
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
	if (order.task != FM_TASK_MEMORY) {
		fm_result_fact("reason", "fleetmark-weigh does the task memory only");
		fm_result_raw("end fail order\n");
		return 2;
	}
	fm_weigh_run(&order);
}
