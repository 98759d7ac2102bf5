/* test_recipe.c: candidates, known answers and flags: the bundled ones load, every rule refuses
 * what breaks it. */
#include "orchestrator/recipe.h"
#include "protocol/digest.h"
#include "tests/unit/scratch.h"

#define CANDIDATE "[candidate]\nid = c1\nname = C One\ncategory = hash\norigin = own\n"
#define INSTANCE  "[instance I-256]\ndigest_bits = 256\nheader = h.h\nsources = a.c\n"
#define HEX64     "75120ae6e96315d0c24ba7aca77af23ed38218d435194f137e6356a5fa171223"

/* A root with one candidate c1; ini, kat and vectors may be NULL. */
static int load(const char *ini, const char *kat, const char *vectors, struct fm_candidates *out)
{
	struct scratch s;
	int rc;

	scratch_open(&s);
	scratch_put(&s, "algos/c1/candidate.ini", ini);
	scratch_put(&s, "algos/c1/a.c", "int a;\n");
	scratch_put(&s, "algos/c1/b/b.c", "int b;\n");
	scratch_put(&s, "algos/c1/h.h", "\n");
	if (kat != NULL)
		scratch_put(&s, "kat/c1/kat.sha256", kat);
	if (vectors != NULL)
		scratch_put(&s, "kat/c1/vectors.txt", vectors);
	rc = fm_recipe_load(s.path, NULL, out);
	scratch_close(&s);
	return rc;
}

static void refused(const char *words, const char *ini)
{
	struct fm_candidates c;

	assert_fails(FM_ERR_CONFIG, words, load(ini, NULL, NULL, &c));
	assert_int_equal(c.count, 0);
}

static void bundled_candidates_load(void **state)
{
	struct fm_candidates c;
	const struct fm_instance *i;

	(void)state;
	assert_ok(fm_recipe_load(FM_TEST_ROOT, "hash-31,icc?", &c));
	assert_int_equal(c.count, 2);
	assert_string_equal(c.list[0].id, "hash-31");
	assert_int_equal(c.list[0].count, 6);
	assert_int_equal(c.list[1].count, 11);
	i = &c.list[0].instances[0];
	assert_string_equal(i->name, "ZC-DMC-1280-512");
	assert_string_equal(i->kat, "ZC-DMC-1280-512");
	assert_int_equal(i->digest_bits, 512);
	assert_int_equal(i->kat_count, 4);
	assert_true(i->vectors > 0 && fm_hex64_ok(i->vectors_sha256));
	assert_true(i->version[FM_VERSION_PERFORMANCE].exists &&
	            i->version[FM_VERSION_PERFORMANCE].own);
	assert_string_equal(i->version[FM_VERSION_PERFORMANCE].sources.word[1], "zud1280_wide.c");
	assert_true(c.list[1].instances[4].digest_any);
	assert_true(fm_hex64_ok(c.list[0].tree_sha256) && fm_hex64_ok(c.list[0].source_sha256));
	assert_true(c.list[0].tree_bytes > 0 && c.list[0].sources.len > 0);
	fm_recipe_free(&c);
	assert_fails(FM_ERR_USAGE, "'hash-99' matches no candidate; there are: hash-",
	        fm_recipe_load(FM_TEST_ROOT, "hash-99", &c));
	assert_fails(FM_ERR_CONFIG, "--root must name", fm_recipe_load("/nonexistent", NULL, &c));
}

static void every_key_is_understood(void **state)
{
	struct fm_candidates c;
	const struct fm_instance *i;

	(void)state;
	assert_ok(load(CANDIDATE
	        "page = https://example.org/x\n" INSTANCE
	        "digest = any\nsources.performance = b/b.c a.c\nsources.resource = none\n"
	        "defines = A B=1 C=\"x\"\ninclude = b\nlibs = gmp\narch = aarch64\nkat = "
	        "Official_1\n",
	        NULL, NULL, &c));
	i = &c.list[0].instances[0];
	assert_string_equal(c.list[0].page, "https://example.org/x");
	assert_string_equal(i->kat, "Official_1");
	assert_true(i->digest_any && i->version[FM_VERSION_PERFORMANCE].own &&
	            !i->version[FM_VERSION_RESOURCE].exists);
	assert_int_equal(i->version[FM_VERSION_PERFORMANCE].sources.count, 2);
	assert_int_equal(i->defines.count, 3);
	assert_string_equal(i->arch.word[0], "aarch64");
	fm_recipe_free(&c);
}

static void bad_recipes_are_refused(void **state)
{
	(void)state;
	refused("candidate.ini:2: id: read 'c2', allowed: c1", "[candidate]\nid = c2\n");
	refused(":6: unknown key 'nam' in [candidate]; allowed: id, name",
	        CANDIDATE "nam = x\n" INSTANCE);
	refused("category: read 'sign', allowed: hash",
	        "[candidate]\nid = c1\nname = n\ncategory = sign\n");
	refused("category: read 'cipher', allowed: hash",
	        "[candidate]\nid = c1\nname = n\ncategory = cipher\n");
	refused("origin: read 'stolen'", "[candidate]\nid = c1\norigin = stolen\n");
	refused("unknown section [instances]", CANDIDATE "[instances]\n");
	refused("[candidate] needs the key name",
	        "[candidate]\nid = c1\ncategory = hash\norigin = own\n" INSTANCE);
	refused("no [instance NAME]", CANDIDATE);
	refused("[instance -x]: an instance's name", CANDIDATE "[instance -x]\n");
	refused("differ only in upper and lower case", CANDIDATE INSTANCE "[instance i-256]\n");
	refused("stands already in line", CANDIDATE INSTANCE INSTANCE);
	refused("[instance I] needs the key digest_bits",
	        CANDIDATE "[instance I]\nheader = h.h\nsources = a.c\n");
	refused("[instance I] needs the key header",
	        CANDIDATE "[instance I]\ndigest_bits = 8\nsources = a.c\n");
	refused("[instance I] needs the key sources",
	        CANDIDATE "[instance I]\ndigest_bits = 8\nheader = h.h\n");
	refused("digest_bits: read '7'", CANDIDATE "[instance I]\ndigest_bits = 7\n");
	refused("digest: read 'some', allowed: fixed, any", CANDIDATE INSTANCE "digest = some\n");
	refused("defines: read '-DX'", CANDIDATE INSTANCE "defines = -DX\n");
	refused("defines: read 'X=$(id)'", CANDIDATE INSTANCE "defines = X=$(id)\n");
	refused("include: read '../x'", CANDIDATE INSTANCE "include = ../x\n");
	refused("include folder 'nope' is not there", CANDIDATE INSTANCE "include = nope\n");
	refused("libs: read '-lgmp'", CANDIDATE INSTANCE "libs = -lgmp\n");
	refused("arch: read 'riscv'", CANDIDATE INSTANCE "arch = riscv\n");
	refused("kat: read 'a/b'", CANDIDATE INSTANCE "kat = a/b\n");
	refused("sources.performance: read '/etc/passwd'",
	        CANDIDATE INSTANCE "sources.performance = /etc/passwd\n");
	refused("source 'gone.c' is not there",
	        CANDIDATE INSTANCE "sources.performance = gone.c\n");
	refused("'a.c' stands twice", CANDIDATE INSTANCE "sources.performance = a.c a.c\n");
	refused("header 'x.h' is not there",
	        CANDIDATE "[instance I]\ndigest_bits = 8\nheader = x.h\nsources = a.c\n");
	refused("[archive] is for origin = archive", CANDIDATE "[archive]\nroot = x\n" INSTANCE);
	refused("url: read 'http://h/'", CANDIDATE "[archive]\nurl = http://h/\n");
	refused("sha256: read 'xyz'", CANDIDATE "[archive]\nsha256 = xyz\n");
	refused("needs a section [archive]",
	        "[candidate]\nid = c1\nname = n\ncategory = hash\norigin = archive\n" INSTANCE);
	refused("name: 0 bytes", "[candidate]\nname =\n");
	refused("name: read", "[candidate]\nname = \xc3\xa4\n");
}

static void known_answers(void **state)
{
	static const char good[] = HEX64 " strict I-256/KAT_2_12_I-256.txt\n" HEX64
	                                 " strict I-256/KAT_2_23_I-256.txt\n";
	static const char *const bad[][2] = {
	        {"kat.sha256:1: read", "xyz strict I-256/KAT_2_12_I-256.txt\n"},
	        {"kat.sha256:1: mode 'nolen'", HEX64 " nolen I-256/KAT_2_12_I-256.txt\n"},
	        {"is no KAT_2_12", HEX64 " strict I-512/KAT_2_12_I-512.txt\n"},
	        {"is no KAT_2_12", HEX64 " strict I-256/KAT_2_12_other.txt\n"},
	        {"is no KAT_2_12", HEX64 " strict I-256/../../x\n"},
	        {"kat.sha256:2: lines must be sorted",
	                HEX64 " strict I-256/KAT_2_23_I-256.txt\n" HEX64
	                      " strict I-256/KAT_2_12_I-256.txt\n"},
	        {"kat.sha256: the last line", HEX64 " strict I-256/KAT_2_12_I-256.txt"},
	};
	struct fm_candidates c;

	(void)state;
	assert_ok(load(CANDIDATE INSTANCE, good, NULL, &c));
	assert_int_equal(c.list[0].instances[0].kat_count, 2);
	assert_string_equal(c.list[0].instances[0].kat_lines[1].file, "KAT_2_23_I-256.txt");
	assert_int_equal(c.list[0].instances[0].vectors, 0);
	fm_recipe_free(&c);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_fails(
		        FM_ERR_CONFIG, bad[i][0], load(CANDIDATE INSTANCE, bad[i][1], NULL, &c));
}

static void vectors(void **state)
{
	static const char line1[] = "I-256|0|-|" HEX64 "|empty\n",
	                  line2[] = "I-256|13|a5ff|" HEX64 "|with | in the note\n";
	static const char *const bad[][2] = {
	        {"vectors.txt:1: read 'J-1|0|-|x|y'", "J-1|0|-|x|y\n"},
	        {"vectors.txt:1: read", "I-256|0|-|" HEX64 "\n"},
	        {"message bits 'x'", "I-256|x|-|" HEX64 "|n\n"},
	        {"vectors.txt:2: the message must be lower-case hex digits for 13 bits",
	                "# c\nI-256|13|a5|" HEX64 "|n\n"},
	        {"the message must be lower-case", "I-256|8|A5|" HEX64 "|n\n"},
	        {"the message must be '-'", "I-256|0||" HEX64 "|n\n"},
	        {"the digest must be 64", "I-256|0|-|00|n\n"},
	        {"printable ASCII", "I-256|0|-|" HEX64 "|\xc3\xa4\n"},
	        {"the last line does not end", "I-256|0|-|" HEX64 "|n"},
	};
	struct fm_candidates c;
	char both[400], hex[65];

	(void)state;
	snprintf(both, sizeof both, "# comment\n%s%s", line1, line2);
	assert_ok(load(CANDIDATE INSTANCE, NULL, both, &c));
	assert_int_equal(c.list[0].instances[0].vectors, 2);
	fm_sha256_hex(strchr(both, '\n') + 1, strlen(line1) + strlen(line2), hex);
	assert_string_equal(c.list[0].instances[0].vectors_sha256, hex);
	assert_string_equal(c.list[0].vectors.data, both);
	fm_recipe_free(&c);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_fails(
		        FM_ERR_CONFIG, bad[i][0], load(CANDIDATE INSTANCE, NULL, bad[i][1], &c));
}

static int load_flags(const char *text)
{
	struct fm_flags f;
	struct scratch s;
	int rc;

	scratch_open(&s);
	scratch_put(&s, "algos/flags.ini", text);
	rc = fm_flags_load(s.path, &f);
	scratch_close(&s);
	if (rc == FM_OK)
		fm_flags_free(&f);
	return rc;
}

static void flags(void **state)
{
	struct fm_flags f;

	(void)state;
	assert_ok(fm_flags_load(FM_TEST_ROOT, &f));
	assert_int_equal(f.count, 6);
	assert_string_equal(fm_flags_find(&f, "aarch64", FM_VERSION_REFERENCE)->flags,
	        "-std=c99 -Wpedantic -Wall -Wextra -O2");
	assert_string_equal(fm_flags_find(&f, "aarch64", FM_VERSION_RESOURCE)->mark, "by analogy");
	assert_null(fm_flags_find(&f, "riscv", FM_VERSION_REFERENCE));
	assert_non_null(strstr(f.additions, "-D_GNU_SOURCE"));
	fm_flags_free(&f);
	assert_int_equal(
	        load_flags("[additions]\nflags = -fPIC\n[fallback]\nflags =   -O2 \t -g\n"), FM_OK);
	assert_fails(FM_ERR_CONFIG, "[additions] and [fallback] are needed",
	        load_flags("[additions]\nflags = -fPIC\n"));
	assert_fails(FM_ERR_CONFIG, "flags.ini:1: unknown section [arm reference]",
	        load_flags("[arm reference]\n"));
	assert_fails(
	        FM_ERR_CONFIG, "flags: read '-O2;rm'", load_flags("[additions]\nflags = -O2;rm\n"));
	assert_fails(
	        FM_ERR_CONFIG, "flags: read '$(id)'", load_flags("[additions]\nflags = $(id)\n"));
	assert_fails(FM_ERR_CONFIG, "flags: empty", load_flags("[additions]\nflags =\n"));
	assert_fails(FM_ERR_CONFIG, "unknown key 'mark' in [additions]",
	        load_flags("[additions]\nmark = x\n"));
	assert_fails(FM_ERR_CONFIG, "[x86_64 reference] has no flags",
	        load_flags("[x86_64 reference]\nmark = x\n[additions]\nflags = "
	                   "-a\n[fallback]\nflags = -b\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(bundled_candidates_load),
	        cmocka_unit_test(every_key_is_understood),
	        cmocka_unit_test(bad_recipes_are_refused),
	        cmocka_unit_test(known_answers),
	        cmocka_unit_test(vectors),
	        cmocka_unit_test(flags),
	};

	if (fm_crypto_init() != FM_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
