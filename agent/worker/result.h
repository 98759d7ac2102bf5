/* result.h: what the worker tells on descriptor 4: lines of fact, log, file, window and status, and
 * the one end line (FORMATS.md section 10). */
#ifndef FM_WORKER_RESULT_H
#define FM_WORKER_RESULT_H

#include "protocol/error.h"
#include <stdint.h>

#define FM_RESULT_FD   4
#define FM_RESULT_LINE 1100       /* bytes of a line with LF; longer text is cut */
#define FM_RESULT_MAX  (1u << 20) /* bytes of all lines; what would go beyond ends the process */

#define FM_EVENT_CPU     1u
#define FM_EVENT_SWITCH  2u
#define FM_EVENT_DELAY   4u
#define FM_EVENT_MINFLT  8u
#define FM_EVENT_MAJFLT  16u
#define FM_EVENT_SLEPT   32u
#define FM_EVENT_COUNTER 64u

/* Each writes one line at once, so that nothing is lost when measured code ends the process. Bytes
 * outside 0x20..0x7e become '?'. A descriptor that takes nothing any more ends the process with
 * status 1. */
void fm_result_fact(const char *key, const char *format, ...) FM_PRINTF(2, 3);
void fm_result_number(const char *key, int64_t value);
void fm_result_log(const char *format, ...) FM_PRINTF(1, 2);
void fm_result_file(const char *name);
void fm_result_status(const char *status);

/* count is written as "-" when it is NULL: the label is ns. */
void fm_result_window(uint64_t calls, uint64_t ns, const uint64_t *count, unsigned events);

/* The end: _exit at once, no destructor of measured code runs. reason is a word of FORMATS.md
 * section 10; fm_result_fail puts this thread's error text into fact reason first. */
_Noreturn void fm_result_ok(void);
_Noreturn void fm_result_fail(const char *reason);

/* The same for signal handlers: text as it is, only write and _exit. */
void fm_result_raw(const char *text);
_Noreturn void fm_result_exit(int status);

/* Tests only: another descriptor than 4. */
void fm_result_use(int fd);

#endif
