/* test_adopt.c: what adopt reads from sources and KAT files, what it proposes, what it says it
 * cannot decide. */
#include "orchestrator/adopt.h"
#include "orchestrator/recipe_parts.h"
#include "protocol/digest.h"
#include "tests/unit/makepack.h"

#define API(name, bits) \
	"#define ALGORITHM_INSTANCE \"" name "\"\r\n#define DIGEST_BIT_LENGTH " bits "\r\n"
/* the check value of the canonical form, which the programme's text has with trailing blanks and CR
 * LF or LF */
#define KAT_TEXT   "Msg_Len = 0\nMsg = \nDst_Len = 8\nDst = AB\n\n"
#define KAT_CRLF   "Msg_Len = 0\r\nMsg = \r\nDst_Len = 8\r\nDst = AB\r\n\r\n"
#define KAT_SHA256 "8d42fec446078cc803f7a19d8d0cadd414c2e3594fb266ebd324b7d7bd96d9cb"

static void macros_and_includes(void **state)
{
	struct fm_adopt_file f = {.path = "x.h"};

	(void)state;
	assert_ok(fm_adopt_read_source("/* x */\n"
	                               "#define ALGORITHM_INSTANCE \"Eijen-256\"\r\n"
	                               "  #  define DIGEST_BIT_LENGTH (256) // bits\n"
	                               "#define ALGORITHM_INSTANCE_LEN 7\n"
	                               "#include <stdio.h>\n"
	                               "# include \"../a b.h\"\n"
	                               "#include\"c.h\"\n"
	                               "#include \"c.h\"\n"
	                               "#include \"unended\n"
	                               "#included \"d.h\"",
	        &f));
	assert_string_equal(f.name, "Eijen-256");
	assert_int_equal(f.bits, 256);
	assert_int_equal(f.includes.count, 2);
	assert_string_equal(f.includes.word[0], "../a b.h");
	assert_string_equal(f.includes.word[1], "c.h");
	fm_words_free(&f.includes);
	f = (struct fm_adopt_file){.path = "y.h"};
	assert_ok(fm_adopt_read_source("#define ALGORITHM_INSTANCE \"../x\"\n"
	                               "#define DIGEST_BIT_LENGTH 99999999999\n",
	        &f));
	assert_string_equal(f.name, "");
	assert_int_equal(f.bits, 0);
}

static void kat(const char *text, size_t step, struct fm_adopt_file *f)
{
	struct fm_adopt_kat k;

	fm_adopt_kat_start(&k);
	for (size_t at = 0, len = strlen(text); at < len; at += step)
		assert_ok(fm_adopt_kat_add(&k, text + at, len - at < step ? len - at : step));
	assert_ok(fm_adopt_kat_end(&k, f));
}

static void known_answers(void **state)
{
	struct fm_adopt_file f = {.path = "k"};
	struct fm_adopt_kat k;
	char *blanks = malloc(FM_ADOPT_LINE + 1);

	(void)state;
	for (size_t step = 1; step < 50; step += 6) {
		kat(KAT_TEXT, step, &f);
		assert_string_equal(f.sha256, KAT_SHA256);
		assert_null(f.problem);
		assert_int_equal(f.bits, 8);
		kat(KAT_CRLF, step, &f);
		assert_string_equal(f.sha256, KAT_SHA256);
	}
	kat("Msg_Len = 0\nMsg = \nDst_Len = 8\nDst = AB", 7, &f); /* no last LF */
	assert_string_equal(f.sha256, KAT_SHA256);
	kat("Msg_Len =\nMsg = \nDst_Len =\nDst = AB\n", 7, &f);
	assert_non_null(strstr(f.problem, "nolen"));
	kat("Msg_Len = 0\nMsg = \nDst_Len = 8\nDst = \n", 7, &f);
	assert_non_null(strstr(f.problem, "without digests"));
	kat("\r\n\n", 7, &f);
	assert_string_equal(f.problem, "is empty");
	kat("Dst_Len = 99999999999999999999\n", 7, &f);
	assert_int_equal(f.bits, 0);
	assert_non_null(blanks);
	memset(blanks, ' ', FM_ADOPT_LINE + 1);
	fm_adopt_kat_start(&k);
	assert_int_equal(fm_adopt_kat_add(&k, blanks, FM_ADOPT_LINE + 1), FM_ERR_SIZE);
	assert_ok(fm_adopt_kat_end(&k, &f));
	free(blanks);
}

/* Looks at the package, decides, writes the proposal to <scratch>/out. */
static void adopt(const struct scratch *s, struct pack *p, struct fm_adopt *a)
{
	int package, out;

	pack_close(p);
	memset(a, 0, sizeof *a);
	snprintf(a->name, sizeof a->name, "P");
	snprintf(a->id, sizeof a->id, "p-archive");
	memset(a->sha256, 'a', 64);
	a->bytes = 1234;
	assert_true((package = open(p->path, O_RDONLY | O_CLOEXEC)) >= 0);
	assert_ok(fm_adopt_look(package, "p", a));
	close(package);
	assert_ok(fm_adopt_decide(a));
	assert_ok(fm_fs_mkdirs(s->fd, "out", 0755, &out));
	assert_ok(fm_adopt_write(a, out));
	close(out);
}

static void noted(const struct fm_adopt *a, const char *words)
{
	if (a->notes.data == NULL || strstr(a->notes.data, words) == NULL)
		fail_msg("no '%s' in: %s", words, a->notes.data == NULL ? "" : a->notes.data);
}

static void a_whole_package(void **state)
{
	struct fm_candidate c = {.count = 0};
	struct fm_adopt a;
	struct scratch s;
	struct pack p;
	char path[160];

	(void)state;
	scratch_open(&s);
	pack_open(&p, &s, "p.zip", "zip", NULL);
	pack_file(&p, "A b/Ref/I-8/CryptHash_AlgorithmInstance.h", API("I-8", "8"));
	pack_file(&p, "A b/Ref/I-8/h.c", "#include \"../../lib/low/z.h\"\n#include \"gone.h\"\n");
	pack_file(&p, "A b/Ref/I-8/KAT_CryptHash.c", "#include <direct.h>\n");
	pack_file(&p, "A b/Ref/I-16/CryptHash_AlgorithmInstance.h", API("I-16", "16"));
	pack_file(&p, "A b/Ref/I-16/h.c", "#include \"CryptHash_AlgorithmInstance.h\"\n");
	pack_file(&p, "A b/Optimized/I-8/CryptHash_AlgorithmInstance.h", API("I-8", "8"));
	pack_file(&p, "A b/Optimized/I-8/h.c", "\n");
	pack_file(&p, "A b/lib/low/z.h", "#include \"e.h\"\n");
	pack_file(&p, "A b/lib/low/z.c", "#include \"z.h\"\n");
	pack_file(&p, "A b/lib/common/e.h", "\n");
	pack_file(&p, "A b/KAT/KAT_2_12_I-8.txt", KAT_TEXT);
	pack_file(&p, "A b/KAT again/KAT_2_12_I-8.txt", KAT_CRLF);
	pack_file(&p, "A b/KAT/KAT_2_23_I-8.txt", KAT_TEXT);
	pack_file(&p, "A b/KAT again/KAT_2_23_I-8.txt", KAT_TEXT "Dst = CD\n");
	pack_file(&p, "A b/KAT/KAT_Loop_I-16.txt", KAT_TEXT);
	pack_file(&p, "A b/KAT/KAT_Loop_Other.txt", KAT_TEXT);
	pack_file(&p, "A b/KAT/KAT_2_33_I-8.txt", "");
	pack_file(&p, "A b/LICENSE.txt", "all rights reserved\n");
	pack_file(&p, "A b/Makefile", "all:\n");
	pack_file(&p, "A b/kat_gen", "\177ELF....");
	pack_file(&p, "A b/inner.rar", "Rar!");
	adopt(&s, &p, &a);
	assert_int_equal(a.instances, 2);
	assert_string_equal(a.instance[0].name, "I-16");
	scratch_is(&s, "out/kat/p-archive/kat.sha256",
	        KAT_SHA256 " strict I-16/KAT_Loop_I-16.txt\n" KAT_SHA256
	                   " strict I-8/KAT_2_12_I-8.txt\n");
	noted(&a, "I-8 is in the package more than once: A+20b/Ref/I-8/");
	noted(&a, "includes \"gone.h\", which is not in the package");
	noted(&a, "KAT_2_23_I-8.txt and another KAT_2_23_I-8.txt differ");
	noted(&a, "KAT_Loop_Other.txt: no instance is called Other");
	noted(&a, "KAT_2_33_I-8.txt is empty");
	noted(&a, "I-16: its header says 16 digest bits, A+20b/KAT/KAT_Loop_I-16.txt says 8");
	assert_null(strstr(a.notes.data, "direct.h"));
	assert_int_equal(fm_adopt_find(&a, "A+20b/kat_gen")->kind, FM_ADOPT_BINARY);
	assert_int_equal(fm_adopt_find(&a, "A+20b/Makefile")->kind, FM_ADOPT_SCRIPT);
	assert_int_equal(fm_adopt_find(&a, "A+20b/inner.rar")->kind, FM_ADOPT_NESTED);
	assert_int_equal(fm_adopt_find(&a, "A+20b/LICENSE.txt")->kind, FM_ADOPT_LICENCE);
	/* the proposal is a recipe as it stands */
	snprintf(path, sizeof path, "%s/out/algos/p-archive/candidate.ini", s.path);
	assert_ok(fm_recipe_ini(path, "p-archive", &c));
	assert_string_equal(c.archive_root, "A+20b");
	assert_int_equal(c.count, 2);
	assert_int_equal(c.instances[1].version[0].sources.count, 2);
	assert_string_equal(c.instances[1].version[0].sources.word[0], "Ref/I-8/h.c");
	assert_string_equal(c.instances[1].version[0].sources.word[1], "lib/low/z.c");
	assert_string_equal(c.instances[1].include.word[0], "lib/common");
	fm_candidate_free(&c);
	fm_adopt_free(&a);
	scratch_close(&s);
}

static void what_it_cannot_decide(void **state)
{
	struct fm_adopt a;
	struct scratch s;
	struct pack p;

	(void)state;
	scratch_open(&s);
	pack_open(&p, &s, "p.zip", "zip", NULL);
	pack_file(&p, "Garnet/CryptHash_Garnet.h", "int CryptHash();\n");
	pack_file(&p, "-x/CryptHash_X.h", "#define ALGORITHM_INSTANCE \"../../x\"\n");
	adopt(&s, &p, &a);
	assert_int_equal(a.instances, 1);
	noted(&a, "_+2Dx/CryptHash_X.h: has no ALGORITHM_INSTANCE that can be a name; left out");
	noted(&a, "Garnet: neither header nor KAT file tells the digest bits");
	noted(&a, "Garnet: no sources beside Garnet/CryptHash_Garnet.h");
	noted(&a, "no known answers");
	fm_adopt_free(&a);
	scratch_close(&s);
	scratch_open(&s);
	pack_open(&p, &s, "p.zip", "zip", NULL);
	pack_file(&p, "kem/kem.h", "int kem_keygen();\n");
	adopt(&s, &p, &a);
	assert_int_equal(a.instances, 0);
	noted(&a, "no hash of the ICCS interface was found");
	scratch_missing(&s, "out/algos");
	assert_int_equal(faccessat(s.fd, "out/README.txt", F_OK, 0), 0);
	fm_adopt_free(&a);
	scratch_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(macros_and_includes),
	        cmocka_unit_test(known_answers),
	        cmocka_unit_test(a_whole_package),
	        cmocka_unit_test(what_it_cannot_decide),
	};

	if (fm_crypto_init() != FM_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
