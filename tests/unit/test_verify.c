/* test_verify.c: whole trees under fm_tree_verify: good ones of several kinds, and findings the
 * attack script cannot reach. */
#include "orchestrator/tree.h"
#include "orchestrator/trust.h"
#include "protocol/seal.h"
#include "tests/attack/world.h"
#include "tests/unit/scratch.h"
#include <sys/socket.h>
#include <sys/un.h>

static struct scratch home;
static struct fm_public anchor;
static struct fm_identity *controller;

struct findings {
	size_t count;
	int code;
	char where[500], text[1100];
};

static void note(void *arg, int code, const char *where, const char *text)
{
	struct findings *f = arg;

	if (f->count++ > 0)
		return;
	f->code = code;
	(void)snprintf(f->where, sizeof f->where, "%s", where);
	(void)snprintf(f->text, sizeof f->text, "%s", text);
}

static int setup(void **state)
{
	(void)state;
	scratch_open(&home);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fm_identity_free(controller);
	controller = NULL;
	scratch_close(&home);
	return 0;
}

static struct world *make(unsigned systems, unsigned candidates, const char *profile)
{
	const struct world_size size = {systems, candidates, 1, 1, profile};
	struct world *w;

	assert_ok(world_open(home.path, &size, &w));
	assert_ok(fm_identity_load(home.fd, "home/key", &controller));
	anchor = *fm_identity_public(controller);
	return w;
}

static void seal(struct world *w)
{
	char sha256[65];

	assert_ok(world_seal(w, false, sha256));
}

static void is_good(struct world *w, struct fm_verify_counts *c)
{
	struct findings f = {0};
	int rc = fm_tree_verify(world_tree(w), &anchor, -1, note, &f, c);

	if (rc != FM_OK || f.count > 0)
		fail_msg("%s: %s", f.where, f.text);
}

static void is_bad(struct world *w, int newer, int code, const char *words)
{
	struct findings f = {0};
	int rc = fm_tree_verify(world_tree(w), &anchor, newer, note, &f, NULL);

	if (rc != code || f.code != code || strstr(f.text, words) == NULL)
		fail_msg("%d, %d %s: %s", rc, f.code, f.where, f.text);
}

/* Seals the tree again as it lies there. */
static void seal_again(struct world *w)
{
	assert_ok(fm_seal(world_tree(w), FM_SEAL_TREE, controller, NULL));
}

static void every_outcome(void **state)
{
	struct fm_verify_counts c;
	struct world *w = make(3, 3, "guide");

	(void)state;
	assert_ok(world_answer(w, 0, 0, WORLD_GOOD));
	assert_ok(world_answer(w, 0, 1, WORLD_BUILD_FAILED));
	assert_ok(world_answer(w, 0, 2, WORLD_GOOD)); /* no known answers */
	assert_ok(world_answer(w, 1, 0, WORLD_KAT_FAILED));
	assert_ok(world_fail(w, 1, 1));
	assert_ok(world_leave(w, 1, 2));
	assert_ok(world_answer(w, 1, 2, WORLD_CELL_MISSING));
	assert_ok(world_silent(w, 2));
	seal(w);
	is_good(w, &c);
	assert_int_equal(c.bundles, 5);
	assert_int_equal(c.cells_accepted, 2 + 1 + 2 + 1 + 1);
	assert_int_equal(c.cells_failed, 2);
	assert_int_equal(c.cells_missing, 2 + 1 + 6);
	assert_int_equal(c.cells_rejected, 0);
	assert_int_equal(c.publish, 1);
	assert_string_equal(c.campaign, "attack");
	assert_true(c.files > 60 && c.bytes > 1000);
	assert_int_equal(strlen(c.sha256), 64);
	/* the next tree of the chain is as good */
	assert_ok(world_answer(w, 2, 1, WORLD_GOOD));
	seal(w);
	is_good(w, &c);
	assert_int_equal(c.bundles, 6);
	world_close(w);
}

/* Nobody answered: a tree that says so is good. */
static void nothing(void **state)
{
	struct fm_verify_counts c;
	struct world *w = make(2, 1, "smoke");

	(void)state;
	assert_ok(world_silent(w, 0));
	seal(w);
	is_good(w, &c);
	assert_int_equal(c.bundles, 0);
	assert_int_equal(c.cells_missing, 4);
	world_close(w);
}

static void newer_trust(void **state)
{
	char line[FM_PUBLIC_LINE + 2];
	struct fm_public *key;
	struct fm_trust trust;
	struct world *w = make(2, 1, "smoke");
	int newer = -1, empty = -1;

	(void)state;
	assert_ok(world_answer(w, 1, 0, WORLD_GOOD));
	seal(w);
	assert_ok(fm_fs_dir(home.fd, "home/trust", &newer));
	assert_ok(fm_tree_verify(world_tree(w), &anchor, newer, NULL, NULL, NULL));
	assert_ok(fm_trust_read(newer, &anchor, &trust));
	key = &trust.keys[0].key; /* sorted: arm_1 */
	assert_string_equal(trust.keys[0].system, "arm_1");
	fm_public_line(key, line);
	line[FM_PUBLIC_LINE] = '\n';
	assert_ok(fm_fs_write(newer, "revoked_keys", line, FM_PUBLIC_LINE + 1, 0644));
	is_bad(w, newer, FM_ERR_DIGEST, "revoked_keys"); /* not sealed */
	assert_ok(fm_seal(newer, FM_SEAL_TRUST, controller, NULL));
	is_bad(w, newer, FM_ERR_REVOKED, "arm_1 is revoked");
	/* the key of a system without a bundle harms nobody */
	fm_public_line(&trust.keys[1].key, line);
	line[FM_PUBLIC_LINE] = '\n';
	assert_ok(fm_fs_write(newer, "revoked_keys", line, FM_PUBLIC_LINE + 1, 0644));
	assert_ok(fm_seal(newer, FM_SEAL_TRUST, controller, NULL));
	assert_ok(fm_tree_verify(world_tree(w), &anchor, newer, NULL, NULL, NULL));
	assert_ok(fm_fs_mkdirs(home.fd, "empty", 0755, &empty));
	is_bad(w, empty, FM_ERR_SIGNATURE, "not sealed");
	fm_trust_free(&trust);
	close(newer);
	close(empty);
	world_close(w);
}

static void odd_files(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct world *w = make(1, 1, "smoke");
	struct fm_verify_counts c;
	int fd;

	(void)state;
	assert_ok(world_answer(w, 0, 0, WORLD_GOOD));
	seal(w);
	(void)snprintf(address.sun_path, sizeof address.sun_path,
	        "/proc/self/fd/%d/bundles/x86_1/tiny-1/socket", world_tree(w));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	is_bad(w, -1, FM_ERR_FORM, "neither a plain file");
	close(fd);
	assert_ok(fm_fs_remove(world_tree(w), "bundles/x86_1/tiny-1/socket"));
	assert_int_equal(mkfifoat(world_tree(w), "MANIFEST.sha256.tsr", 0600), 0);
	is_bad(w, -1, FM_ERR_FORM, "neither a plain file");
	assert_ok(fm_fs_remove(world_tree(w), "MANIFEST.sha256.tsr"));
	/* outside the seal anything may lie */
	assert_int_equal(mkfifoat(world_tree(w), "incoming/fifo", 0600), 0);
	is_good(w, &c);
	/* an empty folder is nothing; the bundle's place taken by one is */
	assert_int_equal(mkdirat(world_tree(w), "bundles/x86_1/tiny-1/empty", 0755), 0);
	is_good(w, &c);
	assert_ok(fm_fs_remove(world_tree(w), "bundles/x86_1/tiny-1"));
	assert_int_equal(mkdirat(world_tree(w), "bundles/x86_1/tiny-1", 0755), 0);
	is_bad(w, -1, FM_ERR_FORM, "not there");
	seal_again(w);
	is_bad(w, -1, FM_ERR_SIGNATURE, "not sealed");
	world_close(w);
}

static void not_sealed(void **state)
{
	struct world *w = make(1, 1, "smoke");
	struct fm_public other = {{1}};
	struct findings f = {0};

	(void)state;
	is_bad(w, -1, FM_ERR_SIGNATURE, "not sealed");
	assert_ok(world_answer(w, 0, 0, WORLD_GOOD));
	seal(w);
	assert_int_equal(
	        fm_tree_verify(world_tree(w), &other, -1, note, &f, NULL), FM_ERR_SIGNATURE);
	assert_int_equal(f.count, 1);
	world_close(w);
}

/* Every changed file is told, not only the first. */
static void all_findings(void **state)
{
	struct world *w = make(1, 1, "smoke");
	struct findings f = {0};

	(void)state;
	assert_ok(world_answer(w, 0, 0, WORLD_GOOD));
	seal(w);
	assert_ok(fm_fs_write(world_tree(w), "bundles/x86_1/tiny-1/env/host.txt", "x\n", 2, 0644));
	assert_ok(fm_fs_remove(world_tree(w), "bundles/x86_1/tiny-1/build/commands.txt"));
	assert_ok(fm_fs_write(world_tree(w), "new.txt", "x\n", 2, 0644));
	assert_int_equal(fm_tree_verify(world_tree(w), &anchor, -1, note, &f, NULL), FM_ERR_FORM);
	assert_int_equal(f.count, 3);
	assert_string_equal(f.where, "bundles/x86_1/tiny-1/build/commands.txt");
	world_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(every_outcome, setup, teardown),
	        cmocka_unit_test_setup_teardown(nothing, setup, teardown),
	        cmocka_unit_test_setup_teardown(newer_trust, setup, teardown),
	        cmocka_unit_test_setup_teardown(odd_files, setup, teardown),
	        cmocka_unit_test_setup_teardown(not_sealed, setup, teardown),
	        cmocka_unit_test_setup_teardown(all_findings, setup, teardown)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
