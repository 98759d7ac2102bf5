/* test_lines.c: the line form, and files of it after crashes of every kind. */
#include "protocol/digest.h"
#include "protocol/lines.h"
#include "tests/unit/scratch.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

/* A line with the check value that belongs to it. */
static size_t with_check(char out[5000], const char *line, size_t len)
{
	char hex[65];

	memcpy(out, line, len);
	fm_sha256_hex(line, len, hex);
	memcpy(out + len, hex, 8);
	return len + 8;
}

static void values_of_any_bytes_come_back(void **state)
{
	struct fm_buf b = FM_BUF_INIT(10000);
	struct fm_line l;
	char every[256];

	(void)state;
	for (int i = 1; i < 256; i++)
		every[i - 1] = (char)i;
	every[255] = '\0';
	assert_ok(
	        fm_line_format(&b, 7, "note", "text", every, "empty", "", "plain", "a-b/c", NULL));
	assert_int_equal(b.data[b.len - 1], '\n');
	assert_null(memchr(b.data, '\n', b.len - 1));
	assert_non_null(strstr(b.data, "7 note text=%01%02"));
	assert_non_null(strstr(b.data, " empty= plain=a-b/c "));
	assert_ok(fm_line_parse(b.data, b.len - 1, &l));
	assert_true(l.seq == 7);
	assert_string_equal(l.kind, "note");
	assert_int_equal(l.count, 3);
	assert_string_equal(fm_line_get(&l, "text"), every);
	assert_string_equal(fm_line_get(&l, "empty"), "");
	assert_null(fm_line_get(&l, "other"));
	assert_true(fm_line_u64(&l, "plain", 5) == 5);
	assert_true(fm_line_u64(&l, "other", 6) == 6);
	fm_buf_free(&b);
}

static void refused(const char *line, size_t len, const char *words)
{
	struct fm_line l;
	char text[5000];

	len = with_check(text, line, len);
	assert_fails(FM_ERR_FORM, words, fm_line_parse(text, len, &l));
}
#define REFUSED(line, words) refused(line, sizeof line - 1, words)

static void other_spellings_are_refused(void **state)
{
	struct fm_line l;
	char text[5000];
	size_t len;

	(void)state;
	len = with_check(text, "1 k a=b ", 8);
	assert_ok(fm_line_parse(text, len, &l));
	text[len - 1] ^= 1;
	assert_fails(FM_ERR_FORM, "does not fit", fm_line_parse(text, len, &l));
	assert_fails(FM_ERR_FORM, "no check value", fm_line_parse(text, 5, &l));
	assert_fails(FM_ERR_FORM, "no check value", fm_line_parse("", 0, &l));
	REFUSED("1 k", "no check value");
	REFUSED("0 k ", "no sequence number");
	REFUSED("01 k ", "no sequence number");
	REFUSED("-1 k ", "no sequence number");
	REFUSED("18446744073709551616 k ", "no sequence number");
	REFUSED(" ", "no sequence number");
	REFUSED("1 ", "no kind");
	REFUSED("1  ", "no kind");
	REFUSED("1 K ", "no kind");
	REFUSED("1 abcdefghijklmnopqrstuvwxyzabcdef ", "no kind");
	REFUSED("1 k  ", "no key=value");
	REFUSED("1 k a ", "no key=value");
	REFUSED("1 k =b ", "no key=value");
	REFUSED("1 k A=b ", "no key=value");
	REFUSED("1 k a=b a=c ", "no key=value");
	REFUSED("1 k a=b=c ", "no key=value");
	REFUSED("1 k a=%41 ", "no key=value"); /* A needs no encoding */
	REFUSED("1 k a=%0a ", "no key=value"); /* lower-case digits */
	REFUSED("1 k a=%00 ", "no key=value");
	REFUSED("1 k a=%2 ", "no key=value");
	REFUSED("1 k a=\x7f ", "no key=value");
	REFUSED("1 k a=\xc3\xbc ", "no key=value");
	REFUSED("1 k a=b\0 ", "a NUL byte");
	memset(text, 'x', sizeof text);
	assert_fails(FM_ERR_FORM, "more than 4096", fm_line_parse(text, 4096, &l));
}

static void writer_refuses_what_the_parser_would(void **state)
{
	struct fm_buf b = FM_BUF_INIT(100000);
	char big[4200];

	(void)state;
	memset(big, 'x', sizeof big);
	big[sizeof big - 1] = '\0';
	assert_fails(FM_ERR_SIZE, "4096", fm_line_format(&b, 1, "k", "a", big, NULL));
	big[4096 - 1 - 8 - strlen("1 k a= ")] = '\0';
	assert_ok(fm_line_format(&b, 1, "k", "a", big, NULL));
	assert_int_equal(b.len, 4096);
	b.len = 0;
	assert_fails(FM_ERR_FORM, "no kind", fm_line_format(&b, 1, "K", NULL));
	assert_fails(
	        FM_ERR_FORM, "key=value", fm_line_format(&b, 1, "k", "a", "1", "a", "2", NULL));
	assert_fails(FM_ERR_FORM, "key=value", fm_line_format(&b, 1, "k", "a b", "1", NULL));
	assert_fails(FM_ERR_FORM, "no sequence", fm_line_format(&b, 0, "k", NULL));
	assert_int_equal(b.len, 0);
	fm_buf_free(&b);
}

struct seen {
	unsigned count, stop_at;
	char last[100];
};

static int note(void *arg, const struct fm_line *l)
{
	struct seen *s = arg;

	s->count++;
	snprintf(s->last, sizeof s->last, "%s",
	        fm_line_get(l, "n") != NULL ? fm_line_get(l, "n") : "");
	return s->count == s->stop_at ? FM_ERR_REPLAY : FM_OK;
}

/* Three lines in "file". */
static void three_lines(const struct scratch *s)
{
	struct fm_lines *l;
	size_t cut;

	assert_ok(fm_lines_open(&l, s->fd, "file", NULL, NULL, &cut));
	assert_int_equal(cut, 0);
	assert_ok(fm_lines_put(l, "k", "n", "one", NULL));
	assert_ok(fm_lines_put(l, "k", "n", "two", NULL));
	assert_ok(fm_lines_put(l, "k", "n", "three", NULL));
	assert_ok(fm_lines_sync(l));
	assert_ok(fm_lines_close(l));
}

static void append_raw(const struct scratch *s, const void *bytes, size_t len)
{
	int fd = openat(s->fd, "file", O_WRONLY | O_APPEND);

	assert_true(fd >= 0);
	assert_ok(fm_fs_write_all(fd, bytes, len));
	close(fd);
}

/* Opening cuts the tail, keeps its bytes, and goes on with line 4. */
static void tail_is_cut(const void *tail, size_t len)
{
	struct seen seen = {0};
	struct scratch s;
	struct fm_lines *l;
	struct fm_buf kept;
	size_t cut = 0;

	scratch_open(&s);
	three_lines(&s);
	append_raw(&s, tail, len);
	assert_ok(fm_lines_read(s.fd, "file", note, &seen));
	assert_int_equal(seen.count, 3);
	scratch_missing(&s, "file.cut-4");
	seen.count = 0;
	assert_ok(fm_lines_open(&l, s.fd, "file", note, &seen, &cut));
	assert_int_equal(seen.count, 3);
	assert_int_equal(cut, len);
	assert_ok(fm_fs_read(s.fd, "file.cut-4", 1 << 20, &kept));
	assert_int_equal(kept.len, len);
	assert_memory_equal(kept.data, tail, len);
	fm_buf_free(&kept);
	assert_ok(fm_lines_put(l, "k", "n", "four", NULL));
	assert_ok(fm_lines_close(l));
	seen.count = 0;
	assert_ok(fm_lines_read(s.fd, "file", note, &seen));
	assert_int_equal(seen.count, 4);
	assert_string_equal(seen.last, "four");
	scratch_close(&s);
}

static void torn_tails(void **state)
{
	char zeros[9000] = {0}, line[5000];
	size_t len;

	(void)state;
	tail_is_cut("4 k n=fo", 8);
	tail_is_cut(zeros, sizeof zeros);
	memset(zeros, 'x', sizeof zeros);
	tail_is_cut(zeros, sizeof zeros);
	tail_is_cut("\n", 1);
	len = with_check(line, "5 k n=gap ", 10); /* a line that skips a number */
	line[len++] = '\n';
	tail_is_cut(line, len);
	len = with_check(line, "3 k n=again ", 12);
	line[len++] = '\n';
	tail_is_cut(line, len);
	len = with_check(line, "4 k n=noend ", 12); /* good but for its LF */
	tail_is_cut(line, len);
}

static void reading_stops_when_told(void **state)
{
	struct seen seen = {.stop_at = 2};
	struct fm_lines *l;
	struct scratch s;

	(void)state;
	scratch_open(&s);
	assert_ok(fm_lines_read(s.fd, "file", note, &seen));
	assert_ok(fm_lines_read(s.fd, "none/file", note, &seen));
	assert_int_equal(seen.count, 0);
	three_lines(&s);
	assert_int_equal(fm_lines_open(&l, s.fd, "file", note, &seen, NULL), FM_ERR_REPLAY);
	assert_null(l);
	seen.count = 0;
	assert_int_equal(fm_lines_read(s.fd, "file", note, &seen), FM_ERR_REPLAY);
	assert_ok(fm_lines_close(NULL));
	scratch_close(&s);
}

static void links_and_folders_are_refused(void **state)
{
	struct fm_lines *l;
	struct scratch s;

	(void)state;
	scratch_open(&s);
	assert_int_equal(symlinkat("/tmp/elsewhere", s.fd, "link"), 0);
	assert_int_equal(mkfifoat(s.fd, "fifo", 0600), 0);
	assert_fails(FM_ERR_SYSTEM, "link", fm_lines_open(&l, s.fd, "link", NULL, NULL, NULL));
	assert_fails(
	        FM_ERR_FORM, "no plain file", fm_lines_open(&l, s.fd, "fifo", NULL, NULL, NULL));
	assert_fails(FM_ERR_FORM, "no plain file", fm_lines_read(s.fd, "fifo", NULL, NULL));
	assert_fails(FM_ERR_SYSTEM, "link", fm_lines_read(s.fd, "link", NULL, NULL));
	scratch_close(&s);
}

/* A disk that is full in the middle of a line: the part is taken back and the next line is good. */
static void short_writes_are_taken_back(void **state)
{
	struct rlimit old, small;
	struct seen seen = {0};
	struct fm_lines *l;
	struct scratch s;
	struct stat st;
	size_t cut;

	(void)state;
	scratch_open(&s);
	three_lines(&s);
	assert_int_equal(fstatat(s.fd, "file", &st, 0), 0);
	assert_ok(fm_lines_open(&l, s.fd, "file", NULL, NULL, NULL));
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = (rlim_t)st.st_size + 5;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_fails(FM_ERR_SYSTEM, "write", fm_lines_put(l, "k", "n", "lost", NULL));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_ok(fm_lines_put(l, "k", "n", "four", NULL));
	assert_ok(fm_lines_close(l));
	assert_ok(fm_lines_open(&l, s.fd, "file", note, &seen, &cut));
	assert_int_equal(cut, 0);
	assert_int_equal(seen.count, 4);
	assert_string_equal(seen.last, "four");
	assert_ok(fm_lines_close(l));
	scratch_close(&s);
}

static void *put_many(void *arg)
{
	for (int i = 0; i < 200; i++)
		assert_ok(fm_lines_put(arg, "k", "n", "x", NULL));
	return NULL;
}

static void threads_share_one_writer(void **state)
{
	pthread_t thread[4];
	struct seen seen = {0};
	struct fm_lines *l;
	struct scratch s;

	(void)state;
	scratch_open(&s);
	assert_ok(fm_lines_open(&l, s.fd, "file", NULL, NULL, NULL));
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, put_many, l), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_ok(fm_lines_close(l));
	assert_ok(fm_lines_read(s.fd, "file", note, &seen));
	assert_int_equal(seen.count, 800);
	scratch_close(&s);
}

static int init(void **state)
{
	(void)state;
	return fm_crypto_init();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(values_of_any_bytes_come_back),
	        cmocka_unit_test(other_spellings_are_refused),
	        cmocka_unit_test(writer_refuses_what_the_parser_would),
	        cmocka_unit_test(torn_tails),
	        cmocka_unit_test(reading_stops_when_told),
	        cmocka_unit_test(links_and_folders_are_refused),
	        cmocka_unit_test(short_writes_are_taken_back),
	        cmocka_unit_test(threads_share_one_writer),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
