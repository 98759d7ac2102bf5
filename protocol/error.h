/* error.h: the one error space of both programs.
 *
 * Every function that can fail returns FM_OK (0) or a negative code of this list. The words for
 * people (where, what was read, what is allowed, what to do) are kept per thread: fm_fail sets
 * them, fm_wrap puts the place in front, and fm_error_text gives them to whoever reports. */
#ifndef FM_ERROR_H
#define FM_ERROR_H

#include <stddef.h>

#define FM_CHECK        __attribute__((warn_unused_result))
#define FM_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* name, class of DESIGN.md, reason (one word), exit code of the program when nothing else decides
 * it */
#define FM_ERRORS(X)                                                                         \
	X(USAGE, "usage", "usage", 2)   /* wrong command line */                             \
	X(CONFIG, "usage", "config", 2) /* wrong file written by a person */                 \
	X(LOCKED, "usage", "locked", 2) /* another controller holds the campaign */          \
	X(MEMORY, "internal", "memory", 3)                                                   \
	X(SYSTEM, "internal", "system", 3)     /* a system call of ours failed */            \
	X(DISK, "internal", "disk", 3)         /* the controller's disk is full or broken */ \
	X(INTERNAL, "internal", "internal", 3) /* our own fault */                           \
	X(NAME, "usage", "name", 2)            /* a name outside the name rule */            \
	X(RESOLVE, "transport", "resolve", 3)                                                \
	X(CONNECT, "transport", "connect", 3)                                                \
	X(DROPPED, "transport", "dropped", 3)                                                \
	X(TIMEOUT, "transport", "timeout", 3)                                                \
	X(FRAME, "transport", "frame", 3) /* bytes on the channel that are no frame */       \
	X(AUTH, "auth", "refused", 3)                                                        \
	X(HOSTKEY_UNKNOWN, "hostkey", "unknown", 3)                                          \
	X(HOSTKEY_CHANGED, "hostkey", "changed", 3)                                          \
	X(HOSTKEY_OTHER, "hostkey", "other_type", 3)                                         \
	X(HOSTKEY_REVOKED, "hostkey", "revoked", 3)                                          \
	X(HOSTKEY_PIN, "hostkey", "pin", 3)                                                  \
	X(SHELL, "host-state", "shell", 3)                                                   \
	X(WORKDIR, "host-state", "workdir", 3)                                               \
	X(NO_SPACE, "host-state", "no_space", 3)                                             \
	X(BUSY, "host-state", "busy", 3)                                                     \
	X(SAME_MACHINE, "host-state", "same_machine", 3)                                     \
	X(ARCH, "host-state", "arch", 3)                                                     \
	X(MISSING, "host-state", "missing", 3) /* compiler, libsodium, tar ... not there */  \
	X(UNENROLLED, "host-state", "unenrolled", 3)                                         \
	X(REFUSED, "host-state", "refused", 3) /* the agent does not obey this plan */       \
	X(CANCELLED, "host-state", "cancelled", 3)                                           \
	X(BUILD, "build", "failed", 1)                                                       \
	X(KAT, "kat", "failed", 1)                                                           \
	X(MEASURE, "measure", "failed", 1)                                                   \
	X(SIZE, "verify", "size", 4)                                                         \
	X(FORM, "verify", "form", 4)                                                         \
	X(SIGNATURE, "verify", "signature", 4)                                               \
	X(REVOKED, "verify", "revoked", 4)                                                   \
	X(DIGEST, "verify", "digest", 4)                                                     \
	X(IDENTITY, "verify", "identity", 4)                                                 \
	X(REPLAY, "verify", "replay", 4)                                                     \
	X(EXPIRED, "verify", "expired", 4)                                                   \
	X(SOURCE, "verify", "source", 4)                                                     \
	X(KAT_LINES, "verify", "kat", 4)                                                     \
	X(SAMPLES, "verify", "samples", 4)                                                   \
	X(CONFLICT, "verify", "conflict", 4)                                                 \
	X(INTERRUPTED, "internal", "interrupted", 130)

enum fm_error {
	FM_OK = 0,
	FM_ERROR_FIRST_ =
	        -1000, /* codes are FM_ERROR_FIRST_ + 1, + 2, ...: all negative, none is -1 */
#define FM_ERROR_ENUM_(name, klass, reason, status) FM_ERR_##name,
	FM_ERRORS(FM_ERROR_ENUM_)
#undef FM_ERROR_ENUM_
};

/* Sets this thread's text (at most 1000 bytes, cut with "...") and returns code. */
int fm_fail(int code, const char *format, ...) FM_PRINTF(2, 3);

/* The same, with ": " and the text of errno (saved on entry) behind it. ENOSPC, EDQUOT become
 * FM_ERR_DISK, ENOMEM FM_ERR_MEMORY, everything else FM_ERR_SYSTEM. */
int fm_fail_errno(const char *format, ...) FM_PRINTF(1, 2);

/* Puts "<formatted>: " in front of this thread's text; returns code unchanged. */
int fm_wrap(int code, const char *format, ...) FM_PRINTF(2, 3);

/* What fm_fail said last in this thread; never NULL. Valid until the next call in this thread. */
const char *fm_error_text(void);

/* Class, reason and exit status of a code; FM_OK gives "", "" and 0; an unknown code counts as
 * INTERNAL. */
const char *fm_error_class(int code);
const char *fm_error_reason(int code);
int fm_error_status(int code);

/* The code of a class and reason as they came over the wire; FM_ERR_INTERNAL when there is none. */
int fm_error_lookup(const char *klass, const char *reason);

#endif
