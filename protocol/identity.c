/* identity.c: Ed25519 keys: seed files, public lines, fingerprints, plain signatures. */
#include "protocol/identity.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/fs_parent.h"
#include "protocol/public_blob.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SEED_DIGITS (2 * crypto_sign_SEEDBYTES)
#define SEED_FILE   (SEED_DIGITS + 1) /* and LF */

struct fm_identity {
	unsigned char secret[crypto_sign_SECRETKEYBYTES];
	struct fm_public public;
};

static void *secret_alloc(size_t size)
{
	void *p = sodium_malloc(size);

	if (p == NULL)
		fm_fail(FM_ERR_MEMORY, "no protected memory for %zu bytes", size);
	return p;
}

int fm_identity_create(int dirfd, const char *name)
{
	unsigned char *seed = secret_alloc(crypto_sign_SEEDBYTES);
	char *text = secret_alloc(SEED_FILE + 1);
	int rc = FM_ERR_MEMORY;

	if (seed != NULL && text != NULL) {
		randombytes_buf(seed, crypto_sign_SEEDBYTES);
		sodium_bin2hex(text, SEED_FILE, seed, crypto_sign_SEEDBYTES);
		text[SEED_DIGITS] = '\n';
		rc = fm_fs_create(dirfd, name, text, SEED_FILE, 0600);
	}
	sodium_free(seed);
	sodium_free(text);
	return rc;
}

/* Opens the key file, if nobody but its owner, who is us, can get at it. */
static int open_key(int dirfd, const char *name, int *fd)
{
	struct fm_fs_parent parent;
	struct stat st;
	int rc;

	*fd = -1;
	if ((rc = fm_fs_parent_open(&parent, dirfd, name, -1)) != FM_OK)
		return rc;
	*fd = openat(
	        parent.fd, parent.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (*fd < 0 && errno == ELOOP)
		rc = fm_fail(FM_ERR_FORM, "key %s: is a link, expected a plain file", name);
	else if (*fd < 0 || fstat(*fd, &st) != 0)
		rc = fm_fail_errno("key %s", name);
	else if (!S_ISREG(st.st_mode))
		rc = fm_fail(FM_ERR_FORM, "key %s: is no plain file", name);
	else if (st.st_uid != geteuid())
		rc = fm_fail(FM_ERR_FORM, "key %s: belongs to user %lu, expected %lu", name,
		        (unsigned long)st.st_uid, (unsigned long)geteuid());
	else if ((st.st_mode & 07777 & ~(mode_t)0600) != 0)
		rc = fm_fail(FM_ERR_FORM, "key %s: has mode %04o, allowed is 0600; chmod 600 it",
		        name, (unsigned)(st.st_mode & 07777));
	else if (st.st_size != SEED_FILE)
		rc = fm_fail(FM_ERR_FORM, "key %s: has %lld bytes, expected %d", name,
		        (long long)st.st_size, (int)SEED_FILE);
	fm_fs_parent_close(&parent);
	return rc;
}

/* 64 lower-case hex digits and LF to 32 bytes. */
static int parse_seed(const char *text, size_t len, unsigned char *seed)
{
	size_t got = 0;

	if (len != SEED_FILE || text[SEED_DIGITS] != '\n' ||
	        strspn(text, "0123456789abcdef") != SEED_DIGITS ||
	        sodium_hex2bin(seed, crypto_sign_SEEDBYTES, text, SEED_DIGITS, NULL, &got, NULL) !=
	                0 ||
	        got != crypto_sign_SEEDBYTES)
		return fm_fail(FM_ERR_FORM, "expected 64 lower-case hex digits and a line end");
	return FM_OK;
}

int fm_identity_load(int dirfd, const char *name, struct fm_identity **out)
{
	char *text = secret_alloc(SEED_FILE + 2);
	unsigned char *seed = secret_alloc(crypto_sign_SEEDBYTES);
	size_t len = 0;
	int fd = -1, rc = FM_ERR_MEMORY;

	*out = NULL;
	if (text == NULL || seed == NULL || (rc = open_key(dirfd, name, &fd)) != FM_OK)
		goto out;
	while (len < SEED_FILE + 1) {
		ssize_t n = read(fd, text + len, SEED_FILE + 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			rc = fm_fail_errno("read key %s", name);
			goto out;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	if ((rc = parse_seed(text, len, seed)) != FM_OK)
		fm_wrap(rc, "key %s", name);
	else
		rc = fm_identity_from_seed(seed, out);
out:
	if (fd >= 0) {
		int saved = errno;

		close(fd);
		errno = saved;
	}
	sodium_free(text);
	sodium_free(seed);
	return rc;
}

int fm_identity_from_seed(const unsigned char seed[32], struct fm_identity **out)
{
	struct fm_identity *id = secret_alloc(sizeof *id);

	*out = NULL;
	if (id == NULL)
		return FM_ERR_MEMORY;
	if (crypto_sign_seed_keypair(id->public.key, id->secret, seed) != 0) {
		sodium_free(id);
		return fm_fail(FM_ERR_INTERNAL, "libsodium makes no key from a seed");
	}
	*out = id;
	return FM_OK;
}

void fm_identity_free(struct fm_identity *id)
{
	sodium_free(id); /* wipes; NULL is allowed */
}

const struct fm_public *fm_identity_public(const struct fm_identity *id)
{
	return &id->public;
}

int fm_identity_sign(
        const struct fm_identity *id, const void *bytes, size_t len, unsigned char sig[64])
{
	if (crypto_sign_detached(sig, NULL, bytes, len, id->secret) != 0)
		return fm_fail(FM_ERR_INTERNAL, "libsodium does not sign");
	return FM_OK;
}

void fm_public_blob(const struct fm_public *pub, unsigned char out[FM_PUBLIC_BLOB])
{
	memcpy(out, "\0\0\0\013" FM_KEY_TYPE "\0\0\0\040", 19);
	memcpy(out + 19, pub->key, sizeof pub->key);
}

void fm_public_line(const struct fm_public *pub, char out[FM_PUBLIC_LINE + 1])
{
	unsigned char blob[FM_PUBLIC_BLOB];

	fm_public_blob(pub, blob);
	memcpy(out, FM_KEY_TYPE " ", 12);
	sodium_bin2base64(out + 12, FM_PUBLIC_LINE + 1 - 12, blob, sizeof blob,
	        sodium_base64_VARIANT_ORIGINAL);
}

int fm_public_parse(const char *line, struct fm_public *out)
{
	unsigned char blob[FM_PUBLIC_BLOB];
	char again[FM_PUBLIC_LINE + 1], shown[120];
	struct fm_public pub;
	size_t got = 0;

	memset(out, 0, sizeof *out);
	if (strlen(line) == FM_PUBLIC_LINE &&
	        sodium_base642bin(blob, sizeof blob, line + 12, FM_PUBLIC_LINE - 12, NULL, &got,
	                NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
	        got == sizeof blob) {
		memcpy(pub.key, blob + 19, sizeof pub.key);
		fm_public_line(&pub, again); /* one spelling: what we would write */
		if (strcmp(line, again) == 0) {
			*out = pub;
			return FM_OK;
		}
	}
	return fm_fail(FM_ERR_FORM,
	        "public key: read '%s', expected 'ssh-ed25519 ' and 68 base64 characters, nothing "
	        "behind",
	        fm_escape(line, strlen(line), shown, sizeof shown));
}

void fm_public_fingerprint(const struct fm_public *pub, char out[FM_FINGERPRINT])
{
	unsigned char blob[FM_PUBLIC_BLOB], digest[crypto_hash_sha256_BYTES];

	fm_public_blob(pub, blob);
	crypto_hash_sha256(digest, blob, sizeof blob);
	memcpy(out, "SHA256:", 7);
	sodium_bin2base64(out + 7, FM_FINGERPRINT - 7, digest, sizeof digest,
	        sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
}

bool fm_public_equal(const struct fm_public *a, const struct fm_public *b)
{
	return sodium_memcmp(a->key, b->key, sizeof a->key) == 0;
}
