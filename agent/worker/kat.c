/* kat.c: generates known-answer files and vectors through CryptHash. */
#include "agent/worker/kat.h"

#include "agent/worker/drng.h"
#include "agent/worker/katfile.h"
#include "protocol/buf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LOOP_ROUNDS    1000000
#define LOOP_BYTES     1024
#define LINE_MAX_BYTES (1u << 20)

static size_t digest_bytes(const struct fm_kat *k)
{
	return (k->digest_bits + 7) / 8;
}

enum fm_kat_status fm_kat_call(struct fm_kat *k, const unsigned char *msg, uint64_t bits)
{
	int returned;

	memset(k->digest.data, 0x5a, k->digest.len);
	returned = k->hash((int)k->digest_bits, msg, bits, k->digest.data);
	if (!fm_buffer_whole(&k->digest)) {
		fm_fail(FM_ERR_KAT, "%s: bytes beside the digest were written", k->where);
		return FM_KAT_OVERFLOW;
	}
	if (returned != 0) {
		fm_fail(FM_ERR_KAT, "%s: CryptHash returned %d", k->where, returned);
		return FM_KAT_CRYPTOFAIL;
	}
	return FM_KAT_PASS;
}

static enum fm_kat_status generate_2_12(struct fm_kat *k, struct fm_katfile *f)
{
	struct fm_drng drng;
	enum fm_kat_status status = FM_KAT_PASS;

	fm_drng_init_tag(&drng, "KAT_2_12");
	for (unsigned bits = 0; bits <= 4096 && status == FM_KAT_PASS; bits++) {
		size_t len = (bits + 7) / 8;

		fm_drng_get(&drng, k->message.data, bits);
		snprintf(k->where, sizeof k->where, "KAT_2_12, record Msg_Len = %u", bits);
		status = fm_kat_call(k, k->message.data, bits);
		fm_katfile_number(f, "Msg_Len", bits);
		fm_katfile_hex(f, "Msg", k->message.data, len);
		fm_katfile_number(f, "Dst_Len", k->digest_bits);
		fm_katfile_hex(f, "Dst", k->digest.data, digest_bytes(k));
		fm_katfile_gap(f);
	}
	return status;
}

/* "Msg_Exp = first eight bytes .... last eight bytes" */
static void add_excerpt(struct fm_katfile *f, const unsigned char *msg, size_t len)
{
	char text[64];

	snprintf(text, sizeof text, "Msg_Exp = ");
	fm_katfile_add(f, text, strlen(text));
	for (size_t half = 0; half < 2; half++) {
		const unsigned char *at = half == 0 ? msg : msg + len - 8;

		for (size_t i = 0; i < 8; i++) {
			snprintf(text, sizeof text, "%02X", at[i]);
			fm_katfile_add(f, text, 2);
		}
		fm_katfile_add(f, half == 0 ? " .... " : "\n", half == 0 ? 6 : 1);
	}
}

/* One record of KAT_2_23 or KAT_2_33; tag is the seed's text, or NULL. */
static enum fm_kat_status long_record(struct fm_kat *k, struct fm_katfile *f,
        const unsigned char *msg, size_t len, const char *tag)
{
	unsigned char seed[FM_DRNG_SEED_MAX];
	enum fm_kat_status status = fm_kat_call(k, msg, fm_library_bits(len));

	for (size_t i = 0; tag != NULL && i < sizeof seed; i++)
		seed[i] = (unsigned char)tag[i % 8];
	fm_katfile_number(f, "Msg_Len", fm_library_bits(len));
	fm_katfile_hex(f, "Msg_Seed", seed, tag == NULL ? 0 : sizeof seed);
	add_excerpt(f, msg, len);
	fm_katfile_number(f, "Dst_Len", k->digest_bits);
	fm_katfile_hex(f, "Dst", k->digest.data, digest_bytes(k));
	fm_katfile_gap(f);
	return status;
}

static void name_record(struct fm_kat *k, const char *tag, unsigned record)
{
	snprintf(k->where, sizeof k->where, "%s, record %u of 3", tag, record);
}

static enum fm_kat_status generate_2_23(struct fm_kat *k, struct fm_katfile *f)
{
	const size_t len = k->message.len;
	struct fm_drng drng;
	enum fm_kat_status status;

	name_record(k, "KAT_2_23", 1);
	memset(k->message.data, 0x00, len);
	if ((status = long_record(k, f, k->message.data, len, NULL)) != FM_KAT_PASS)
		return status;
	name_record(k, "KAT_2_23", 2);
	memset(k->message.data, 0xff, len);
	if ((status = long_record(k, f, k->message.data, len, NULL)) != FM_KAT_PASS)
		return status;
	name_record(k, "KAT_2_23", 3);
	fm_drng_init_tag(&drng, "KAT_2_23");
	fm_drng_get(&drng, k->message.data, fm_library_bits(len));
	return long_record(k, f, k->message.data, len, "KAT_2_23");
}

/* Messages of 1 GiB: zeros cost no memory, the ones are made and given back, the random one is
 * mapped. */
static enum fm_kat_status generate_2_33(struct fm_kat *k, struct fm_katfile *f)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	const size_t len = FM_KAT_LONG_BYTES;
	enum fm_kat_status status = FM_KAT_LOADFAIL;
	unsigned char *msg = mmap(NULL, len, PROT_READ, flags, -1, 0);

	if (k->message_2_33 == NULL || msg == MAP_FAILED) {
		fm_fail(FM_ERR_MEMORY, "no 1 GiB message for KAT_2_33");
		return status;
	}
	name_record(k, "KAT_2_33", 1);
	status = long_record(k, f, msg, len, NULL);
	munmap(msg, len);
	if (status != FM_KAT_PASS)
		return status;
	if ((msg = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, -1, 0)) == MAP_FAILED) {
		fm_fail(FM_ERR_MEMORY, "no memory for the second message of KAT_2_33");
		return FM_KAT_LOADFAIL;
	}
	name_record(k, "KAT_2_33", 2);
	memset(msg, 0xff, len);
	status = long_record(k, f, msg, len, NULL);
	munmap(msg, len);
	if (status != FM_KAT_PASS)
		return status;
	name_record(k, "KAT_2_33", 3);
	return long_record(k, f, k->message_2_33, len, "KAT_2_33");
}

static enum fm_kat_status generate_loop(struct fm_kat *k, struct fm_katfile *f)
{
	const size_t step = k->digest_bits / 8;
	unsigned char *msg = k->message.data, head[LOOP_BYTES];
	struct fm_drng drng;
	enum fm_kat_status status;

	if (step == 0 || step > LOOP_BYTES || k->digest_bits % 8 != 0) {
		fm_fail(FM_ERR_KAT, "KAT_Loop has no meaning for %u digest bits", k->digest_bits);
		return FM_KAT_LOADFAIL;
	}
	fm_drng_init_tag(&drng, "KAT_Loop");
	fm_drng_get(&drng, msg, 8 * LOOP_BYTES);
	fm_katfile_number(f, "Msg_Len", 8 * LOOP_BYTES);
	fm_katfile_hex(f, "Msg", msg, LOOP_BYTES);
	snprintf(k->where, sizeof k->where, "KAT_Loop, first call");
	status = fm_kat_call(k, msg, 8 * LOOP_BYTES);
	for (unsigned round = 1; round <= LOOP_ROUNDS && status == FM_KAT_PASS; round++) {
		memcpy(head, msg, step);
		memmove(msg, msg + step, LOOP_BYTES - step);
		memcpy(msg + LOOP_BYTES - step, head, step);
		for (size_t i = 0; i < step; i++)
			msg[i] ^= k->digest.data[i];
		if (round % 1000 == 0 || round == 1)
			snprintf(k->where, sizeof k->where, "KAT_Loop, near round %u", round);
		status = fm_kat_call(k, msg, 8 * LOOP_BYTES);
	}
	fm_katfile_number(f, "Dst_Len", k->digest_bits);
	fm_katfile_hex(f, "Dst", k->digest.data, digest_bytes(k));
	fm_katfile_gap(f);
	return status;
}

static const struct {
	const char *tag;
	enum fm_kat_status (*generate)(struct fm_kat *, struct fm_katfile *);
} files[] = {
        {"KAT_2_12", generate_2_12},
        {"KAT_2_23", generate_2_23},
        {"KAT_2_33", generate_2_33},
        {"KAT_Loop", generate_loop},
};

enum fm_kat_status fm_kat_generate(struct fm_kat *k, const char *tag, char hex[65], uint64_t *bytes)
{
	struct fm_katfile f;
	enum fm_kat_status status = FM_KAT_LOADFAIL;
	size_t i, count = sizeof files / sizeof files[0];

	hex[0] = '\0';
	*bytes = 0;
	for (i = 0; i < count && strcmp(files[i].tag, tag) != 0; i++)
		;
	if (i == count) {
		fm_fail(FM_ERR_FORM, "no known-answer file has the tag %s", tag);
		return status;
	}
	fm_katfile_start(&f);
	status = files[i].generate(k, &f);
	if (fm_katfile_end(&f, hex, bytes) != FM_OK && status == FM_KAT_PASS)
		status = FM_KAT_LOADFAIL;
	return status;
}

/* Cuts line at '|' into its five fields; the note may hold anything. */
static int split_vector(char *line, char *field[5])
{
	for (size_t i = 0; i < 5; i++) {
		field[i] = line;
		if (i == 4)
			return FM_OK;
		if ((line = strchr(line, '|')) == NULL)
			return fm_fail(
			        FM_ERR_FORM, "a vector must be instance|bits|message|digest|note");
		*line++ = '\0';
	}
	return FM_OK;
}

/* Message hex ("-": empty) of a line into the message buffer. */
static int vector_message(struct fm_kat *k, const char *bits_text, const char *hex, uint64_t *bits)
{
	int rc = fm_parse_u64(bits_text, fm_library_bits(k->message.len), bits);
	size_t len;

	if (rc != FM_OK)
		return fm_wrap(rc, "vector's message bits");
	len = (size_t)((*bits + 7) / 8);
	if (strcmp(hex, "-") == 0)
		hex = "";
	if (strlen(hex) != 2 * len)
		return fm_fail(FM_ERR_FORM, "vector of %" PRIu64 " bits has %zu hex digits", *bits,
		        strlen(hex));
	return fm_unhex(hex, k->message.data, len);
}

/* Writes one line again with the digest computed here. equal tells whether it is the same. */
static enum fm_kat_status rewrite_vector(
        struct fm_kat *k, struct fm_sha256 *h, char *line, bool *equal)
{
	char *field[5], *hex = NULL;
	uint64_t bits;
	enum fm_kat_status status = FM_KAT_LOADFAIL;

	*equal = false;
	if (split_vector(line, field) != FM_OK ||
	        vector_message(k, field[1], field[2], &bits) != FM_OK)
		return status;
	snprintf(k->where, sizeof k->where, "vector of %" PRIu64 " bits (%.80s)", bits, field[4]);
	if ((status = fm_kat_call(k, k->message.data, bits)) != FM_KAT_PASS)
		return status;
	if ((hex = fm_alloc_array(2 * digest_bytes(k) + 1, 1)) == NULL)
		return FM_KAT_LOADFAIL;
	fm_hex(k->digest.data, digest_bytes(k), hex);
	*equal = strcmp(hex, field[3]) == 0;
	field[3] = hex;
	for (size_t i = 0; i < 5; i++) {
		fm_sha256_add(h, field[i], strlen(field[i]));
		fm_sha256_add(h, i < 4 ? "|" : "\n", 1);
	}
	free(hex);
	return status;
}

enum fm_kat_status fm_kat_vectors(
        struct fm_kat *k, char hex[65], uint64_t *lines, uint64_t *agreed, char *first, size_t size)
{
	struct fm_sha256 h;
	enum fm_kat_status status = FM_KAT_PASS;
	const size_t prefix = strlen(k->instance);
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	*lines = *agreed = 0;
	first[0] = '\0';
	fm_sha256_start(&h);
	while (status == FM_KAT_PASS && (len = getline(&line, &room, k->vectors)) > 0) {
		bool equal;

		if ((size_t)len > LINE_MAX_BYTES) {
			fm_fail(FM_ERR_SIZE, "a line of the vectors file has more than %u bytes",
			        LINE_MAX_BYTES);
			status = FM_KAT_LOADFAIL;
			break;
		}
		if (strncmp(line, k->instance, prefix) != 0 || line[prefix] != '|')
			continue;
		line[strcspn(line, "\n")] = '\0';
		status = rewrite_vector(k, &h, line, &equal);
		*lines += 1;
		*agreed += equal;
		if (!equal && first[0] == '\0' && status == FM_KAT_PASS)
			snprintf(first, size, "line %" PRIu64 " of this instance, %s", *lines,
			        k->where);
	}
	fm_sha256_end(&h, hex);
	free(line);
	return status;
}
