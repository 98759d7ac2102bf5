/* recipe_parts.h: the steps of reading one candidate; for recipe*.c only. */
#ifndef FM_RECIPE_PARTS_H
#define FM_RECIPE_PARTS_H

#include "orchestrator/recipe.h"

/* Fills c from a candidate.ini; folder is the name of its folder, which id must repeat. FM_ERR_CONFIG with file and line. */
FM_CHECK int fm_recipe_ini(const char *path, const char *folder, struct fm_candidate *c);

/* Known answers of c from kat/<id>/kat.sha256 and vectors.txt below root; either may be absent. */
FM_CHECK int fm_recipe_kat(const char *root, struct fm_candidate *c);

/* Lines of text that begin with "<instance>|": their number and the digest of them, in order, each with LF. */
FM_CHECK int fm_recipe_vectors(const struct fm_buf *text, struct fm_instance *i);

void fm_words_free(struct fm_words *w);

#endif
