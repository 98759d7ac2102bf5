/* The permutation that all three XRH-2 instances share. */
#ifndef XRH_PERMUTE_H
#define XRH_PERMUTE_H

#include <stdint.h>

#define XRH_LANES 20

/* P, all 18 rounds in place. Hidden, so that CryptHash stays the only name a library exports. */
__attribute__((visibility("hidden"))) void xrh_permute(uint64_t lane[XRH_LANES]);

#endif
