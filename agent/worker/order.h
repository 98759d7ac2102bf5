/* order.h: reads the order the agent gives on descriptor 3 (FORMATS.md section 10). */
#ifndef FM_WORKER_ORDER_H
#define FM_WORKER_ORDER_H

#include "protocol/buf.h"

#define FM_ORDER_FD              3
#define FM_ORDER_BYTES_MAX       16777216 /* of one message */
#define FM_ORDER_DIGEST_BITS_MAX 1048576
#define FM_ORDER_WINDOWS_MAX     200
#define FM_ORDER_CALLS_MAX       1000000000
#define FM_ORDER_WEIGH_CALLS_MAX 1000
#define FM_ORDER_SECONDS_MAX     1000000

enum fm_task {
	FM_TASK_SELFTEST,
	FM_TASK_COUNTERS,
	FM_TASK_CLOCK,
	FM_TASK_KAT,
	FM_TASK_DIGEST,
	FM_TASK_MEMORY,
	FM_TASK_TIME,
	FM_TASK_SOUND,
};

/* One reference of the gate. */
struct fm_order_kat {
	char hex[65];
	uint64_t vectors; /* lines of vectors.txt; 0: a known-answer file, mode strict */
	char *file;
};

/* The limit of one file of the gate by its tag, such as KAT_2_12. */
struct fm_order_limit {
	char tag[9];
	unsigned seconds;
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
	char **generate; /* files without a reference that are made all the same */
	size_t generate_count;
	unsigned seconds;
	struct fm_order_limit *limits; /* of files that have one of their own instead of seconds */
	size_t limit_count;
	char token[17]; /* of the gate: told again at its end; "" for none */
	bool any;       /* task sound: an XOF, every digest length is right */

	uint64_t *bytes; /* of the messages, in their order */
	size_t bytes_count;

	uint64_t calls, min_ns, seed;
	unsigned windows;
	size_t stack_region; /* of the task memory */
	bool warm;
	char digest_sha256[65]; /* "" for none */
	char *counter;
#ifdef FLEETMARK_TESTING
	char *world; /* path of the made-up machine, NULL for the real one */
	uint64_t world_turn, world_cell_turn; /* processes timed before, of all cells and of this */
#endif
};

/* FM_ERR_FORM and FM_ERR_SIZE with the line and what is allowed; *o is then empty. */
FM_CHECK int fm_order_parse(struct fm_order *o, const char *bytes, size_t len);

/* Reads fd to its end (at most FM_TEXT_MAX), closes it, parses. */
FM_CHECK int fm_order_read(struct fm_order *o, int fd);
void fm_order_free(struct fm_order *o);

#endif
