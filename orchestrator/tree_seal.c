/* tree_seal.c: the last act of a campaign: seals the tree and chains it to the one before. */
#include "orchestrator/tree.h"
#include "protocol/seal.h"

int fm_tree_seal(int dirfd, struct fm_journal *journal, struct fm_home *home, char sha256[65])
{
	struct fm_tree tree;
	int rc = fm_tree_read(dirfd, &tree);

	if (rc != FM_OK)
		return rc;
	if ((rc = fm_seal(dirfd, FM_SEAL_TREE, home->id, sha256)) == FM_OK &&
	        (rc = fm_home_set_last_tree(home, tree.sequence, sha256)) == FM_OK)
		rc = fm_journal_sealed(journal, sha256, tree.sequence);
	fm_tree_free(&tree);
	return rc;
}
