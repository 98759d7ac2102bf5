/* test_inventory.c: every key of an inventory passes its allow-list; -l selects what it says. */
#include "orchestrator/inventory.h"
#include "tests/unit/scratch.h"

static int load(const char *text, struct fm_inventory *out)
{
	struct scratch s;
	char path[200];
	int rc;

	scratch_open(&s);
	scratch_put(&s, "fleet.ini", text);
	snprintf(path, sizeof path, "%s/fleet.ini", s.path);
	rc = fm_inventory_load(path, out);
	scratch_close(&s);
	return rc;
}

static void all_keys(void **state)
{
	struct fm_inventory inv;
	const struct fm_system *s;

	(void)state;
	assert_ok(load("[x86_1]\narch = x86_64\naddress = 2001:db8::1\nport = 2222\nuser = "
	               "bench_1\nidentity = ~/.ssh/id\n"
	               "jump = me@gate.example:22,[2001:db8::2]:2200\n"
	               "hostkey = SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\ncpu = "
	               "2\nworkdir = /srv/fleetmark\n"
	               "about = a core\n[arm_1]\narch = aarch64\n[here]\narch = x86_64\ntransport "
	               "= local\ncounter = raw\n",
	        &inv));
	assert_string_equal(inv.stem, "fleet");
	assert_int_equal(inv.count, 3);
	s = fm_inventory_find(&inv, "x86_1");
	assert_non_null(s);
	assert_string_equal(s->address, "2001:db8::1");
	assert_int_equal(s->port, 2222);
	assert_int_equal(s->cpu, 2);
	assert_string_equal(s->workdir, "/srv/fleetmark");
	s = fm_inventory_find(&inv, "arm_1");
	assert_string_equal(s->address, "arm_1");
	assert_string_equal(s->workdir, "~/.fleetmark");
	assert_null(s->user);
	assert_int_equal(s->cpu, -1);
	assert_true(s->selected);
	assert_int_equal(s->line, 12);
	assert_int_equal(fm_inventory_find(&inv, "here")->transport, FM_TRANSPORT_LOCAL);
	assert_true(fm_inventory_find(&inv, "here")->raw && !s->raw);
	assert_null(fm_inventory_find(&inv, "none"));
	fm_inventory_free(&inv);
}

static void bad_values_are_refused(void **state)
{
	static const char *const bad[] = {"arch = arm", "transport = telnet",
	        "address = -oProxyCommand=x", "address = a b", "address = a;b", "address = a..b",
	        "address =", "address = $(id)", "address = user@host", "port = 0", "port = 65536",
	        "port = 22x", "user = Root", "user = -l", "user = 1a", "user = a b", "user = a@b",
	        "identity = key", "identity = -i", "identity = ~/a b", "identity = ~/../x",
	        "jump = -J", "jump = a b", "jump = a,", "jump = ,a", "jump = a@b@c", "jump = a:0",
	        "jump = a:x", "jump = [::1", "jump = [a]:1", "hostkey = MD5:aa",
	        "hostkey = SHA256:short",
	        "hostkey = SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "cpu = -1",
	        "counter = tsc", "cpu = 4096", "workdir = relative", "workdir = /a b",
	        "workdir = /a;b", "workdir = /a/~b", "workdir = /a'b", "about = \xc3\xa4",
	        "adress = h", "password = x"};
	struct fm_inventory inv;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char text[200];

		/* arch behind, so that a bad arch is read first */
		snprintf(text, sizeof text, "[x86_1]\n%s\n", bad[i]);
		if (load(text, &inv) != FM_ERR_CONFIG)
			fail_msg("accepted: %s", bad[i]);
		if (strstr(fm_error_text(), "fleet.ini:2: ") == NULL)
			fail_msg("%s: no place in '%s'", bad[i], fm_error_text());
		assert_int_equal(inv.count, 0);
	}
	assert_fails(FM_ERR_CONFIG,
	        "unknown key 'adress' in [x86_1]; allowed: arch, transport, address",
	        load("[x86_1]\nadress = h\n", &inv));
}

static void bad_sections_are_refused(void **state)
{
	struct fm_inventory inv;

	(void)state;
	assert_fails(
	        FM_ERR_CONFIG, "fleet.ini:1: system '-x'", load("[-x]\narch = x86_64\n", &inv));
	assert_fails(
	        FM_ERR_CONFIG, "fleet.ini:1: system 'a b'", load("[a b]\narch = x86_64\n", &inv));
	assert_fails(
	        FM_ERR_CONFIG, "not 'controller'", load("[controller]\narch = x86_64\n", &inv));
	assert_fails(FM_ERR_CONFIG, "fleet.ini:3: section [a] stands already in line 1",
	        load("[a]\narch = x86_64\n[a]\narch = x86_64\n", &inv));
	assert_fails(FM_ERR_CONFIG, "'A' differs from 'a' in line 1",
	        load("[a]\narch = x86_64\n[A]\narch = x86_64\n", &inv));
	assert_fails(FM_ERR_CONFIG, "fleet.ini:1: system 'a' needs arch",
	        load("[a]\naddress = h\n", &inv));
	assert_fails(FM_ERR_CONFIG, "fleet.ini:1: system 'a' is local",
	        load("[a]\narch = x86_64\ntransport = local\naddress = h\n", &inv));
	assert_fails(FM_ERR_CONFIG, "no system in it", load("; nothing\n", &inv));
}

static size_t choose(const char *pattern, char names[256])
{
	static const char *const failed[] = {"arm_2", NULL}, *const nobody[] = {NULL};
	struct fm_inventory inv;
	size_t count = 0;

	assert_ok(load("[x86_1]\narch = x86_64\n[arm_1]\narch = aarch64\n[arm_2]\narch = "
	               "aarch64\n[arm_10]\narch = aarch64\n",
	        &inv));
	names[0] = '\0';
	if (fm_inventory_select(&inv, pattern, failed, nobody) != FM_OK) {
		fm_inventory_free(&inv);
		return 99;
	}
	for (size_t i = 0; i < inv.count; i++)
		if (inv.systems[i].selected) {
			strncat(names, inv.systems[i].name, 20);
			strncat(names, " ", 2);
			count++;
		}
	fm_inventory_free(&inv);
	return count;
}

static void selection(void **state)
{
	char names[256];

	(void)state;
	assert_int_equal(choose(NULL, names), 4);
	assert_int_equal(choose("arm_*", names), 3);
	assert_int_equal(choose("arm_[1-2]", names), 2);
	assert_string_equal(names, "arm_1 arm_2 ");
	assert_int_equal(choose("arm_[2-64]", names), 2);
	assert_string_equal(names, "arm_2 arm_10 ");
	assert_int_equal(choose("x86_1,arm_1", names), 2);
	assert_int_equal(choose("!arm_1", names), 3);
	assert_int_equal(choose("arm_*,!arm_1", names), 2);
	assert_int_equal(choose("@failed", names), 1);
	assert_string_equal(names, "arm_2 ");
	assert_int_equal(choose("arm_9", names), 99);
	assert_non_null(strstr(fm_error_text(), "'arm_9' matches no system; "));
	assert_non_null(strstr(fm_error_text(), "x86_1, arm_1"));
	assert_int_equal(choose("@unreachable", names), 99);
	assert_int_equal(choose("@other", names), 99);
	assert_int_equal(choose("arm_1,!arm_1", names), 99);
	assert_non_null(strstr(fm_error_text(), "leaves no system"));
	assert_int_equal(choose("arm_[1-1025]", names), 99);
	assert_non_null(strstr(fm_error_text(), "at most 1024"));
	assert_int_equal(choose("arm_[9-1]", names), 99);
	assert_int_equal(choose("", names), 99);
	assert_int_equal(choose(",", names), 99);
}

static void one_system_in_memory(void **state)
{
	struct fm_inventory inv;

	(void)state;
	assert_ok(fm_inventory_single(
	        "h", "aarch64", FM_TRANSPORT_SSH, "me", "host.example", 22, &inv));
	assert_string_equal(inv.systems[0].address, "host.example");
	assert_string_equal(inv.systems[0].user, "me");
	fm_inventory_free(&inv);
	assert_fails(FM_ERR_USAGE, "is not [USER@]HOST",
	        fm_inventory_single(
	                "h", "x86_64", FM_TRANSPORT_SSH, NULL, "-oProxyCommand=x", 0, &inv));
	assert_fails(FM_ERR_USAGE, "is not [USER@]HOST",
	        fm_inventory_single("h", "x86_64", FM_TRANSPORT_SSH, "a;b", "host", 0, &inv));
	assert_fails(FM_ERR_NAME, "system",
	        fm_inventory_single("a/b", "x86_64", FM_TRANSPORT_LOCAL, NULL, NULL, 0, &inv));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(all_keys),
	        cmocka_unit_test(bad_values_are_refused),
	        cmocka_unit_test(bad_sections_are_refused),
	        cmocka_unit_test(selection),
	        cmocka_unit_test(one_system_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
