/* test_sshsig_openssh.c: stock ssh-keygen takes our signatures and we take those of ssh-keygen. */
#include "protocol/digest.h"
#include "protocol/sshsig.h"
#include "tests/unit/scratch.h"
#include <sys/wait.h>

#define NAMESPACE "enrol.v1@fleetmark"

static struct scratch s;

/* Runs ssh-keygen in the scratch folder with the file as its input; its exit status, 127 if there
 * is none. */
static int keygen(const char *input, char *const argv[])
{
	int status = -1;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		int in = -1, null = open("/dev/null", O_RDWR);

		if (fchdir(s.fd) == 0)
			in = open(input, O_RDONLY);
		if (in < 0 || dup2(in, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
			_exit(126);
		execvp("ssh-keygen", argv);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int keygen_verify(const char *namespace, const char *message)
{
	char *const argv[] = {"ssh-keygen", "-Y", "verify", "-f", "allowed_signers", "-I", "arm_1",
	        "-n", (char *)namespace, "-s", "sig", NULL};

	return keygen(message, argv);
}

static void have_keygen(void)
{
	char *const argv[] = {
	        "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", "stock", NULL};

	assert_ok(fm_fs_remove(s.fd, "stock"));
	assert_ok(fm_fs_remove(s.fd, "stock.pub"));
	if (keygen("message", argv) == 127)
		skip();
}

static void stock_takes_ours(void **state)
{
	struct fm_buf sig = FM_BUF_INIT(FM_SSHSIG_MAX);
	char line[FM_PUBLIC_LINE + 1], signers[300];
	struct fm_identity *id;

	(void)state;
	have_keygen();
	assert_ok(fm_identity_create(s.fd, "key"));
	assert_ok(fm_identity_load(s.fd, "key", &id));
	fm_public_line(fm_identity_public(id), line);
	snprintf(signers, sizeof signers, "arm_1 namespaces=\"" NAMESPACE "\" %s\n", line);
	scratch_put(&s, "allowed_signers", signers);
	assert_ok(fm_sshsig_sign(id, NAMESPACE, "fleetmark\n", 10, &sig));
	assert_ok(fm_fs_write(s.fd, "sig", sig.data, sig.len, 0644));
	assert_int_equal(keygen_verify(NAMESPACE, "message"), 0);
	assert_int_not_equal(keygen_verify(NAMESPACE, "other"), 0);
	assert_int_not_equal(keygen_verify("plan.v1@fleetmark", "message"), 0);
	fm_identity_free(id);
	fm_buf_free(&sig);
}

static void we_take_those_of_stock(void **state)
{
	char *const argv[] = {
	        "ssh-keygen", "-q", "-Y", "sign", "-f", "stock", "-n", NAMESPACE, "message", NULL};
	struct fm_buf line, sig;
	struct fm_public pub;

	(void)state;
	have_keygen();
	assert_int_equal(keygen("message", argv), 0);
	assert_ok(fm_fs_read(s.fd, "stock.pub", 200, &line));
	assert_true(line.len > FM_PUBLIC_LINE);
	line.data[FM_PUBLIC_LINE] = '\0'; /* what is behind is the comment */
	assert_ok(fm_public_parse(line.data, &pub));
	assert_ok(fm_fs_read(s.fd, "message.sig", FM_SSHSIG_MAX, &sig));
	assert_ok(fm_sshsig_verify(&pub, NAMESPACE, "fleetmark\n", 10, sig.data, sig.len));
	assert_fails(FM_ERR_SIGNATURE, "does not hold",
	        fm_sshsig_verify(&pub, NAMESPACE, "fleetmark", 9, sig.data, sig.len));
	fm_buf_free(&line);
	fm_buf_free(&sig);
}

static int init(void **state)
{
	(void)state;
	assert_ok(fm_crypto_init());
	scratch_open(&s);
	scratch_put(&s, "message", "fleetmark\n");
	scratch_put(&s, "other", "fleetmarK\n");
	return 0;
}

static int done(void **state)
{
	(void)state;
	scratch_close(&s);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(stock_takes_ours),
	        cmocka_unit_test(we_take_those_of_stock),
	};

	return cmocka_run_group_tests(tests, init, done);
}
