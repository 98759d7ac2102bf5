/* test_identity.c: key files with their owner, mode and form; public lines in one spelling;
 * fingerprints. */
#include "protocol/digest.h"
#include "protocol/identity.h"
#include "tests/unit/scratch.h"

/* The pair of the seed 00 01 .. 1f; line as in FORMATS.md, fingerprint as ssh-keygen -l prints it.
 */
static const char line[] =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4";
static const char print[] = "SHA256:lbmsoA0yIEcEiVDRnMWuzm+nV+3ZEEpVIURqFoeSspg";
static const char seed[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";

static void made_and_loaded(void **state)
{
	struct fm_identity *id, *other;
	char a[FM_PUBLIC_LINE + 1], b[FM_PUBLIC_LINE + 1];
	struct scratch s;
	struct stat st;

	(void)state;
	scratch_open(&s);
	assert_ok(fm_identity_create(s.fd, "key"));
	assert_int_equal(fstatat(s.fd, "key", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 65);
	assert_fails(FM_ERR_SYSTEM, "exists", fm_identity_create(s.fd, "key"));
	assert_int_equal(errno, EEXIST);
	assert_ok(fm_identity_load(s.fd, "key", &id));
	assert_ok(fm_identity_load(s.fd, "key", &other));
	fm_public_line(fm_identity_public(id), a);
	fm_public_line(fm_identity_public(other), b);
	assert_string_equal(a, b);
	assert_true(fm_public_equal(fm_identity_public(id), fm_identity_public(other)));
	fm_identity_free(other);
	assert_ok(fm_identity_create(s.fd, "key2"));
	assert_ok(fm_identity_load(s.fd, "key2", &other));
	assert_false(fm_public_equal(fm_identity_public(id), fm_identity_public(other)));
	fm_identity_free(id);
	fm_identity_free(other);
	fm_identity_free(NULL);
	scratch_close(&s);
}

static void known_seed(void **state)
{
	char text[FM_PUBLIC_LINE + 1], f[FM_FINGERPRINT];
	struct fm_identity *id;
	struct scratch s;

	(void)state;
	scratch_open(&s);
	assert_ok(fm_fs_write(s.fd, "key", seed, strlen(seed), 0600));
	assert_ok(fm_identity_load(s.fd, "key", &id));
	fm_public_line(fm_identity_public(id), text);
	assert_string_equal(text, line);
	fm_public_fingerprint(fm_identity_public(id), f);
	assert_string_equal(f, print);
	fm_identity_free(id);
	scratch_close(&s);
}

/* A key file of this text and mode is refused with these words. */
static void refused(const char *text, size_t len, mode_t mode, const char *words)
{
	struct fm_identity *id;
	struct scratch s;

	scratch_open(&s);
	assert_ok(fm_fs_write(s.fd, "key", text, len, mode));
	assert_fails(FM_ERR_FORM, words, fm_identity_load(s.fd, "key", &id));
	assert_null(id);
	scratch_close(&s);
}

static void other_files_are_refused(void **state)
{
	struct fm_identity *id;
	struct scratch s;
	char text[66];

	(void)state;
	refused(seed, 65, 0640, "mode 0640, allowed is 0600");
	refused(seed, 65, 0604, "mode 0604");
	refused(seed, 65, 0700, "mode 0700");
	refused(seed, 64, 0600, "64 bytes, expected 65");
	refused("", 0, 0600, "0 bytes");
	memcpy(text, seed, 66);
	text[65] = '\n';
	refused(text, 66, 0600, "66 bytes");
	text[64] = ' ';
	refused(text, 65, 0600, "lower-case hex digits and a line end");
	memcpy(text, seed, 66);
	text[21] = 'A';
	refused(text, 65, 0600, "lower-case hex digits");
	text[21] = '\0';
	refused(text, 65, 0600, "lower-case hex digits");
	scratch_open(&s);
	assert_ok(fm_fs_write(s.fd, "key", seed, 65, 0600));
	assert_int_equal(symlinkat("key", s.fd, "link"), 0);
	assert_fails(FM_ERR_FORM, "is a link", fm_identity_load(s.fd, "link", &id));
	assert_int_equal(mkfifoat(s.fd, "fifo", 0600), 0);
	assert_fails(FM_ERR_FORM, "no plain file", fm_identity_load(s.fd, "fifo", &id));
	assert_fails(FM_ERR_SYSTEM, "No such file", fm_identity_load(s.fd, "none", &id));
	assert_int_equal(errno, ENOENT);
	assert_fails(FM_ERR_SYSTEM, "exists", fm_identity_create(s.fd, "link"));
	if (geteuid() == 0) { /* only then can a file be given away */
		assert_int_equal(fchownat(s.fd, "key", 12345, (gid_t)-1, 0), 0);
		assert_fails(
		        FM_ERR_FORM, "belongs to user 12345", fm_identity_load(s.fd, "key", &id));
	}
	scratch_close(&s);
}

static void one_public_line(void **state)
{
	char other[200];
	struct fm_public pub;
	char again[FM_PUBLIC_LINE + 1];

	(void)state;
	assert_ok(fm_public_parse(line, &pub));
	fm_public_line(&pub, again);
	assert_string_equal(again, line);
	snprintf(other, sizeof other, "%s comment", line);
	assert_fails(FM_ERR_FORM, "nothing behind", fm_public_parse(other, &pub));
	snprintf(other, sizeof other, "%s\n", line);
	assert_fails(FM_ERR_FORM, "nothing behind", fm_public_parse(other, &pub));
	snprintf(other, sizeof other, " %s", line);
	assert_fails(FM_ERR_FORM, "public key", fm_public_parse(other, &pub));
	for (size_t i = 0; i < FM_PUBLIC_LINE - 43; i++) { /* type, lengths, base64 of the type */
		snprintf(other, sizeof other, "%s", line);
		other[i] = other[i] == 'B' ? 'C' : 'B';
		assert_fails(FM_ERR_FORM, "public key", fm_public_parse(other, &pub));
	}
	snprintf(other, sizeof other, "%s", line);
	other[50] = '-';
	assert_fails(FM_ERR_FORM, "public key", fm_public_parse(other, &pub));
	assert_fails(FM_ERR_FORM, "public key", fm_public_parse("", &pub));
	assert_fails(FM_ERR_FORM, "public key",
	        fm_public_parse("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDBiGXxZ", &pub));
}

static int init(void **state)
{
	(void)state;
	return fm_crypto_init();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(made_and_loaded),
	        cmocka_unit_test(known_seed),
	        cmocka_unit_test(other_files_are_refused),
	        cmocka_unit_test(one_public_line),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
