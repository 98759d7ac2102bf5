/* CryptHash_AlgorithmInstance.h: the programme's interface; both lengths are in bits, 0 is success.
 */
#ifndef CRYPTHASH_ALGORITHMINSTANCE_H
#define CRYPTHASH_ALGORITHMINSTANCE_H

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest);

#endif
