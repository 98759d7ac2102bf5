/* tree_seal.c: the last act of a campaign: seals the tree and chains it to the one before. */
#include "orchestrator/tree.h"
#include "protocol/seal.h"

#include <string.h>
#include <unistd.h>

/* Two campaigns of one home may end together: the number that this tree took when it was merged
 * may be another one's by now. */
static int check_place(const struct fm_home *home, const struct fm_tree *tree)
{
	char previous[65];
	int64_t sequence;
	int rc = fm_home_last_tree(home, &sequence, previous);

	if (rc == FM_OK && (tree->sequence != sequence + 1 ||
	                           strcmp(tree->previous_tree_sha256, previous) != 0))
		rc = fm_fail(FM_ERR_BUSY, "another tree was sealed since this one was merged");
	return rc;
}

int fm_tree_seal(int dirfd, struct fm_journal *journal, struct fm_home *home, char sha256[65])
{
	struct fm_tree tree;
	int lock = -1;
	int rc = fm_tree_read(dirfd, &tree);

	if (rc != FM_OK)
		return rc;
	if ((rc = fm_home_lock(home, &lock)) == FM_OK &&
	        (rc = check_place(home, &tree)) == FM_OK &&
	        (rc = fm_seal(dirfd, FM_SEAL_TREE, home->id, sha256)) == FM_OK)
		rc = fm_home_set_last_tree(home, tree.sequence, sha256);
	if (lock >= 0)
		(void)close(lock);
	if (rc == FM_OK)
		rc = fm_journal_sealed(journal, sha256, tree.sequence);
	fm_tree_free(&tree);
	return rc;
}
