/* mktree.c: makes a sealed test tree of the wanted size, for the attack tests and for timing.
 *
 *   mktree FOLDER [SYSTEMS CANDIDATES INSTANCES SIZES [PROFILE]]
 *
 * FOLDER/tree is the tree, FOLDER/home the controller's folder (key, controller.pub, trust),
 * FOLDER/hosts/<system>/key the keys of the hosts. Default: 2 systems, 2 candidates, 1 instance, 2
 * message lengths, smoke. Of four bundles one has a failed build and one a missing cell; one
 * dispatch ended without a bundle. Prints the tree number. */
#include "tests/attack/world.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int fill(struct world *w, const struct world_size *size)
{
	int rc = world_fail(w, 0, 0);

	for (unsigned s = 0; s < size->systems; s++)
		for (unsigned c = 0; rc == FM_OK && c < size->candidates; c++)
			rc = world_answer(w, s, c,
			        s == 1 && c == 1   ? WORLD_BUILD_FAILED
			        : s == 0 && c == 1 ? WORLD_CELL_MISSING
			                           : WORLD_GOOD);
	return rc;
}

static unsigned number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	struct world_size size = {2, 2, 1, 2, "smoke"};
	struct world *w = NULL;
	char sha256[65] = "";
	int rc;

	if (argc != 2 && argc != 6 && argc != 7) {
		(void)fprintf(stderr,
		        "usage: mktree FOLDER [SYSTEMS CANDIDATES INSTANCES SIZES [PROFILE]]\n");
		return 2;
	}
	if (argc > 2)
		size = (struct world_size){number(argv[2]), number(argv[3]), number(argv[4]),
		        number(argv[5]), argc == 7 ? argv[6] : "smoke"};
	if (mkdir(argv[1], 0755) != 0 && errno != EEXIST) {
		perror(argv[1]);
		return 1;
	}
	if ((rc = world_open(argv[1], &size, &w)) == FM_OK && (rc = fill(w, &size)) == FM_OK)
		rc = world_seal(w, true, sha256);
	if (rc != FM_OK)
		(void)fprintf(stderr, "mktree: %s\n", fm_error_text());
	else
		(void)puts(sha256);
	if (w != NULL)
		world_close(w);
	return rc == FM_OK ? 0 : 1;
}
