/* The permutation that all five Eijen sets share. */
#ifndef EIJEN_PERMUTE_H
#define EIJEN_PERMUTE_H

#include <stdint.h>

#define EIJEN_WORDS 32

/* P, all 16 rounds in place. Hidden, so that CryptHash stays the only name a library exports. */
__attribute__((visibility("hidden"))) void eijen_permute(uint64_t s[EIJEN_WORDS]);

#endif
