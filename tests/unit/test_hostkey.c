/* test_hostkey.c: the twelve shapes a known_hosts can have, the pin, and what is added. */
#include "orchestrator/hostkey.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#define KEY   "AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
#define OTHER "AAAAC3NzaC1lZDI1NTE5AAAAIBBBB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
/* ssh-keygen -l says so */
#define OTHER_PRINT "SHA256:BFSo7QNvFOsSt6mWtQkKHZvxf0LirLoXp1NJpp9pBNw"
#define PRINT       "SHA256:offeredofferedofferedofferedofferedofferedof"

static const struct fm_hostkey key = {.system = "x86_1",
        .host = "h",
        .port = 2222,
        .type = "ssh-ed25519",
        .base64 = KEY,
        .fingerprint = PRINT};

struct shape {
	const char *text; /* NULL: no file */
	enum fm_hostkey_verdict library;
	int want;
	const char *says; /* part of the message, or of the warning when accepted */
};

static const struct shape shapes[] = {
        {"[h]:2222 ssh-ed25519 " KEY "\n", FM_HOSTKEY_OK, FM_OK, NULL},
        {"|1|c2FsdHNhbHRzYWx0c2FsdHNhbHQ=|aGFzaGhhc2hoYXNoaGFzaGhhc2g= ssh-ed25519 " KEY "\n",
                FM_HOSTKEY_OK, FM_OK, NULL},
        {"[*]:2222 ssh-ed25519 " KEY "\n", FM_HOSTKEY_OK, FM_OK, NULL},
        {"[h]:2222 ssh-ed25519 " OTHER "\n[h]:2222 ssh-ed25519 " KEY "\n", FM_HOSTKEY_OK, FM_OK,
                NULL},
        {"garbage line\n[h]:2222 ssh-ed25519 " KEY "\n", FM_HOSTKEY_OK, FM_OK, "line 1"},
        {"h ssh-ed25519 " KEY "\n", FM_HOSTKEY_IS_UNKNOWN, FM_ERR_HOSTKEY_UNKNOWN,
                "without a port: it must be [h]:2222"},
        {"[h]:2222 ssh-ed25519 " KEY "\r\n", FM_HOSTKEY_IS_UNKNOWN, FM_ERR_HOSTKEY_UNKNOWN,
                "line 1 ends in a carriage return"},
        {"", FM_HOSTKEY_IS_UNKNOWN, FM_ERR_HOSTKEY_UNKNOWN, "is empty"},
        {NULL, FM_HOSTKEY_IS_UNKNOWN, FM_ERR_HOSTKEY_UNKNOWN, "there is no store"},
        {"@revoked other ssh-ed25519 " KEY "\n", FM_HOSTKEY_IS_UNKNOWN, FM_ERR_HOSTKEY_REVOKED,
                "line 1 revokes"},
        {"[h]:2222 ssh-ed25519 " KEY "\n@revoked * ssh-ed25519 " KEY "\n", FM_HOSTKEY_OK,
                FM_ERR_HOSTKEY_REVOKED, "line 2 revokes"},
        {"[h]:2222 ssh-rsa AAAAB3Nza\n", FM_HOSTKEY_IS_OTHER, FM_ERR_HOSTKEY_OTHER, "another type"},
        {"[h]:2222 ssh-ed25519 " OTHER "\n", FM_HOSTKEY_IS_CHANGED, FM_ERR_HOSTKEY_CHANGED,
                OTHER_PRINT},
};

static int decide(const struct shape *s, const char *pin, char *warn)
{
	struct fm_buf text = FM_BUF_INIT(4096);
	int rc;

	assert_int_equal(fm_buf_puts(&text, s->text != NULL ? s->text : ""), FM_OK);
	rc = fm_hostkey_decide(
	        &key, pin, s->library, "store", s->text != NULL ? &text : NULL, warn, 300);
	fm_buf_free(&text);
	return rc;
}

static void test_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		char warn[300];
		int rc = decide(&shapes[i], NULL, warn);

		if (rc != shapes[i].want)
			fail_msg("shape %zu: %d, want %d: %s", i, rc, shapes[i].want,
			        fm_error_text());
		if (shapes[i].says != NULL &&
		        strstr(rc == FM_OK ? warn : fm_error_text(), shapes[i].says) == NULL)
			fail_msg("shape %zu says: %s", i, rc == FM_OK ? warn : fm_error_text());
		if (rc == FM_OK && shapes[i].says == NULL)
			assert_string_equal(warn, "");
		if (rc != FM_OK && strstr(fm_error_text(), PRINT) == NULL)
			fail_msg("shape %zu does not name the key: %s", i, fm_error_text());
	}
}

/* A pin decides alone, except over a revoked key. */
static void test_pin(void **state)
{
	char warn[300];

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		bool revoked = shapes[i].want == FM_ERR_HOSTKEY_REVOKED;

		assert_int_equal(
		        decide(&shapes[i], PRINT, warn), revoked ? FM_ERR_HOSTKEY_REVOKED : FM_OK);
		assert_int_equal(decide(&shapes[i], "SHA256:pinned", warn),
		        revoked ? FM_ERR_HOSTKEY_REVOKED : FM_ERR_HOSTKEY_PIN);
	}
	assert_non_null(strstr(fm_error_text(), "SHA256:pinned"));
}

static void read_store(int dir, struct fm_buf *out)
{
	*out = FM_BUF_INIT(4096);
	assert_int_equal(fm_fs_read(dir, "known_hosts", 4096, out), FM_OK);
}

static void test_add(void **state)
{
	char folder[] = "/tmp/fm-hostkey-XXXXXX";
	struct fm_hostkey k = key;
	struct fm_buf text;
	int dir;

	(void)state;
	assert_non_null(mkdtemp(folder));
	dir = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(fm_hostkey_add(dir, &k), FM_OK);
	read_store(dir, &text);
	assert_string_equal(text.data, "[h]:2222 ssh-ed25519 " KEY "\n");
	fm_buf_free(&text);
	k.base64 = OTHER; /* the same name and type: replaced */
	assert_int_equal(fm_hostkey_add(dir, &k), FM_OK);
	k.port = 22; /* another name: added */
	assert_int_equal(fm_hostkey_add(dir, &k), FM_OK);
	read_store(dir, &text);
	assert_string_equal(text.data, "[h]:2222 ssh-ed25519 " OTHER "\nh ssh-ed25519 " OTHER "\n");
	fm_buf_free(&text);
	close(dir);
	assert_int_equal(fm_fs_remove(AT_FDCWD, folder), FM_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_shapes),
	        cmocka_unit_test(test_pin),
	        cmocka_unit_test(test_add),
	};

	if (fm_crypto_init() != FM_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
