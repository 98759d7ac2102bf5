/* test_https.c: what is refused before a server is asked, and what stays when one does not answer.
 * Real servers: tests/flow/fetch.sh. */
#include "orchestrator/https.h"
#include "tests/unit/scratch.h"

static int get(const struct scratch *s, const char *url, uint64_t max, const char *name)
{
	struct fm_https h = {.url = url, .max = max};
	bool resumed = true;
	int rc = fm_https_get(&h, s->fd, name, &resumed);

	assert_false(resumed && rc != FM_OK);
	return rc;
}

static void only_https(void **state)
{
	static const char *const others[] = {"http://127.0.0.1:1/x", "ftp://127.0.0.1:1/x",
	        "file:///etc/passwd", "gopher://127.0.0.1:1/x"};
	struct scratch s;

	(void)state;
	scratch_open(&s);
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		assert_fails(FM_ERR_REFUSED, "only https", get(&s, others[i], 100, "part"));
		scratch_is(&s, "part", "");
	}
	assert_fails(FM_ERR_CONFIG, "https://", get(&s, "https://:x/", 100, "part"));
	scratch_close(&s);
}

static void no_answer(void **state)
{
	struct scratch s;

	(void)state;
	scratch_open(&s);
	scratch_put(&s, "part", "beginning");
	assert_fails(FM_ERR_CONNECT,
	        "https://127.0.0.1:1/x: ", get(&s, "https://127.0.0.1:1/x", 100, "part"));
	scratch_is(&s, "part", "beginning");
	assert_fails(FM_ERR_RESOLVE,
	        "https://nobody.invalid/x: ", get(&s, "https://nobody.invalid/x", 100, "part"));
	/* as long as the whole may be: cannot be its beginning */
	assert_fails(FM_ERR_CONNECT, "", get(&s, "https://127.0.0.1:1/x", 9, "part"));
	scratch_is(&s, "part", "");
	scratch_close(&s);
}

static void never_through_a_link(void **state)
{
	struct scratch s;

	(void)state;
	scratch_open(&s);
	scratch_put(&s, "target", "mine");
	assert_int_equal(symlinkat("target", s.fd, "part"), 0);
	assert_fails(FM_ERR_SYSTEM, "part", get(&s, "https://127.0.0.1:1/x", 100, "part"));
	scratch_is(&s, "target", "mine");
	scratch_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(only_https),
	        cmocka_unit_test(no_answer),
	        cmocka_unit_test(never_through_a_link),
	};

	unsetenv("https_proxy");
	unsetenv("HTTPS_PROXY");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	unsetenv("http_proxy");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
