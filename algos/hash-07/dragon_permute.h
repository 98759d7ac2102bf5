/* The permutation that all six Dragon sets share. */
#ifndef DRAGON_PERMUTE_H
#define DRAGON_PERMUTE_H

#include <stdint.h>

#define DRAGON_LANES 25

/* P, all 16 rounds in place; lane x + 5*y is the one at (x, y). Hidden, so that CryptHash stays the
 * only name a library exports. */
__attribute__((visibility("hidden"))) void dragon_permute(uint64_t lane[DRAGON_LANES]);

#endif
