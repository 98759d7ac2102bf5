/* probe.c: runs one hostile library as an ordinary program would: does it succeed where nothing holds it? Prints won or held. */
#include "CryptHash_AlgorithmInstance.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int hash(int, const unsigned char *, unsigned long long, unsigned char *);

int main(int argc, char **argv)
{
	unsigned char digest[2][32];

	for (int i = 0; argc == 3 && i < 2; i++) {
		void *library = dlopen(argv[i + 1], RTLD_NOW);
		void *found = library == NULL ? NULL : dlsym(library, "CryptHash");
		hash *f;

		if (found == NULL)
			return 2;
		memcpy(&f, &found, sizeof f);
		if (f(256, (const unsigned char *)"abc", 24, digest[i]) != 0)
			return 2;
	}
	puts(memcmp(digest[0], digest[1], 32) == 0 ? "held" : "won");
	return 0;
}
