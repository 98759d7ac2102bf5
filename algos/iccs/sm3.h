/* SM3 (GB/T 32905) over bit strings, fed in pieces of any number of bits. */
#ifndef SM3_H
#define SM3_H

#include <stdint.h>

enum { SM3_BYTES = 32, SM3_BITS = 8 * SM3_BYTES, SM3_BLOCK_BYTES = 64 };

struct sm3 {
	uint32_t v[8];                        /* chaining value A..H */
	uint64_t bits;                        /* length so far */
	unsigned char block[SM3_BLOCK_BYTES]; /* its last bits % 512 bits, the unused ones of the
	                                         last byte 0 */
};

/* The functions are hidden: CryptHash stays the only name a library exports. */
#pragma GCC visibility push(hidden)

void sm3_init(struct sm3 *s);

/* Appends the first bits bits of data, most significant bit first, right behind the last bit so
 * far. */
void sm3_put(struct sm3 *s, const unsigned char *data, unsigned long long bits);

/* Pads and writes the digest; s needs sm3_init before it is used again. */
void sm3_end(struct sm3 *s, unsigned char digest[SM3_BYTES]);

#pragma GCC visibility pop

#endif
