/* fs_parent.h: finds the folder that holds the last part of a path; shared by fs.c and fs_walk.c
 * only. */
#ifndef FM_FS_PARENT_H
#define FM_FS_PARENT_H

#include "protocol/error.h"

struct fm_fs_parent {
	int fd; /* the folder (O_PATH: for *at calls only); given back with fm_fs_parent_close */
	char name[256]; /* the last part, never empty, "." or ".." */
};

/* Opens the folder above path. Beneath a dirfd of ours no part may be a link, "..", empty or
 * absolute (FM_ERR_FORM, or FM_ERR_SYSTEM with errno); with AT_FDCWD the path is a person's, and
 * only its last part is kept from being followed. Missing folders are made with mode make, unless
 * it is -1: then errno is ENOENT. */
FM_CHECK int fm_fs_parent_open(struct fm_fs_parent *p, int dirfd, const char *path, int make);
void fm_fs_parent_close(struct fm_fs_parent *p); /* keeps errno */

#endif
