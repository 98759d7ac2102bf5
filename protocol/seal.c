/* seal.c: seals a folder, and checks a sealed one: signature, then grammar, then files. */
#include "protocol/seal.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/sshsig.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int fm_seal(int dirfd, enum fm_seal_kind kind, const struct fm_identity *id, char hex[65])
{
	struct fm_buf manifest = FM_BUF_INIT(fm_seal_limits(kind)->files * FM_MANIFEST_LINE);
	struct fm_buf sig = FM_BUF_INIT(FM_SSHSIG_MAX);
	int rc;

	/* An old signature must not stand beside a new manifest. */
	if ((rc = fm_fs_remove(dirfd, FM_TSR_NAME)) != FM_OK ||
	        (rc = fm_fs_remove(dirfd, FM_SIG_NAME)) != FM_OK ||
	        (rc = fm_manifest_make_own(dirfd, kind, &manifest)) != FM_OK)
		goto out;
	if (syncfs(dirfd) != 0) {
		rc = fm_fail_errno("sync of the files to seal");
		goto out;
	}
	if ((rc = fm_sshsig_sign(id, fm_seal_namespace(kind), manifest.data, manifest.len, &sig)) !=
	                FM_OK ||
	        (rc = fm_fs_write(dirfd, FM_MANIFEST_NAME, manifest.data, manifest.len, 0644)) !=
	                FM_OK ||
	        (rc = fm_fs_write(dirfd, FM_SIG_NAME, sig.data, sig.len, 0644)) != FM_OK)
		goto out;
	if (hex != NULL)
		fm_sha256_hex(manifest.data, manifest.len, hex);
out:
	fm_buf_free(&manifest);
	fm_buf_free(&sig);
	return rc;
}

/* A missing manifest or signature is a folder that was never sealed, not a failure of this machine.
 */
static int told(const char *name, int rc)
{
	if (rc == FM_ERR_SYSTEM && errno == ENOENT)
		return fm_fail(FM_ERR_SIGNATURE, "%s: is missing, the folder is not sealed", name);
	return rc;
}

static int read_part(int dirfd, const char *name, size_t max, struct fm_buf *out)
{
	return told(name, fm_fs_read(dirfd, name, max, out));
}

/* No line may name what the kind leaves out. */
static int check_outside(enum fm_seal_kind kind, const struct fm_manifest *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (fm_manifest_outside(kind, m->entries[i].path))
			return fm_fail(FM_ERR_FORM,
			        "manifest: names %s, which no manifest of this kind may",
			        m->entries[i].path);
	return FM_OK;
}

int fm_seal_check_manifest(int dirfd, enum fm_seal_kind kind, const struct fm_public *pub,
        char hex[65], struct fm_manifest *m)
{
	size_t files = fm_seal_limits(kind)->files;
	struct fm_buf text = FM_BUF_INIT(0), sig = FM_BUF_INIT(0);
	struct fm_manifest parsed = {NULL, 0, NULL};
	char digest[65];
	int rc;

	if (hex != NULL)
		hex[0] = '\0';
	if (m != NULL)
		*m = parsed;
	if ((rc = read_part(dirfd, FM_SIG_NAME, FM_SSHSIG_MAX, &sig)) != FM_OK ||
	        (rc = read_part(dirfd, FM_MANIFEST_NAME, files * FM_MANIFEST_LINE, &text)) !=
	                FM_OK ||
	        (rc = fm_sshsig_verify(pub, fm_seal_namespace(kind), text.data, text.len, sig.data,
	                 sig.len)) != FM_OK)
		goto out;
	fm_sha256_hex(text.data, text.len, digest);
	if ((rc = fm_manifest_take(&text, files, &parsed)) != FM_OK ||
	        (rc = check_outside(kind, &parsed)) != FM_OK)
		goto out;
	if (hex != NULL)
		memcpy(hex, digest, sizeof digest);
	if (m != NULL) {
		*m = parsed;
		parsed = (struct fm_manifest){NULL, 0, NULL};
	}
out:
	fm_manifest_free(&parsed);
	fm_buf_free(&text);
	fm_buf_free(&sig);
	return rc;
}

/* Signature (pub NULL: not looked at), grammar, every file; hex (may be NULL) gets the digest of
 * the manifest. */
static int check_all(int dirfd, enum fm_seal_kind kind, const struct fm_public *pub, char hex[65])
{
	struct fm_manifest_file *f = NULL;
	struct fm_manifest_source lines;
	int rc = fm_seal_open(dirfd, kind, pub, &f);

	if (rc == FM_OK) {
		lines = fm_manifest_file_source(f);
		rc = fm_manifest_check_lines(dirfd, kind, &lines, NULL, NULL);
	}
	if (hex != NULL)
		snprintf(hex, 65, "%s", rc == FM_OK ? fm_manifest_file_sha256(f) : "");
	fm_manifest_file_close(f);
	return rc;
}

int fm_seal_open(int dirfd, enum fm_seal_kind kind, const struct fm_public *pub,
        struct fm_manifest_file **out)
{
	struct fm_buf sig = FM_BUF_INIT(0);
	struct fm_manifest_file *f = NULL;
	int rc = FM_OK;

	*out = NULL;
	if ((pub != NULL && (rc = read_part(dirfd, FM_SIG_NAME, FM_SSHSIG_MAX, &sig)) != FM_OK) ||
	        (rc = told(FM_MANIFEST_NAME,
	                 fm_manifest_file_open(dirfd, FM_MANIFEST_NAME, kind, &f))) != FM_OK ||
	        (pub != NULL &&
	                (rc = fm_sshsig_verify_hash(pub, fm_seal_namespace(kind),
	                         fm_manifest_file_sha512(f), sig.data, sig.len)) != FM_OK) ||
	        (rc = fm_manifest_file_parse(f)) != FM_OK)
		goto out;
	*out = f;
	f = NULL;
out:
	fm_manifest_file_close(f);
	fm_buf_free(&sig);
	return rc;
}

int fm_seal_check(int dirfd, enum fm_seal_kind kind, const struct fm_public *pub, char hex[65],
        struct fm_manifest *m)
{
	struct fm_manifest parsed;
	int rc;

	if (m == NULL)
		return check_all(dirfd, kind, pub, hex);
	*m = (struct fm_manifest){NULL, 0, NULL};
	if ((rc = fm_seal_check_manifest(dirfd, kind, pub, hex, &parsed)) != FM_OK)
		return rc;
	rc = fm_manifest_check(dirfd, kind, &parsed, NULL, NULL);
	if (rc == FM_OK) {
		*m = parsed;
		return FM_OK;
	}
	if (hex != NULL)
		hex[0] = '\0';
	fm_manifest_free(&parsed);
	return rc;
}

int fm_seal_check_files(int dirfd, enum fm_seal_kind kind)
{
	return check_all(dirfd, kind, NULL, NULL);
}
