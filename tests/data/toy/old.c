/* old.c: builds with the fallback flags only. */
#ifndef TOY_FALLBACK
#error needs the fallback flags
#endif
#define TOY_START 11
#include "toy.c"
