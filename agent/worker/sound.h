/* sound.h: the task sound: what a library does beyond its published answers, told as properties. */
#ifndef FM_WORKER_SOUND_H
#define FM_WORKER_SOUND_H

#include "agent/worker/buffer.h"
#include "agent/worker/library.h"
#include "agent/worker/order.h"

#define FM_SOUND_WHERE   160  /* bytes of the words that say what is being tried, with NUL */
#define FM_SOUND_MESSAGE 8192 /* bytes of the longest message of the checks */

/* One check in its own process. */
struct fm_sound {
	fm_crypt_hash *hash;
	const char *name; /* of the check, begins each property */
	unsigned digest_bits;
	bool any;    /* an XOF: every digest length is right */
	int length;  /* digest bits that the check `length` asks for */
	char *where; /* FM_SOUND_WHERE bytes shared with the parent, read there after a crash */
	bool told;   /* a property was told: one a check is enough */
	struct fm_buffer message, digest; /* flush with a guard page but for their canaries */
};

struct fm_sound_check {
	const char *name;
	void (*run)(struct fm_sound *s);
	int length; /* see above; 0 for the other checks */
	bool twice; /* run in two processes whose digests are compared */
};

/* The checks for this kind of set; at most `most` are written. A recipe's fixed length gives the
 * wrong lengths, an XOF some right ones. */
size_t fm_sound_checks(unsigned digest_bits, bool any, struct fm_sound_check *out, size_t most);

/* Tells `fact property <name>: <words>` once. */
void fm_sound_tell(struct fm_sound *s, const char *format, ...) FM_PRINTF(2, 3);

/* The task: ends the process. */
_Noreturn void fm_sound_run(const struct fm_order *o);

#endif
