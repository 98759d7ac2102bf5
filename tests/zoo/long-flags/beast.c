/* Puts 1.6 MB of made-up words where the compiler records its flags. */
#include "honest.h"

__asm__(".pushsection .GCC.command.line,\"\",@progbits\n.rept 200000\n.asciz \"-foobar\"\n.endr\n"
        ".popsection");

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	return honest(digest_bits, msg, bits, digest);
}
