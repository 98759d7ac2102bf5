/* test_seal.c: sealing and checking, and every way a sealed folder is spoiled. */
#include "protocol/digest.h"
#include "protocol/seal.h"
#include "protocol/sshsig.h"
#include "tests/unit/scratch.h"

static struct fm_identity *id, *other;

static void make_sealed(struct scratch *s, char hex[65])
{
	scratch_open(s);
	scratch_put(s, "evidence.json", "{}\n");
	scratch_put(s, "kat/a.log", "RESULT\n");
	assert_ok(fm_seal(s->fd, FM_SEAL_BUNDLE, id, hex));
}

static void sealed_and_checked(void **state)
{
	struct fm_manifest m;
	struct fm_buf text;
	struct scratch s;
	char hex[65], seen[65], want[65];

	(void)state;
	make_sealed(&s, hex);
	assert_ok(fm_fs_read(s.fd, FM_MANIFEST_NAME, 1000, &text));
	fm_sha256_hex(text.data, text.len, want);
	fm_buf_free(&text);
	assert_string_equal(hex, want);
	assert_ok(fm_seal_check(s.fd, FM_SEAL_BUNDLE, fm_identity_public(id), seen, &m));
	assert_string_equal(seen, want);
	assert_int_equal(m.count, 2);
	fm_manifest_free(&m);
	assert_ok(fm_seal_check(s.fd, FM_SEAL_BUNDLE, fm_identity_public(id), NULL, NULL));
	assert_ok(fm_seal_check_manifest(s.fd, FM_SEAL_BUNDLE, fm_identity_public(id), seen, &m));
	assert_string_equal(seen, want);
	fm_manifest_free(&m);
	/* Sealing again gives the same bytes, and takes an old time stamp away. */
	scratch_put(&s, FM_TSR_NAME, "old");
	assert_ok(fm_seal(s.fd, FM_SEAL_BUNDLE, id, seen));
	assert_string_equal(seen, want);
	scratch_missing(&s, FM_TSR_NAME);
	/* What a killed writer left goes; checking never removes anything. */
	scratch_put(&s, "." FM_SIG_NAME ".new", "half");
	scratch_put(&s, "kat/.a.log.new", "half");
	assert_fails(FM_ERR_FORM, ".new",
	        fm_seal_check(s.fd, FM_SEAL_BUNDLE, fm_identity_public(id), NULL, NULL));
	assert_ok(fm_seal(s.fd, FM_SEAL_BUNDLE, id, seen));
	assert_string_equal(seen, want);
	scratch_missing(&s, "." FM_SIG_NAME ".new");
	scratch_missing(&s, "kat/.a.log.new");
	/* A time stamp is no file of the seal. */
	scratch_put(&s, FM_TSR_NAME, "new");
	assert_ok(fm_seal_check(s.fd, FM_SEAL_BUNDLE, fm_identity_public(id), NULL, NULL));
	/* The files alone, whoever sealed them. */
	scratch_put(&s, FM_SIG_NAME, "nobody's");
	assert_ok(fm_seal_check_files(s.fd, FM_SEAL_BUNDLE));
	scratch_put(&s, "kat/extra", "x");
	assert_fails(FM_ERR_DIGEST, "kat/extra", fm_seal_check_files(s.fd, FM_SEAL_BUNDLE));
	scratch_close(&s);
}

/* A sealed bundle after the change: the full check says code and words. */
static void spoiled(void (*spoil)(struct scratch *s), int code, const char *words)
{
	struct fm_manifest m;
	struct scratch s;
	char hex[65];

	make_sealed(&s, NULL);
	spoil(&s);
	assert_fails(
	        code, words, fm_seal_check(s.fd, FM_SEAL_BUNDLE, fm_identity_public(id), hex, &m));
	assert_string_equal(hex, "");
	assert_null(m.entries);
	scratch_close(&s);
}

/* Signs this text as the manifest, whatever it says. */
static void put_signed(struct scratch *s, const char *text, size_t len)
{
	struct fm_buf sig = FM_BUF_INIT(FM_SSHSIG_MAX);

	assert_ok(fm_sshsig_sign(id, fm_seal_namespace(FM_SEAL_BUNDLE), text, len, &sig));
	assert_ok(fm_fs_write(s->fd, FM_MANIFEST_NAME, text, len, 0644));
	assert_ok(fm_fs_write(s->fd, FM_SIG_NAME, sig.data, sig.len, 0644));
	fm_buf_free(&sig);
}

static void changed_file(struct scratch *s)
{
	scratch_put(s, "kat/a.log", "result\n");
}
static void missing_file(struct scratch *s)
{
	assert_ok(fm_fs_remove(s->fd, "kat/a.log"));
}
static void extra_file(struct scratch *s)
{
	scratch_put(s, "kat/b.log", "");
}
static void backup_of_the_manifest(struct scratch *s)
{
	scratch_put(s, "MANIFEST.sha256.bak", "");
}
static void link_for_file(struct scratch *s)
{
	assert_ok(fm_fs_rename(s->fd, "kat/a.log", "kat/real"));
	assert_int_equal(symlinkat("real", s->fd, "kat/a.log"), 0);
}
static void no_signature(struct scratch *s)
{
	assert_ok(fm_fs_remove(s->fd, FM_SIG_NAME));
}
static void no_manifest(struct scratch *s)
{
	assert_ok(fm_fs_remove(s->fd, FM_MANIFEST_NAME));
}
static void long_signature(struct scratch *s)
{
	char big[FM_SSHSIG_MAX + 1] = {0};

	assert_ok(fm_fs_write(s->fd, FM_SIG_NAME, big, sizeof big, 0644));
}
static void link_for_signature(struct scratch *s)
{
	assert_ok(fm_fs_rename(s->fd, FM_SIG_NAME, "real"));
	assert_int_equal(symlinkat("real", s->fd, FM_SIG_NAME), 0);
}
static void changed_manifest(struct scratch *s)
{
	struct fm_buf text;

	assert_ok(fm_fs_read(s->fd, FM_MANIFEST_NAME, 1000, &text));
	text.data[0] = text.data[0] == '0' ? '1' : '0';
	assert_ok(fm_fs_write(s->fd, FM_MANIFEST_NAME, text.data, text.len, 0644));
	fm_buf_free(&text);
}
static void other_key(struct scratch *s)
{
	assert_ok(fm_seal(s->fd, FM_SEAL_BUNDLE, other, NULL));
}
static void other_kind(struct scratch *s)
{
	assert_ok(fm_seal(s->fd, FM_SEAL_PLAN, id, NULL));
}
static void signed_junk(struct scratch *s)
{
	put_signed(s, "junk\n", 5);
}
static void signed_nothing(struct scratch *s)
{
	put_signed(s, "", 0);
}
static void signed_own_name(struct scratch *s)
{
	static const char text[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85"
	                           "5  MANIFEST.sha256.tsr\n";

	put_signed(s, text, strlen(text));
	scratch_put(s, FM_TSR_NAME, "");
}

static void every_spoiled_folder_is_refused(void **state)
{
	(void)state;
	spoiled(changed_file, FM_ERR_DIGEST, "kat/a.log: digest");
	spoiled(missing_file, FM_ERR_DIGEST, "kat/a.log: missing");
	spoiled(extra_file, FM_ERR_DIGEST, "kat/b.log: extra");
	spoiled(backup_of_the_manifest, FM_ERR_DIGEST, "MANIFEST.sha256.bak: extra");
	spoiled(link_for_file, FM_ERR_FORM, "kat/a.log: is neither");
	spoiled(no_signature, FM_ERR_SIGNATURE, "MANIFEST.sha256.sig: is missing");
	spoiled(no_manifest, FM_ERR_SIGNATURE, "MANIFEST.sha256: is missing");
	spoiled(long_signature, FM_ERR_SIZE, "4097 bytes");
	spoiled(link_for_signature, FM_ERR_FORM, "no plain file");
	spoiled(changed_manifest, FM_ERR_SIGNATURE, "does not hold");
	spoiled(other_key, FM_ERR_SIGNATURE, "expected key");
	spoiled(other_kind, FM_ERR_SIGNATURE, "bundle.v1@fleetmark");
	spoiled(signed_junk, FM_ERR_FORM, "line 1");
	spoiled(signed_nothing, FM_ERR_FORM, "at least one line");
	spoiled(signed_own_name, FM_ERR_FORM, "names MANIFEST.sha256.tsr");
}

/* The check of the manifest alone opens nothing else. */
static void files_of_others(void **state)
{
	struct scratch s;

	(void)state;
	make_sealed(&s, NULL);
	changed_file(&s);
	assert_int_equal(mkfifoat(s.fd, "fifo", 0600), 0);
	assert_ok(fm_seal_check_manifest(s.fd, FM_SEAL_BUNDLE, fm_identity_public(id), NULL, NULL));
	scratch_close(&s);
}

/* A folder that cannot be sealed has no signature left from before. */
static void failed_seal_leaves_it_open(void **state)
{
	struct scratch s;

	(void)state;
	make_sealed(&s, NULL);
	assert_int_equal(mkfifoat(s.fd, "fifo", 0600), 0);
	assert_fails(FM_ERR_FORM, "fifo", fm_seal(s.fd, FM_SEAL_BUNDLE, id, NULL));
	scratch_missing(&s, FM_SIG_NAME);
	scratch_close(&s);
}

static int init(void **state)
{
	unsigned char seed[32] = {1};

	(void)state;
	assert_ok(fm_crypto_init());
	assert_ok(fm_identity_from_seed(seed, &id));
	seed[0] = 2;
	assert_ok(fm_identity_from_seed(seed, &other));
	return 0;
}

static int done(void **state)
{
	(void)state;
	fm_identity_free(id);
	fm_identity_free(other);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(sealed_and_checked),
	        cmocka_unit_test(every_spoiled_folder_is_refused),
	        cmocka_unit_test(files_of_others),
	        cmocka_unit_test(failed_seal_leaves_it_open),
	};

	return cmocka_run_group_tests(tests, init, done);
}
