/* recipe_parts.h: the steps of reading one candidate; for recipe*.c, package*.c and the commands about packages. */
#ifndef FM_RECIPE_PARTS_H
#define FM_RECIPE_PARTS_H

#include "orchestrator/recipe.h"

/* Fills c from a candidate.ini; folder is the name of its folder, which id must repeat. FM_ERR_CONFIG with file and line. */
FM_CHECK int fm_recipe_ini(const char *path, const char *folder, struct fm_candidate *c);

/* Known answers of c from kat/<id>/kat.sha256 and vectors.txt below root; either may be absent. An official package without
 * a folder of its own takes that of its id less "-archive". */
FM_CHECK int fm_recipe_kat(const char *root, struct fm_candidate *c);

/* Lines of text that begin with "<instance>|": their number and the digest of them, in order, each with LF. */
FM_CHECK int fm_recipe_vectors(const struct fm_buf *text, struct fm_instance *i);

/* The source tree in c->folder: its list, digests and bytes; of an official package also the recipe's short forms resolved
 * (package.h). Everything the recipe names is there, else FM_ERR_CONFIG naming path and what is there instead. */
FM_CHECK int fm_recipe_files(const char *path, struct fm_candidate *c);

/* What is there instead of path: the names in the nearest folder above it that exists. files is sorted; out of size bytes is
 * cut with "...". */
void fm_recipe_near(const struct fm_words *files, const char *path, char *out, size_t size);

void fm_words_free(struct fm_words *w);

#endif
