/* test_error.c: codes, classes and exit codes agree, texts are kept, cut and apart per thread. */
#include "tests/unit/scratch.h"
#include <pthread.h>

static void codes_have_class_reason_status(void **state)
{
	(void)state;
	assert_string_equal(fm_error_class(FM_OK), "");
	assert_string_equal(fm_error_reason(FM_OK), "");
	assert_int_equal(fm_error_status(FM_OK), 0);
	assert_string_equal(fm_error_class(FM_ERR_USAGE), "usage");
	assert_int_equal(fm_error_status(FM_ERR_USAGE), 2);
	assert_string_equal(fm_error_class(FM_ERR_REPLAY), "verify");
	assert_string_equal(fm_error_reason(FM_ERR_REPLAY), "replay");
	assert_int_equal(fm_error_status(FM_ERR_REPLAY), 4);
	assert_int_equal(fm_error_status(FM_ERR_INTERRUPTED), 130);
	assert_string_equal(fm_error_class(-1), "internal");
	assert_string_equal(fm_error_class(7), "internal");
	assert_string_equal(fm_error_class(FM_ERR_INTERRUPTED + 1), "internal");
}

static void lookup_is_the_way_back(void **state)
{
	(void)state;
#define BACK(name, klass, reason, status)                                \
	assert_true(FM_ERR_##name < -1);                                 \
	assert_int_equal(fm_error_lookup(klass, reason), FM_ERR_##name); \
	assert_int_equal(fm_error_status(FM_ERR_##name), status);
	FM_ERRORS(BACK)
#undef BACK
	assert_int_equal(fm_error_lookup("verify", "connect"), FM_ERR_INTERNAL);
	assert_int_equal(fm_error_lookup("", ""), FM_ERR_INTERNAL);
}

static void texts_are_wrapped_and_cut(void **state)
{
	char big[3000];

	(void)state;
	assert_int_equal(fm_fail(FM_ERR_FORM, "line %d", 7), FM_ERR_FORM);
	assert_string_equal(fm_error_text(), "line 7");
	assert_int_equal(fm_wrap(FM_ERR_FORM, "file %s", "a"), FM_ERR_FORM);
	assert_string_equal(fm_error_text(), "file a: line 7");
	fm_fail(FM_ERR_FORM, "again: %s", fm_error_text());
	assert_string_equal(fm_error_text(), "again: file a: line 7");
	memset(big, 'x', sizeof big);
	big[sizeof big - 1] = '\0';
	fm_fail(FM_ERR_FORM, "%s", big);
	assert_int_equal(strlen(fm_error_text()), 1000);
	assert_string_equal(fm_error_text() + 997, "...");
	fm_wrap(FM_ERR_FORM, "place");
	assert_int_equal(strlen(fm_error_text()), 1000);
	assert_memory_equal(fm_error_text(), "place: xxx", 10);
	assert_string_equal(fm_error_text() + 997, "...");
}

static void errno_decides_the_code_and_stays(void **state)
{
	(void)state;
	errno = ENOSPC;
	assert_int_equal(fm_fail_errno("write %s", "f"), FM_ERR_DISK);
	assert_int_equal(errno, ENOSPC);
	assert_string_equal(fm_error_text(), "write f: No space left on device");
	errno = EDQUOT;
	assert_int_equal(fm_fail_errno("write"), FM_ERR_DISK);
	errno = ENOMEM;
	assert_int_equal(fm_fail_errno("write"), FM_ERR_MEMORY);
	errno = EACCES;
	assert_int_equal(fm_fail_errno("write"), FM_ERR_SYSTEM);
	fm_fail(FM_ERR_FORM, "other");
	fm_wrap(FM_ERR_FORM, "place");
	assert_int_equal(errno, EACCES);
}

static void *other_thread(void *arg)
{
	(void)arg;
	fm_fail(FM_ERR_FORM, "of the other thread");
	return NULL;
}

static void threads_have_texts_of_their_own(void **state)
{
	pthread_t thread;

	(void)state;
	fm_fail(FM_ERR_FORM, "of this thread");
	assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
	pthread_join(thread, NULL);
	assert_string_equal(fm_error_text(), "of this thread");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(codes_have_class_reason_status),
	        cmocka_unit_test(lookup_is_the_way_back),
	        cmocka_unit_test(texts_are_wrapped_and_cut),
	        cmocka_unit_test(errno_decides_the_code_and_stays),
	        cmocka_unit_test(threads_have_texts_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
