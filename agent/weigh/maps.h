/* maps.h: which address ranges of this process are new, to see what was mapped behind malloc's
 * back. */
#ifndef FM_WEIGH_MAPS_H
#define FM_WEIGH_MAPS_H

#include <stdint.h>

/* Opens what must be open before the sandbox closes the paths. */
void fm_maps_open(void);

/* Remembers the ranges as they are. */
void fm_maps_mark(void);

/* Bytes mapped since the mark that no counted block of the heap explains; -1 when the kernel does
 * not tell. The main heap (brk) and the stack are passed over. */
int64_t fm_maps_unaccounted(void);

#endif
