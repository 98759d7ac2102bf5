/* sm3.h: the hash SM3 (GB/T 32905-2016) of whole bytes, for the DRNG of the known-answer files. */
#ifndef FM_WORKER_SM3_H
#define FM_WORKER_SM3_H

#include <stddef.h>
#include <stdint.h>

#define FM_SM3_BYTES 32

/* SM3 of len bytes at msg (len below 2^61). No heap, no state. */
void fm_sm3(const void *msg, size_t len, unsigned char digest[FM_SM3_BYTES]);

#endif
