/* The entry point of one XRH-2 instance, as the programme's hash interface has it. */
#ifndef CRYPTHASH_ALGORITHMINSTANCE_H
#define CRYPTHASH_ALGORITHMINSTANCE_H

/* Hashes the first msg_len_bits bits of msg, most significant bit of each byte first; the unused
 * low bits of a partial last byte are ignored, and msg is not read when there are no bits. Both
 * buffers may have any alignment. digest_len_bits must be the digest length of this instance: 0 is
 * returned and digest_len_bits / 8 bytes are written. Any other length returns -1 and leaves digest
 * untouched. */
int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest);

#endif
