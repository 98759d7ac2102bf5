/* sshsig.c: writes and checks the one signature form, OpenSSH's SSHSIG with Ed25519 and SHA-512. */
#include "protocol/sshsig.h"
#include "protocol/public_blob.h"
#include <sodium.h>
#include <string.h>

#define BEGIN     "-----BEGIN SSH SIGNATURE-----\n"
#define END       "-----END SSH SIGNATURE-----\n"
#define MAGIC     "SSHSIG"
#define COLUMNS   70  /* base64 characters of a line */
#define BLOB_MAX  512 /* bytes of any blob or signed data of ours */
#define NAMESPACE 64  /* bytes of the longest namespace */

static int put_string(struct fm_buf *b, const void *bytes, size_t len)
{
	const unsigned char head[4] = {0, 0, (unsigned char)(len >> 8), (unsigned char)len};
	int rc = fm_buf_put(b, head, sizeof head);

	return rc != FM_OK ? rc : fm_buf_put(b, bytes, len);
}

/* string namespace, string "" (reserved), string "sha512": the middle of blob and signed data
 * alike. */
static int put_scope(struct fm_buf *b, const char *namespace)
{
	int rc;

	if (namespace[0] == '\0' || strlen(namespace) > NAMESPACE)
		return fm_fail(FM_ERR_INTERNAL, "signature: namespace '%.80s'", namespace);
	if ((rc = put_string(b, namespace, strlen(namespace))) != FM_OK ||
	        (rc = put_string(b, "", 0)) != FM_OK)
		return rc;
	return put_string(b, "sha512", 6);
}

/* The bytes that are signed for a message of this SHA-512. */
static int put_signed_data(struct fm_buf *b, const char *namespace, const unsigned char hash[64])
{
	int rc;

	if ((rc = fm_buf_puts(b, MAGIC)) != FM_OK || (rc = put_scope(b, namespace)) != FM_OK)
		return rc;
	return put_string(b, hash, crypto_hash_sha512_BYTES);
}

/* The blob; the signature bytes are its last 64. */
static int put_blob(struct fm_buf *b, const struct fm_public *pub, const char *namespace,
        const unsigned char sig[crypto_sign_BYTES])
{
	static const unsigned char version[4] = {0, 0, 0, 1};
	static const unsigned char inner[4] = {0, 0, 0, 4 + 11 + 4 + crypto_sign_BYTES};
	unsigned char key[FM_PUBLIC_BLOB];
	int rc;

	fm_public_blob(pub, key);
	if ((rc = fm_buf_puts(b, MAGIC)) != FM_OK ||
	        (rc = fm_buf_put(b, version, sizeof version)) != FM_OK ||
	        (rc = put_string(b, key, sizeof key)) != FM_OK ||
	        (rc = put_scope(b, namespace)) != FM_OK ||
	        (rc = fm_buf_put(b, inner, sizeof inner)) != FM_OK ||
	        (rc = put_string(b, FM_KEY_TYPE, strlen(FM_KEY_TYPE))) != FM_OK)
		return rc;
	return put_string(b, sig, crypto_sign_BYTES);
}

/* The whole file of a signature; its only spelling. */
static int put_armour(struct fm_buf *out, const struct fm_public *pub, const char *namespace,
        const unsigned char sig[crypto_sign_BYTES])
{
	struct fm_buf blob = FM_BUF_INIT(BLOB_MAX);
	char text[sodium_base64_ENCODED_LEN(BLOB_MAX, sodium_base64_VARIANT_ORIGINAL)];
	size_t start = out->len, len;
	int rc;

	if ((rc = put_blob(&blob, pub, namespace, sig)) != FM_OK)
		goto out;
	sodium_bin2base64(text, sizeof text, (const unsigned char *)blob.data, blob.len,
	        sodium_base64_VARIANT_ORIGINAL);
	rc = fm_buf_puts(out, BEGIN);
	len = strlen(text);
	for (size_t at = 0; rc == FM_OK && at < len; at += COLUMNS)
		if ((rc = fm_buf_put(out, text + at, len - at < COLUMNS ? len - at : COLUMNS)) ==
		        FM_OK)
			rc = fm_buf_puts(out, "\n");
	if (rc == FM_OK)
		rc = fm_buf_puts(out, END);
out:
	if (rc != FM_OK && out->data != NULL) {
		out->len = start;
		out->data[start] = '\0';
	}
	fm_buf_free(&blob);
	return rc;
}

int fm_sshsig_sign(const struct fm_identity *id, const char *namespace, const void *message,
        size_t len, struct fm_buf *out)
{
	struct fm_buf data = FM_BUF_INIT(BLOB_MAX);
	unsigned char sig[crypto_sign_BYTES], hash[crypto_hash_sha512_BYTES];
	int rc;

	crypto_hash_sha512(hash, message, len);
	if ((rc = put_signed_data(&data, namespace, hash)) == FM_OK &&
	        (rc = fm_identity_sign(id, data.data, data.len, sig)) == FM_OK)
		rc = put_armour(out, fm_identity_public(id), namespace, sig);
	fm_buf_free(&data);
	return rc;
}

/* The last 64 bytes of the blob in an armoured signature. Nothing else of it is looked at here: the
 * caller compares. */
static int signature_bytes(const char *sig, size_t len, unsigned char out[crypto_sign_BYTES])
{
	size_t head = strlen(BEGIN), tail = strlen(END), got = 0;
	unsigned char blob[FM_SSHSIG_MAX];

	if (len < head + tail || memcmp(sig, BEGIN, head) != 0 ||
	        memcmp(sig + len - tail, END, tail) != 0 ||
	        sodium_base642bin(blob, sizeof blob, sig + head, len - head - tail, "\n", &got,
	                NULL, sodium_base64_VARIANT_ORIGINAL) != 0 ||
	        got < crypto_sign_BYTES)
		return fm_fail(FM_ERR_FORM,
		        "signature: is no SSH signature in lines of %d characters", COLUMNS);
	memcpy(out, blob + got - crypto_sign_BYTES, crypto_sign_BYTES);
	return FM_OK;
}

int fm_sshsig_verify(const struct fm_public *pub, const char *namespace, const void *message,
        size_t len, const char *sig, size_t sig_len)
{
	unsigned char hash[crypto_hash_sha512_BYTES];

	crypto_hash_sha512(hash, message, len);
	return fm_sshsig_verify_hash(pub, namespace, hash, sig, sig_len);
}

int fm_sshsig_verify_hash(const struct fm_public *pub, const char *namespace,
        const unsigned char sha512[64], const char *sig, size_t sig_len)
{
	struct fm_buf again = FM_BUF_INIT(FM_SSHSIG_MAX), data = FM_BUF_INIT(BLOB_MAX);
	unsigned char bytes[crypto_sign_BYTES];
	int rc;

	if (sig_len > FM_SSHSIG_MAX)
		return fm_fail(FM_ERR_FORM, "signature: has %zu bytes, allowed are %d", sig_len,
		        FM_SSHSIG_MAX);
	if ((rc = signature_bytes(sig, sig_len, bytes)) != FM_OK ||
	        (rc = put_armour(&again, pub, namespace, bytes)) != FM_OK ||
	        (rc = put_signed_data(&data, namespace, sha512)) != FM_OK)
		goto out;
	rc = FM_ERR_SIGNATURE;
	if (again.len != sig_len || memcmp(again.data, sig, sig_len) != 0)
		fm_fail(rc, "signature: is not of the expected key, namespace %s and spelling",
		        namespace);
	else if (crypto_sign_verify_detached(
	                 bytes, (const unsigned char *)data.data, data.len, pub->key) != 0)
		fm_fail(rc, "signature: does not hold for these bytes");
	else
		rc = FM_OK;
out:
	fm_buf_free(&again);
	fm_buf_free(&data);
	return rc;
}
