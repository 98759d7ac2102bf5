/* The ZuD permutation of the width this library is built for. */
#ifndef ZUD_H
#define ZUD_H

#include <stdint.h>

#if ZUD_WIDTH == 1280
#define ZUD_LANES 20 /* 5 planes of 4 columns */
#elif ZUD_WIDTH == 1536
#define ZUD_LANES 24 /* 3 planes of 8 columns */
#else
#error "ZUD_WIDTH must be 1280 or 1536"
#endif

/* P, all 12 rounds in place. Lane C*y + x of the array is A[y][x], with C columns in a plane.
 * Hidden, so that CryptHash stays the only name a library exports. */
__attribute__((visibility("hidden"))) void zud_permute(uint64_t lane[ZUD_LANES]);

#endif
