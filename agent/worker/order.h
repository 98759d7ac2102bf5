/* order.h: reads the order the agent gives on descriptor 3 (FORMATS.md section 10). */
#ifndef FM_WORKER_ORDER_H
#define FM_WORKER_ORDER_H

#include "protocol/buf.h"

#define FM_ORDER_FD              3
#define FM_ORDER_BYTES_MAX       16777216 /* of one message */
#define FM_ORDER_DIGEST_BITS_MAX 1048576
#define FM_ORDER_WINDOWS_MAX     200
#define FM_ORDER_CALLS_MAX       1000000000

enum fm_task {
	FM_TASK_SELFTEST,
	FM_TASK_COUNTERS,
	FM_TASK_CLOCK,
	FM_TASK_KAT,
	FM_TASK_DIGEST,
	FM_TASK_MEMORY,
	FM_TASK_TIME,
};

/* One reference of the gate. */
struct fm_order_kat {
	char hex[65];
	uint64_t vectors; /* lines of vectors.txt; 0: a known-answer file, mode strict */
	char *file;
};

/* Strings are owned; what a task does not have is NULL, "" or 0. Free with fm_order_free. */
struct fm_order {
	enum fm_task task;
	int cpu; /* -1: the last one this process may use */
	char *library, *candidate, *instance;
	char library_sha256[65];
	unsigned digest_bits;

	char *kat_name, *vectors_file, *message_file;
	struct fm_order_kat *kat;
	size_t kat_count;
	unsigned seconds;

	uint64_t *bytes; /* of the messages, in their order */
	size_t bytes_count;

	uint64_t calls, min_ns, seed;
	unsigned windows;
	bool warm;
	char digest_sha256[65]; /* "" for none */
	char *counter;
};

/* FM_ERR_FORM and FM_ERR_SIZE with the line and what is allowed; *o is then empty. */
FM_CHECK int fm_order_parse(struct fm_order *o, const char *bytes, size_t len);

/* Reads fd to its end (at most FM_TEXT_MAX), closes it, parses. */
FM_CHECK int fm_order_read(struct fm_order *o, int fd);
void fm_order_free(struct fm_order *o);

#endif
