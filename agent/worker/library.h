/* library.h: one instance's shared object: checked by digest, loaded, its one function found. */
#ifndef FM_WORKER_LIBRARY_H
#define FM_WORKER_LIBRARY_H

#include "protocol/error.h"
#include <stddef.h>
#include <stdint.h>

/* The ICCS hash interface: both lengths are in bits, 0 is success. */
typedef int fm_crypt_hash(int digest_len_bits, const unsigned char *msg,
        unsigned long long msg_len_bits, unsigned char *digest);

/* The one place where bytes become the bits of the interface. */
static inline unsigned long long fm_library_bits(size_t bytes)
{
	return 8ull * bytes;
}

struct fm_library {
	int fd; /* the file whose bytes were checked */
	void *handle;
	fm_crypt_hash *hash;
};

/* Opens path and compares its SHA-256 with hex. FM_ERR_DIGEST, FM_ERR_SYSTEM. */
FM_CHECK int fm_library_open(struct fm_library *l, const char *path, const char *hex);

/* Loads exactly the open file with RTLD_NOW | RTLD_LOCAL and resolves CryptHash: constructors of
 * foreign code run here. FM_ERR_MISSING with the linker's words. */
FM_CHECK int fm_library_load(struct fm_library *l);

/* Loads the null function of fleetmark-frame.so beside this program; *frame is NULL and the words
 * say why if that fails. */
int fm_library_frame(fm_crypt_hash **frame);

#endif
