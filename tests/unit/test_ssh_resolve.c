/* test_ssh_resolve.c: what `ssh -G` says, what the inventory says, and who wins. */
#include "orchestrator/ssh_resolve.h"
#include "orchestrator/transport.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* cmocka wants the four above first */
#include <cmocka.h>

static char folder[] = "/tmp/fm-resolve-XXXXXX";

/* A file of the test's folder; returns its path (static). */
static const char *file(const char *name, const char *text, mode_t mode)
{
	static char path[4][128];
	static int next;
	char *p = path[next++ % 4];

	snprintf(p, 128, "%s/%s", folder, name);
	assert_int_equal(fm_fs_write(AT_FDCWD, p, text, strlen(text), mode), FM_OK);
	return p;
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	setenv("HOME", folder, 1);
	setenv("SSH_AUTH_SOCK", "/run/the-agent", 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return fm_fs_remove(AT_FDCWD, folder);
}

static void test_text(void **state)
{
	struct fm_system s = {.name = "x86_1", .address = (char[]){"alias"}};
	struct fm_ssh_target t;

	(void)state;
	file("id_a", "key\n", 0600);
	assert_int_equal(
	        fm_ssh_target_parse(&s,
	                "host alias\nuser bench\nhostname 192.0.2.7\nport 2200\n"
	                "addressfamily inet6\nidentityfile ~/id_a\nidentityfile ~/nothere\n"
	                "identityfile %d/id_a\nidentityagent SSH_AUTH_SOCK\n"
	                "hostkeyalias real\nuserknownhostsfile ~/.ssh/known_hosts /etc/k2\n"
	                "proxycommand nc -X 5 %h %p %%\nproxyjump none\nnovalue\n",
	                &t),
	        FM_OK);
	assert_true(t.asked);
	assert_string_equal(t.hostname, "192.0.2.7");
	assert_string_equal(t.user, "bench");
	assert_int_equal(t.port, 2200);
	assert_int_equal(t.family, AF_INET6);
	assert_int_equal(t.identity_count, 1); /* one is not there, one is named twice */
	assert_non_null(strstr(t.identity[0], "/id_a"));
	assert_string_equal(t.agent, "/run/the-agent");
	assert_string_equal(t.host_key_alias, "real");
	assert_int_equal(t.known_hosts_count, 2);
	assert_string_equal(t.known_hosts[1], "/etc/k2");
	assert_string_equal(t.proxy_command, "nc -X 5 192.0.2.7 2200 %");
	assert_null(t.jump);
	fm_ssh_target_free(&t);
}

/* The inventory's keys win, its identity stands first, its jump replaces a proxy command. */
static void test_inventory_wins(void **state)
{
	struct fm_system s = {.name = "x86_1",
	        .address = (char[]){"alias"},
	        .port = 22022,
	        .user = (char[]){"other"},
	        .jump = (char[]){"gate"}};
	struct fm_ssh_target t;

	(void)state;
	file("id_a", "key\n", 0600);
	s.identity = (char *)(uintptr_t)file("id_b", "key\n", 0600);
	assert_int_equal(fm_ssh_target_parse(&s,
	                         "user bench\nhostname h.example\nport 2200\nidentityfile ~/id_a\n"
	                         "identityagent none\nproxycommand nc %h %p\n",
	                         &t),
	        FM_OK);
	assert_string_equal(t.user, "other");
	assert_int_equal(t.port, 22022);
	assert_int_equal(t.identity_count, 2);
	assert_string_equal(t.identity[0], s.identity);
	assert_null(t.agent);
	assert_string_equal(t.jump, "gate");
	assert_null(t.proxy_command);
	fm_ssh_target_free(&t);
}

static void test_bad(void **state)
{
	struct fm_system s = {.name = "x86_1", .address = (char[]){"alias"}};
	struct fm_ssh_target t;

	(void)state;
	assert_int_equal(fm_ssh_target_parse(&s, "hostname -oProxyCommand=x\n", &t), FM_ERR_CONFIG);
	assert_int_equal(fm_ssh_target_parse(&s, "port 0\n", &t), FM_ERR_CONFIG);
	assert_int_equal(fm_ssh_target_parse(&s, "port 22x\n", &t), FM_ERR_CONFIG);
	assert_int_equal(fm_ssh_target_parse(&s, "proxycommand x %C\n", &t), FM_ERR_CONFIG);
	s.identity = (char[]){"~/nothere"};
	assert_int_equal(fm_ssh_target_parse(&s, "", &t), FM_ERR_CONFIG);
	assert_non_null(strstr(fm_error_text(), "cannot be read"));
}

/* Puts this script in front as `ssh`. */
static void use_ssh(const char *script)
{
	char path[300];

	file("ssh", script, 0755);
	snprintf(path, sizeof path, "%s:/usr/bin:/bin", folder);
	setenv("PATH", path, 1);
}

static void test_child(void **state)
{
	struct fm_system s = {.name = "x86_1", .address = (char[]){"alias"}, .port = 7};
	struct fm_ssh_target t;
	uint64_t start;

	(void)state;
	use_ssh("#!/bin/sh\n[ \"$*\" = '-G -p 7 alias' ] && echo 'hostname good.example'\n");
	assert_int_equal(fm_ssh_resolve(&s, &t, -1, fm_now_ns() + 10 * FM_S), FM_OK);
	assert_string_equal(t.hostname, "good.example");
	fm_ssh_target_free(&t);

	use_ssh("#!/bin/sh\necho 'line 3: Bad configuration option: x' >&2\nexit 255\n");
	assert_int_equal(fm_ssh_resolve(&s, &t, -1, fm_now_ns() + 10 * FM_S), FM_ERR_CONFIG);
	assert_non_null(strstr(fm_error_text(), "Bad configuration option"));

	use_ssh("#!/bin/sh\nyes hostname\n");
	assert_int_equal(fm_ssh_resolve(&s, &t, -1, fm_now_ns() + 10 * FM_S), FM_ERR_CONFIG);
	assert_non_null(strstr(fm_error_text(), "more than"));

	use_ssh("#!/bin/sh\nsleep 60\n"); /* Match exec that hangs */
	start = fm_now_ns();
	assert_int_equal(fm_ssh_resolve(&s, &t, -1, fm_now_ns() + FM_S), FM_ERR_TIMEOUT);
	assert_true(fm_now_ns() - start < 5 * FM_S);

	s.address = (char[]){"-x"};
	assert_int_equal(fm_ssh_resolve(&s, &t, -1, fm_now_ns() + FM_S), FM_ERR_CONFIG);

	setenv("PATH", "/nowhere", 1); /* no OpenSSH client: only the inventory counts */
	s.address = (char[]){"plain"};
	assert_int_equal(fm_ssh_resolve(&s, &t, -1, fm_now_ns() + 10 * FM_S), FM_OK);
	assert_false(t.asked);
	assert_string_equal(t.hostname, "plain");
	fm_ssh_target_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_text),
	        cmocka_unit_test(test_inventory_wins),
	        cmocka_unit_test(test_bad),
	        cmocka_unit_test(test_child),
	};

	if (fm_crypto_init() != FM_OK)
		return 1;
	return cmocka_run_group_tests(tests, setup, teardown);
}
