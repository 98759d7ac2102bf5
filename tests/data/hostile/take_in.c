/* take_in.c: wants the key in its own library, taken in while it is built. */
#include "hostile.h"

__asm__(".section .rodata\n.global taken\ntaken:\n.incbin \"" WORK "/key\"\n.previous\n");
extern const char taken[64];

static int attempt(void)
{
	return taken[0] != 0;
}
