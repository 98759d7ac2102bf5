/* order_parts.h: what the files that read orders share. */
#ifndef FM_WORKER_ORDER_PARTS_H
#define FM_WORKER_ORDER_PARTS_H

#include "agent/worker/order.h"
#include "protocol/jobtext.h"

/* The next key's value: copied if it is there, copied as a name, or a number within min..max. */
FM_CHECK int fm_order_maybe_copy(struct fm_text *t, const char *key, char **out);
FM_CHECK int fm_order_take_name(struct fm_text *t, const char *key, char **out);
FM_CHECK int fm_order_take_range(
        struct fm_text *t, const char *key, uint64_t min, uint64_t max, uint64_t *out);

/* The first len characters are lower-case hex digits. */
bool fm_order_is_hex(const char *text, size_t len);

/* The keys of the task kat behind those of the library. */
FM_CHECK int fm_order_take_kat(struct fm_order *o, struct fm_text *t);

#endif
