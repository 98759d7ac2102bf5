/* Checks one built hash instance behind CryptHash: the lines of its vectors file, any alignment,
 * unused message bits, refused digest lengths and bytes around the digest. test_algos.sh builds and
 * calls it.
 *
 *     algos_check LIBRARY INSTANCE DIGEST_BITS fixed|any VECTORS [XOF_LENGTHS]
 *
 * Prints a line "ok INSTANCE: CHECK" or "FAIL INSTANCE: CHECK: why" per check, then "fold HEX": a
 * sum over the digests of all message lengths 0 to 4096, which must not depend on how the library
 * was built. Exits 0 if all checks passed, 1 if one failed, 2 if the library or a file cannot be
 * used. */
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GUARD_BYTES = 64,
	GUARD = 0xA5,
	MAX_DIGEST_BYTES = 512,
	MAX_MESSAGE_BYTES = 4096,
	MAX_LINE = 16384,
	LONGEST_BITS = 4096,
	REFUSED = 1000 /* call_hash: the library returned an error and wrote nothing */
};

typedef int (*hash_fn)(int digest_len_bits, const unsigned char *msg,
        unsigned long long msg_len_bits, unsigned char *digest);

/* The instance under test. */
struct subject {
	hash_fn hash;
	const char *name;
	int bits;
	bool any; /* takes every digest length */
};

/* One line of a vectors or XOF lengths file. */
struct vector {
	unsigned char msg[MAX_MESSAGE_BYTES];
	unsigned long long msg_bits;
	unsigned char digest[MAX_DIGEST_BYTES];
	int bits;
};

static int failures;

static size_t bytes_of(unsigned long long bits)
{
	return (size_t)((bits + 7) / 8);
}

static void *allocate(size_t n)
{
	void *p = malloc(n != 0 ? n : 1);

	if (p == NULL) {
		fprintf(stderr, "algos_check: out of memory\n");
		exit(2);
	}
	return p;
}

/* Prints the result of one check; fmt says why it failed and is NULL if it passed. */
static void report(const struct subject *s, const char *check, const char *fmt, ...)
{
	va_list args;

	if (fmt == NULL) {
		printf("ok %s: %s\n", s->name, check);
		return;
	}
	failures++;
	printf("FAIL %s: %s: ", s->name, check);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

static bool all_guard(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != GUARD)
			return false;
	return true;
}

/* Calls the library with the digest shift bytes behind an aligned address and guard bytes around
 * it. Returns 0 with the digest in out, or REFUSED for an error with the digest untouched. A
 * touched guard, or a digest changed in spite of an error, ends the run as failed, because nothing
 * after it could be trusted. */
static int call_hash(const struct subject *s, int bits, const unsigned char *msg,
        unsigned long long msg_bits, unsigned shift, unsigned char *out)
{
	size_t room = bits > 0 && bits <= 8 * MAX_DIGEST_BYTES ? bytes_of((unsigned)bits)
	                                                       : MAX_DIGEST_BYTES;
	size_t before = GUARD_BYTES + shift, total = before + room + GUARD_BYTES;
	size_t written = bits == 0 ? 0 : room;
	unsigned char *area = allocate(total);
	int rc;

	memset(area, GUARD, total);
	rc = s->hash(bits, msg, msg_bits, area + before);
	if (rc != 0)
		written = 0;
	if (!all_guard(area, before) ||
	        !all_guard(area + before + written, total - before - written)) {
		report(s, "bytes around the digest",
		        "touched for %llu message bits, %d digest bits", msg_bits, bits);
		exit(1);
	}
	memcpy(out, area + before, written);
	free(area);
	return rc == 0 ? 0 : REFUSED;
}

/* A digest of the instance's own length; a refusal ends the run as failed. */
static void own_digest(const struct subject *s, const unsigned char *msg,
        unsigned long long msg_bits, unsigned shift, unsigned char *out)
{
	if (call_hash(s, s->bits, msg, msg_bits, shift, out) != 0) {
		report(s, "own digest length", "refused for %llu message bits", msg_bits);
		exit(1);
	}
}

/* Copies the bits of msg to a block of exactly their size, shift bytes behind an aligned address.
 * The block is *base, to be freed; NULL is returned for no bits, which no library may read. */
static unsigned char *place(
        unsigned char **base, const unsigned char *msg, unsigned long long bits, unsigned shift)
{
	*base = allocate(shift + bytes_of(bits));
	if (bits == 0)
		return NULL;
	memcpy(*base + shift, msg, bytes_of(bits));
	return *base + shift;
}

/* Inverts the bits of the last byte that do not belong to the message. */
static void invert_unused(unsigned char *msg, unsigned long long bits)
{
	if (bits % 8 != 0)
		msg[bits / 8] ^= (unsigned char)(0xFF >> bits % 8);
}

/* The next field of a line, up to '|' or the end; NULL if there is none. */
static char *next_field(char **line)
{
	char *field = *line;

	if (field == NULL)
		return NULL;
	*line = strchr(field, '|');
	if (*line != NULL)
		*(*line)++ = '\0';
	return field;
}

/* Reads n bytes of hexadecimal digits and nothing else. */
static bool parse_hex(const char *text, unsigned char *out, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	if (strlen(text) != 2 * n)
		return false;
	for (size_t i = 0; i < 2 * n; i++) {
		const char *d = strchr(digits, text[i]);

		if (d == NULL)
			return false;
		out[i / 2] = (unsigned char)(out[i / 2] << 4 | (d - digits));
	}
	return true;
}

static bool parse_number(const char *text, unsigned long long max, unsigned long long *out)
{
	char *end;

	if (text == NULL || *text < '0' || *text > '9')
		return false;
	*out = strtoull(text, &end, 10);
	return *end == '\0' && *out <= max;
}

/* Reads the rest of a line behind the instance's name; with_bits: the output length stands in
 * front. */
static bool parse_vector(char *line, bool with_bits, int bits, struct vector *v)
{
	unsigned long long out_bits = (unsigned)bits;
	char *msg, *digest;

	memset(v, 0, sizeof *v);
	if (with_bits && !parse_number(next_field(&line), 8 * MAX_DIGEST_BYTES, &out_bits))
		return false;
	if (!parse_number(next_field(&line), 8 * MAX_MESSAGE_BYTES, &v->msg_bits))
		return false;
	v->bits = (int)out_bits;
	msg = next_field(&line);
	digest = next_field(&line);
	if (digest == NULL || next_field(&line) == NULL || line != NULL)
		return false;
	return parse_hex(v->msg_bits == 0 && strcmp(msg, "-") == 0 ? "" : msg, v->msg,
	               bytes_of(v->msg_bits)) &&
	       parse_hex(digest, v->digest, bytes_of(out_bits));
}

/* Reads on to the next line of the instance; false at the end of the file. A bad line ends the
 * program. */
static bool next_vector(
        FILE *f, const char *path, const struct subject *s, bool with_bits, struct vector *v)
{
	static char line[MAX_LINE];
	char *rest, *name;

	while (fgets(line, sizeof line, f) != NULL) {
		rest = line;
		if (line[strcspn(line, "\n")] != '\n') {
			fprintf(stderr, "algos_check: %s: a line is too long or not ended\n", path);
			exit(2);
		}
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#')
			continue;
		name = next_field(&rest);
		if (strcmp(name, s->name) != 0)
			continue;
		if (!parse_vector(rest, with_bits, s->bits, v)) {
			fprintf(stderr, "algos_check: %s: a line of %s cannot be read\n", path,
			        name);
			exit(2);
		}
		return true;
	}
	return false;
}

static FILE *open_file(const char *path)
{
	FILE *f = fopen(path, "r");

	if (f == NULL) {
		perror(path);
		exit(2);
	}
	return f;
}

/* One vector at every alignment of message and digest, each also with the unused bits of the last
 * byte inverted. The first digest that differs ends the check. */
static bool vector_holds(const struct subject *s, const struct vector *v)
{
	unsigned char got[MAX_DIGEST_BYTES], *base, *msg;
	size_t n = bytes_of((unsigned)v->bits);

	for (unsigned shift = 0; shift < 8; shift++) {
		msg = place(&base, v->msg, v->msg_bits, shift);
		for (int turn = 0; turn < 2; turn++) {
			if (call_hash(s, v->bits, msg, v->msg_bits, 7 - shift, got) != 0 ||
			        memcmp(got, v->digest, n) != 0) {
				report(s, "vectors",
				        "%llu message bits, %d digest bits, %u bytes off "
				        "alignment%s",
				        v->msg_bits, v->bits, shift,
				        turn ? ", unused bits inverted" : "");
				free(base);
				return false;
			}
			invert_unused(msg, v->msg_bits);
		}
		free(base);
	}
	return true;
}

static void check_vectors(const struct subject *s, const char *path, bool with_bits)
{
	FILE *f = open_file(path);
	struct vector v;
	int count = 0;
	bool good = true;

	while (good && next_vector(f, path, s, with_bits, &v)) {
		good = vector_holds(s, &v);
		count++;
	}
	fclose(f);
	if (count == 0 && !with_bits)
		report(s, "vectors", "%s has no line for it", path);
	else if (count > 0 && good)
		report(s, with_bits ? "vectors of other output lengths" : "vectors", NULL);
}

/* A message that differs for every length. */
static void fill_message(unsigned char *msg, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525U + 1013904223U;
		msg[i] = (unsigned char)(seed >> 24);
	}
}

/* FNV-1a, continued. */
static uint64_t fold(uint64_t sum, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ p[i]) * 0x100000001B3ULL;
	return sum;
}

/* All message lengths up to LONGEST_BITS: unused bits are ignored whatever they are. Returns the
 * sum over all digests. */
static uint64_t check_lengths(const struct subject *s)
{
	unsigned char fill[LONGEST_BITS / 8], first[MAX_DIGEST_BYTES], second[MAX_DIGEST_BYTES];
	unsigned char *base, *msg;
	size_t n = bytes_of((unsigned)s->bits);
	uint64_t sum = 0xCBF29CE484222325ULL;
	long bad = -1;

	for (unsigned bits = 0; bits <= LONGEST_BITS; bits++) {
		fill_message(fill, sizeof fill, bits);
		msg = place(&base, fill, bits, bits % 8);
		own_digest(s, msg, bits, 0, first);
		if (bits % 8 != 0) {
			invert_unused(msg, bits);
			own_digest(s, msg, bits, 0, second);
			if (bad < 0 && memcmp(first, second, n) != 0)
				bad = (long)bits;
		}
		free(base);
		sum = fold(sum, first, n);
	}
	if (bad >= 0)
		report(s, "unused bits", "change the digest of %ld bits", bad);
	else
		report(s, "unused bits", NULL);
	return sum;
}

/* The same message after others gives the same digest: nothing is kept between calls. */
static void check_repeat(const struct subject *s)
{
	unsigned char msg[400], first[MAX_DIGEST_BYTES], again[MAX_DIGEST_BYTES];
	size_t n = bytes_of((unsigned)s->bits);

	fill_message(msg, sizeof msg, 1);
	own_digest(s, msg, 8 * sizeof msg, 0, first);
	for (unsigned long long bits = 0; bits < 64; bits++)
		own_digest(s, msg, bits, 0, again);
	own_digest(s, msg, 8 * sizeof msg, 0, again);
	if (memcmp(first, again, n) != 0)
		report(s, "repeated call", "another digest for the same message");
	else
		report(s, "repeated call", NULL);
}

/* Digest lengths that are not the instance's: an error, and nothing written. */
static void check_refusals(const struct subject *s)
{
	static const int FIXED[] = {
	        INT_MIN, -8, -1, 0, 1, 8, 256, 384, 512, 768, 1024, 1152, 1280, 1536, INT_MAX};
	const int near[] = {
	        -s->bits, s->bits - 8, s->bits - 1, s->bits + 1, s->bits + 8, 2 * s->bits};
	unsigned char msg[40] = {0}, out[MAX_DIGEST_BYTES];

	for (size_t i = 0; i < sizeof FIXED / sizeof FIXED[0] + sizeof near / sizeof near[0]; i++) {
		size_t k = sizeof FIXED / sizeof FIXED[0];
		int bits = i < k ? FIXED[i] : near[i - k];

		if (bits == s->bits || (s->any && bits >= 0))
			continue;
		if (call_hash(s, bits, msg, 8 * sizeof msg, 0, out) != REFUSED) {
			report(s, "wrong digest length", "%d is accepted", bits);
			return;
		}
	}
	report(s, "wrong digest length", NULL);
}

/* An XOF: each output is the beginning of a longer one, its unused bits 0. */
static void check_prefixes(const struct subject *s)
{
	unsigned char msg[100], longest[MAX_DIGEST_BYTES], out[MAX_DIGEST_BYTES];

	fill_message(msg, sizeof msg, 2);
	if (call_hash(s, 8 * MAX_DIGEST_BYTES, msg, 8 * sizeof msg, 0, longest) != 0) {
		report(s, "output lengths", "%d is refused", 8 * MAX_DIGEST_BYTES);
		return;
	}
	for (int bits = 8 * MAX_DIGEST_BYTES - 1; bits >= 0; bits--) {
		if (bits % 8 != 0)
			longest[bits / 8] &= (unsigned char)(0xFF00 >> bits % 8);
		if (call_hash(s, bits, msg, 8 * sizeof msg, 0, out) != 0 ||
		        memcmp(out, longest, bytes_of((unsigned)bits)) != 0) {
			report(s, "output lengths", "%d bits are not the beginning of more", bits);
			return;
		}
	}
	report(s, "output lengths", NULL);
}

/* POSIX keeps functions and objects alike, but C99 has no cast between them: the bytes are copied.
 */
static hash_fn load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *symbol = library != NULL ? dlsym(library, "CryptHash") : NULL;
	hash_fn hash;

	if (symbol == NULL) {
		fprintf(stderr, "algos_check: %s\n", dlerror());
		exit(2);
	}
	memcpy(&hash, &symbol, sizeof hash);
	return hash;
}

int main(int argc, char **argv)
{
	struct subject s;
	unsigned long long bits;
	uint64_t sum;

	if (argc < 6 || argc > 7 || !parse_number(argv[3], 8 * MAX_DIGEST_BYTES / 2, &bits)) {
		fprintf(stderr, "usage: algos_check LIBRARY INSTANCE DIGEST_BITS fixed|any VECTORS "
		                "[XOF_LENGTHS]\n");
		return 2;
	}
	s.hash = load(argv[1]);
	s.name = argv[2];
	s.bits = (int)bits;
	s.any = strcmp(argv[4], "any") == 0;

	check_vectors(&s, argv[5], false);
	if (argc == 7)
		check_vectors(&s, argv[6], true);
	sum = check_lengths(&s);
	check_repeat(&s);
	check_refusals(&s);
	if (s.any)
		check_prefixes(&s);
	report(&s, "bytes around the digest", NULL);
	printf("fold %016llx\n", (unsigned long long)sum);
	return failures != 0;
}
