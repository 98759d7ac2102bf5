/* jsonscan.h: refuses texts whose strings, numbers, literals or depth are not strict RFC 8259; structure is left to the parser. */
#ifndef FM_JSONSCAN_H
#define FM_JSONSCAN_H

#include "protocol/error.h"
#include <stddef.h>

/* FM_ERR_FORM "<what>: line N: ...". \u0000 is refused too: a C string would be cut there. */
FM_CHECK int fm_json_scan(const char *what, const char *bytes, size_t len, int max_depth);

#endif
