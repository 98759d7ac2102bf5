/* The entry point of one ICCS helper function, in the form of the programme's hash interface. */
#ifndef CRYPTHASH_ALGORITHMINSTANCE_H
#define CRYPTHASH_ALGORITHMINSTANCE_H

/* Hashes the first msg_len_bits bits of msg, most significant bit of each byte first; the unused
 * low bits of a partial last byte are ignored, and msg is not read when there are no bits. Both
 * buffers may have any alignment. sm3hash and pseudohash take the digest length of their instance
 * alone, pseudoXOF any length from 0. Returns 0 when the digest is written, unused low bits of its
 * last byte 0; any other length returns -4 and leaves digest untouched. */
int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest);

/* The return value for a digest length that is not allowed. */
enum { CRYPTHASH_BAD_LENGTH = -4 };

#endif
