/* The entry point of one Dragon instance, as the programme's hash interface has it. */
#ifndef CRYPTHASH_ALGORITHMINSTANCE_H
#define CRYPTHASH_ALGORITHMINSTANCE_H

/* Hashes the first msg_len_bits bits of msg, most significant bit of each byte first; the unused
 * low bits of a partial last byte are ignored, and msg is not read when there are no bits. Both
 * buffers may have any alignment. Dragon-512, -768 and -1024 take the digest length in their name
 * alone, the XOFs any length from 0. Returns 0 when the digest is written, unused low bits of its
 * last byte 0; any other length returns -1 and leaves digest untouched. */
int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest);

#endif
