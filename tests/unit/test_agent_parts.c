/* test_agent_parts.c: the agent's readers and judges one by one: plan text, dispatch, ELF, worker
 * results, orders, verdicts. */
#include "agent/elf.h"
#include "agent/facts.h"
#include "agent/gate_judge.h"
#include "agent/jobplan.h"
#include "agent/judge.h"
#include "agent/order.h"
#include "protocol/world.h"
#include "tests/unit/scratch.h"

#include <sys/wait.h>

#define HEX  "01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b"
#define HEX2 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define KEY  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"

static const char plan[] =
        "fleetmark-plan 1\ncampaign demo\nsystem arm_1\narch aarch64\nkey " KEY "\nnonce " HEX
        "\nprofile smoke\nkat standard\ncpu -1\nagent_source " HEX2
        "\nadditions -fPIC -D_GNU_SOURCE\nfallback -O2 -fPIC\ncandidate hash-31\nsource " HEX
        "\ntree " HEX2
        "\nvectors_file vectors/hash-31.txt\ninstance Z-512\ndigest_bits 512\ndigest "
        "fixed\nheader H.h\nkat_name Z-512\ninclude lib/common\ndefine W=1280\nlib "
        "gmp\nkat_line " HEX
        " strict KAT_2_12_Z-512.txt\nversion reference\nflags -O2\nsource_file a.c\nsource_file "
        "b.c\noperation hash_32\noperation hash_65536\nversion resource\nflags -Os\nflags_mark by "
        "analogy\nsource_file a.c\noperation hash_32\nend\n";

static void a_plan_is_read(void **state)
{
	const struct fm_jp_instance *in;
	struct fm_jobplan p;

	(void)state;
	assert_ok(fm_jobplan_parse(plan, strlen(plan), &p));
	assert_string_equal(p.campaign, "demo");
	assert_int_equal(p.cpu, -1);
	assert_int_equal(p.candidate_count, 1);
	in = &p.candidates[0].instances[0];
	assert_int_equal(in->digest_bits, 512);
	assert_string_equal(in->define.at[0], "W=1280");
	assert_int_equal(in->version_count, 2);
	assert_int_equal(in->versions[0].sources.count, 2);
	assert_string_equal(in->versions[0].mark, "");
	assert_string_equal(in->versions[1].mark, "by analogy");
	assert_non_null(fm_jobplan_candidate(&p, "hash-31"));
	assert_null(fm_jobplan_candidate(&p, "hash-32"));
	fm_jobplan_free(&p);
}

/* Replaces the first `old` in the plan by `now`; the reader must name what is wrong. */
static void bad_plan(const char *old, const char *now, int code)
{
	char *at = strstr(plan, old);
	struct fm_jobplan p;
	char *text;
	int rc;

	assert_non_null(at);
	text = fm_sprintf("%.*s%s%s", (int)(at - plan), plan, now, at + strlen(old));
	assert_non_null(text);
	rc = fm_jobplan_parse(text, strlen(text), &p);
	if (rc != code)
		fail_msg("'%s' -> '%s': %d, wanted %d", old, now, rc, code);
	assert_true(strlen(fm_error_text()) > 10);
	free(text);
}

static void bad_plans_are_refused(void **state)
{
	struct fm_jobplan p;

	(void)state;
	bad_plan("arch aarch64", "arch sparc", FM_ERR_FORM);
	bad_plan("profile smoke", "profile quick", FM_ERR_FORM);
	bad_plan("cpu -1", "cpu 5000", FM_ERR_FORM);
	bad_plan("cpu -1", "cpu -1\ncounter tsc", FM_ERR_FORM);
	bad_plan("cpu -1", "counter raw\ncpu -1", FM_ERR_FORM);
	bad_plan("digest fixed", "digest none", FM_ERR_FORM);
	bad_plan("digest_bits 512", "digest_bits 4", FM_ERR_FORM);
	bad_plan("include lib/common", "include ../common", FM_ERR_FORM);
	bad_plan("define W=1280", "define -W=1280", FM_ERR_FORM);
	bad_plan("lib gmp", "lib -Wl,x", FM_ERR_FORM);
	bad_plan("lib gmp", "lib g mp", FM_ERR_FORM);
	bad_plan("source_file a.c", "source_file /etc/passwd", FM_ERR_FORM);
	bad_plan("source_file a.c", "source_file -include", FM_ERR_FORM);
	bad_plan("version reference", "version debug", FM_ERR_FORM);
	bad_plan("operation hash_32", "operation hash_0", FM_ERR_FORM);
	bad_plan("operation hash_65536", "operation sign", FM_ERR_FORM);
	bad_plan("vectors_file vectors/hash-31.txt", "vectors_file ../key", FM_ERR_FORM);
	bad_plan(" strict KAT", " KAT", FM_ERR_FORM);
	bad_plan("kat_name Z-512\n", "kat_name Z-512\ncolour blue\n", FM_ERR_FORM);
	bad_plan("flags -Os\n", "", FM_ERR_FORM);
	bad_plan("end\n", "", FM_ERR_FORM);
	bad_plan("key " KEY, "key ssh-rsa AAAA", FM_ERR_FORM);
	/* every cut is found */
	for (size_t len = 0; len < strlen(plan); len += 7)
		assert_int_not_equal(fm_jobplan_parse(plan, len, &p), FM_OK);
	assert_int_equal(fm_jobplan_bytes("hash_16777216"), 16777216);
	assert_int_equal(fm_jobplan_bytes("hash_16777217"), 0);
	assert_int_equal(fm_jobplan_bytes("hash_032"), 0);
}

static void a_dispatch_is_read(void **state)
{
	static const char *const bad[] = {"hash-31 0 " HEX, "hash-31 100 " HEX, "hash-31 1 xyz",
	        "hash-31 1", "../x 1 " HEX, "hash-31 01 " HEX, "hash-31 1 " HEX "0"};
	char text[600];
	struct fm_dispatch d;

	(void)state;
	snprintf(text, sizeof text,
	        "fleetmark-job 1\ncampaign demo\nsystem arm_1\nplan_sha256 " HEX
	        "\nlease_s 10\ndeadline_s 0\njob hash-31 2 " HEX "\njob iccs 1 " HEX2 "\nend\n");
	assert_ok(fm_dispatch_parse(text, strlen(text), &d));
	assert_int_equal(d.item_count, 2);
	assert_int_equal(d.items[0].attempt, 2);
	assert_string_equal(d.items[1].nonce, HEX2);
	fm_dispatch_free(&d);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text,
		        "fleetmark-job 1\ncampaign demo\nsystem arm_1\nplan_sha256 " HEX
		        "\nlease_s 10\ndeadline_s 0\njob %s\nend\n",
		        bad[i]);
		assert_fails(FM_ERR_FORM, "job", fm_dispatch_parse(text, strlen(text), &d));
	}
	snprintf(text, sizeof text,
	        "fleetmark-job 1\ncampaign demo\nsystem arm_1\nplan_sha256 " HEX
	        "\nlease_s 10\ndeadline_s 0\njob a 1 " HEX "\njob b 1 " HEX "\nend\n");
	assert_fails(FM_ERR_FORM, "once", fm_dispatch_parse(text, strlen(text), &d));
}

/* A real file is read; cut or flipped anywhere it is read or refused, never read beyond its end. */
static void elf_files_may_lie(void **state)
{
	struct fm_buf file;
	struct fm_elf e;
	const char *at;
	size_t size;
	unsigned seed = 1;

	(void)state;
	assert_ok(fm_fs_read(AT_FDCWD, FM_TEST_BUILD "/fleetmark-frame.so", 64u << 20, &file));
	assert_ok(fm_elf_read(file.data, file.len, &e));
	assert_int_equal(e.machine, FM_ELF_MACHINE);
	assert_int_equal(e.type, 3);
	assert_true(e.text > 0 && e.load_memsz > e.text);
	assert_ok(fm_elf_section(file.data, file.len, ".dynstr", &at, &size));
	assert_true(size > 0 && at >= file.data && at + size <= file.data + file.len);
	assert_ok(fm_elf_section(file.data, file.len, ".nothing", &at, &size));
	assert_int_equal(size, 0);
	for (size_t cut = 0; cut < file.len; cut += 61) {
		char *copy = malloc(cut + 1);

		assert_non_null(copy);
		memcpy(copy, file.data, cut);
		if (fm_elf_read(copy, cut, &e) == FM_OK)
			assert_true(cut > 64);
		(void)!fm_elf_section(copy, cut, ".dynstr", &at, &size);
		free(copy);
	}
	for (int round = 0; round < 3000; round++) {
		char kept[4];
		size_t where = (seed = seed * 1103515245 + 12345) % (round % 2 ? 64 : file.len - 4);

		memcpy(kept, file.data + where, 4);
		memset(file.data + where, (int)(seed >> 16), 4);
		(void)!fm_elf_read(file.data, file.len, &e);
		(void)!fm_elf_section(file.data, file.len, ".dynstr", &at, &size);
		memcpy(file.data + where, kept, 4);
	}
	fm_buf_free(&file);
	assert_fails(FM_ERR_FORM, "no ELF", fm_elf_read("#!/bin/sh\n", 10, &e));
}

static void orders_repeat(void **state)
{
	struct fm_order o = {{1, 2, 3, 4}}, twin;
	size_t a[100], b[100], seen[100] = {0}, first[4] = {0};

	(void)state;
	/* the generator's published first numbers for this state */
	assert_int_equal(fm_order_next(&o), 11520);
	assert_int_equal(fm_order_next(&o), 0);
	assert_int_equal(fm_order_next(&o), 1509978240);
	assert_int_equal(fm_order_next(&o), 1215971899390074240);
	fm_order_seed(&o, 0x0123456789abcdef);
	twin = o;
	fm_order_permute(&o, a, 100);
	fm_order_permute(&twin, b, 100);
	assert_memory_equal(a, b, sizeof a);
	for (size_t i = 0; i < 100; i++)
		seen[a[i]]++;
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(seen[i], 1);
	/* no place is favoured: 4000 permutations of 4, each value first about 1000 times */
	for (int i = 0; i < 4000; i++) {
		fm_order_permute(&o, a, 4);
		first[a[0]]++;
	}
	for (int i = 0; i < 4; i++)
		assert_in_range(first[i], 850, 1150);
}

/* A worker that ended with this exit status (or signal) and wrote this. */
static void ended(struct fm_child *c, const char *text, int status)
{
	memset(c, 0, sizeof *c);
	c->out_fd = c->result_fd = -1;
	c->results = FM_BUF_INIT(1u << 20);
	c->elapsed_ns = 1000000000;
	c->status = status;
	if (text[0] != '\0')
		assert_ok(fm_buf_puts(&c->results, text));
}

static void results_are_read_strictly(void **state)
{
	static const char *const bad[] = {"fact a 1\nwindow 0 1 1 0\nend ok\n",
	        "window 1 2 3\nend ok\n", "window 1 2 3 128\nend ok\n", "window 1 -2 3 0\nend ok\n",
	        "colour blue\nend ok\n", "fact a 1\nend ok", "end ok\nfact late 1\n", "end maybe\n",
	        "fact a \x01\nend ok\n"};
	struct fm_child c;
	struct fm_run r;

	(void)state;
	ended(&c,
	        "fact cpu 3\nfact note unsettled\nwindow 10 2000 300 5\nwindow 1 2 - 0\nlog a = "
	        "b\nstatus PASS\nend ok\n",
	        0);
	assert_ok(fm_run_read(&c, &r));
	assert_true(fm_run_good(&c, &r));
	assert_int_equal(fm_run_int(&r, "cpu", -1), 3);
	assert_int_equal(fm_run_int(&r, "nothing", -7), -7);
	assert_int_equal(r.window_count, 2);
	assert_true(r.windows[0].counted && !r.windows[1].counted);
	assert_int_equal(r.windows[0].count, 300);
	assert_string_equal(r.logs[0], "a = b");
	assert_string_equal(r.status, "PASS");
	c.status = 1 << 8; /* end ok with a bad exit status is not good */
	assert_false(fm_run_good(&c, &r));
	fm_run_free(&r);
	fm_child_free(&c);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		ended(&c, bad[i], 0);
		assert_ok(fm_run_read(&c, &r));
		if (fm_run_good(&c, &r))
			fail_msg("accepted: %s", bad[i]);
		fm_run_free(&r);
		fm_child_free(&c);
	}
}

static void gate(
        const char *text, int status, enum fm_child_killed killed, const char *wanted, bool missing)
{
	struct fm_child c;
	struct fm_unit u;
	struct fm_run r;

	memset(&u, 0, sizeof u);
	ended(&c, text, status);
	c.killed = killed;
	assert_ok(fm_run_read(&c, &r));
	fm_gate_judge(&u, &c, &r);
	assert_string_equal(u.kat_status, wanted);
	assert_int_equal(u.kat_missing, missing);
	fm_run_free(&r);
	fm_child_free(&c);
}

static void the_gate_believes_the_end(void **state)
{
	(void)state;
	gate("status PASS\nend ok\n", 0, FM_CHILD_ALIVE, "PASS", false);
	gate("status NOKAT\nend ok\n", 0, FM_CHILD_ALIVE, "NOKAT", false);
	gate("fact kat_reason KAT_2_12 record 3\nstatus MISMATCH\nend ok\n", 0, FM_CHILD_ALIVE,
	        "MISMATCH", false);
	gate("status PASS\nend ok\n", 11, FM_CHILD_ALIVE, "CRASH", false); /* a signal decides */
	gate("status PASS\nend ok\n", 3 << 8, FM_CHILD_ALIVE, "CRASH",
	        false);                                           /* an odd exit status */
	gate("status PASS\n", 0, FM_CHILD_ALIVE, "CRASH", false); /* no end */
	gate("", 0, FM_CHILD_ALIVE, "CRASH", false);              /* exits early */
	gate("RESULT x y PASS \nend ok\n", 0, FM_CHILD_ALIVE, "CRASH", false); /* not the form */
	gate("status PASS\nend ok\n", 9, FM_CHILD_TIMEOUT, "TIMEOUT", false);
	gate("status OVERFLOW\nend fail signal\n", 1 << 8, FM_CHILD_ALIVE, "OVERFLOW", false);
	gate("status TIMEOUT\nend fail time_limit\n", 1 << 8, FM_CHILD_ALIVE, "TIMEOUT", false);
	gate("status PASS\nend fail signal\n", 1 << 8, FM_CHILD_ALIVE, "CRASH", false);
	gate("fact reason no symbol\nend fail library\n", 1 << 8, FM_CHILD_ALIVE, "LOADFAIL",
	        false);
	gate("end fail memory\n", 1 << 8, FM_CHILD_ALIVE, "LOADFAIL", true); /* the host's fault */
}

static void trial(const char *text, int status, bool may_retry, int want, int why)
{
	struct fm_judge_facts facts = {1, may_retry ? 3 : 1, -1, 0, false, 0};
	struct fm_process p;
	struct fm_child c;
	struct fm_run r;

	memset(&p, 0, sizeof p);
	ended(&c, text, status);
	assert_ok(fm_run_read(&c, &r));
	fm_judge(&c, &r, &facts, &p);
	if (p.col[FM_COL_state] != want || p.col[FM_COL_reason] != why)
		fail_msg("'%s': state %d reason %d, wanted %d %d", text, (int)p.col[FM_COL_state],
		        (int)p.col[FM_COL_reason], want, why);
	fm_run_free(&r);
	fm_child_free(&c);
}

static void trials_are_judged_by_outside_evidence(void **state)
{
#define GOOD     "fact elapsed_ns 1000\nwindow 10 500 300 0\nend ok\n"
#define SWITCHED "fact elapsed_ns 1000\nfact nivcsw 1\nwindow 10 500 300 2\nend ok\n"
#define DELAYED  "fact elapsed_ns 1000\nwindow 10 250 150 0\nwindow 10 250 150 4\nend ok\n"
#define BETWEEN  "fact elapsed_ns 1000\nfact nivcsw 1\nwindow 10 500 300 0\nend ok\n"
	(void)state;
	trial(GOOD, 0, true, FM_ACCEPTED, FM_WHY_NONE);
	trial(SWITCHED, 0, true, FM_REPLACED, FM_WHY_PREEMPTED);
	trial(SWITCHED, 0, false, FM_ACCEPTED, FM_WHY_PREEMPTED); /* accepted with its mark */
	trial(DELAYED, 0, true, FM_REPLACED, FM_WHY_PREEMPTED);
	trial(BETWEEN, 0, true, FM_ACCEPTED, FM_WHY_NONE); /* in no window */
	trial(GOOD, 11, true, FM_INVALID, FM_WHY_SIGNAL);
	trial("fact elapsed_ns 1000\nwindow 10 500 300 0\n", 0, true, FM_INVALID, FM_WHY_NO_END);
	trial("fact elapsed_ns 1000\nend ok\n", 0, true, FM_INVALID, FM_WHY_NO_END); /* no window */
	trial("fact elapsed_ns 1000\nwindow 10 500 300 1\nend ok\n", 0, true, FM_INVALID,
	        FM_WHY_CPU_CHANGED);
	trial("fact elapsed_ns 1000\nwindow 10 500 300 64\nend ok\n", 0, true, FM_INVALID,
	        FM_WHY_COUNTER_STOPPED);
	trial("fact elapsed_ns 1000\nwindow 10 500 0 0\nend ok\n", 0, true, FM_INVALID,
	        FM_WHY_COUNTER_STOPPED);
	/* more time in the windows than the process lived, more than we saw it live */
	trial("fact elapsed_ns 400\nwindow 10 500 300 0\nend ok\n", 0, true, FM_INVALID,
	        FM_WHY_IMPOSSIBLE);
	trial("fact elapsed_ns 2000000000\nwindow 10 500 300 0\nend ok\n", 0, true, FM_INVALID,
	        FM_WHY_IMPOSSIBLE);
	trial("end fail gate_mismatch\n", 1 << 8, true, FM_INVALID, FM_WHY_GATE_MISMATCH);
	trial("end fail canary\n", 1 << 8, true, FM_INVALID, FM_WHY_CANARY);
}

/* low, of a core that was seen to do best at once: on which attempt of three, and what becomes of
 * it. */
static void shared(int64_t low, int64_t best, unsigned attempt, int want, int why)
{
	struct fm_judge_facts facts = {attempt, 3, -1, 0, false, best};
	struct fm_process p;
	struct fm_child c;
	struct fm_run r;

	memset(&p, 0, sizeof p);
	p.col[FM_COL_width_low_milli] = low;
	ended(&c, GOOD, 0);
	assert_ok(fm_run_read(&c, &r));
	fm_judge(&c, &r, &facts, &p);
	assert_int_equal(p.col[FM_COL_state], want);
	assert_int_equal(p.col[FM_COL_reason], why);
	fm_run_free(&r);
	fm_child_free(&c);
}

static void a_shared_core_is_tried_again(void **state)
{
	(void)state;
	shared(3940, 3950, 1, FM_ACCEPTED, FM_WHY_NONE);
	shared(3560, 3950, 1, FM_ACCEPTED, FM_WHY_NONE); /* less than a tenth */
	shared(3550, 3950, 1, FM_REPLACED, FM_WHY_SHARED_CORE);
	shared(2500, 3950, 2, FM_REPLACED, FM_WHY_SHARED_CORE);
	shared(2500, 3950, 3, FM_ACCEPTED, FM_WHY_SHARED_CORE); /* kept with its mark */
	shared(0, 3950, 1, FM_REPLACED, FM_WHY_SHARED_CORE);
	/* nothing is known of this process, of the core, or the core does one thing at a time */
	shared(-1, 3950, 1, FM_ACCEPTED, FM_WHY_NONE);
	shared(2500, 0, 1, FM_ACCEPTED, FM_WHY_NONE);
	shared(2500, -1, 1, FM_ACCEPTED, FM_WHY_NONE);
	shared(700, 1400, 1, FM_ACCEPTED, FM_WHY_NONE);
}

/* What the machine with these files is taken for. */
static void emulator(const struct scratch *s, const char *is)
{
	char out[32], *text = fm_sprintf("fleetmark-world 1\nsysroot %s\nend\n", s->path);

	assert_non_null(text);
	assert_ok(fm_world_set(text));
	fm_facts_machine_emulator(out);
	assert_string_equal(out, is);
	assert_ok(fm_world_set(NULL));
	free(text);
}

static void emulated_machines_are_told(void **state)
{
	struct scratch s;

	(void)state;
	scratch_open(&s);
	emulator(&s, "none");
	scratch_put(&s, "proc/device-tree/compatible", "linux,dummy-virt");
	scratch_put(&s, "proc/device-tree/cpus/cpu@0/compatible", "arm,cortex-a72");
	emulator(&s, "qemu-tcg");
	scratch_put(&s, "proc/device-tree/cpus/cpu@0/compatible", "arm,arm-v8");
	emulator(&s, "none"); /* the host's own cores, by KVM */
	scratch_put(&s, "proc/device-tree/compatible", "raspberrypi,4-model-b");
	scratch_put(&s, "proc/device-tree/cpus/cpu@0/compatible", "arm,cortex-a72");
	emulator(&s, "none");
	scratch_put(&s, "sys/class/dmi/id/product_name", "KVM Virtual Machine\n");
	emulator(&s, "none");
	scratch_put(&s, "sys/class/dmi/id/product_name", "QEMU Virtual Machine\n");
	emulator(&s, "qemu-tcg");
	scratch_put(&s, "sys/class/dmi/id/product_name", "ProLiant\n");
	scratch_put(&s, "sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
	        "0x00000000000f0510\n");
	emulator(&s, "qemu-tcg");
	scratch_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_plan_is_read),
	        cmocka_unit_test(bad_plans_are_refused),
	        cmocka_unit_test(a_dispatch_is_read),
	        cmocka_unit_test(elf_files_may_lie),
	        cmocka_unit_test(orders_repeat),
	        cmocka_unit_test(results_are_read_strictly),
	        cmocka_unit_test(the_gate_believes_the_end),
	        cmocka_unit_test(trials_are_judged_by_outside_evidence),
	        cmocka_unit_test(a_shared_core_is_tried_again),
	        cmocka_unit_test(emulated_machines_are_told),
	};

	if (fm_crypto_init() != FM_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
