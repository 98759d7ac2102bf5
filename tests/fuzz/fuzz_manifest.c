/* fuzz_manifest.c: what the parser of manifests takes is exactly what a writer would write; read in
 * passes from a file the same is taken, line by line, and nothing else. */
#include "protocol/digest.h"
#include "protocol/manifest_file.h"
#include "tests/fuzz/fuzz.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAP (1u << 16)

static char folder[] = "/tmp/fleetmark-fuzz-XXXXXX";
static int dirfd_ = -1, file = -1;

static void clean(void)
{
	(void)unlinkat(dirfd_, "m", 0);
	(void)rmdir(folder);
}

/* The file "m" of a folder of our own, which goes at the end. */
static void open_once(void)
{
	if (file >= 0)
		return;
	must(fm_crypto_init() == FM_OK && mkdtemp(folder) != NULL);
	must((dirfd_ = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
	must((file = openat(dirfd_, "m", O_RDWR | O_CREAT | O_CLOEXEC, 0600)) >= 0);
	must(atexit(clean) == 0);
}

/* The same bytes in passes: m is what the other parser made of them, NULL if it refused them. */
static void in_passes(const uint8_t *data, size_t size, const struct fm_manifest *m)
{
	struct fm_manifest_file *f;
	struct fm_manifest_source lines;
	struct fm_manifest_entry e;
	bool outside = false;
	void *pass;

	open_once();
	must(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
	must(fm_manifest_file_open(dirfd_, "m", FM_SEAL_TREE, &f) == FM_OK);
	for (size_t i = 0; m != NULL && i < m->count; i++)
		outside |= fm_manifest_outside(FM_SEAL_TREE, m->entries[i].path);
	must((fm_manifest_file_parse(f) == FM_OK) == (m != NULL && !outside));
	if (m != NULL) {
		lines = fm_manifest_file_source(f);
		must(lines.count == m->count && (pass = lines.begin(lines.of)) != NULL);
		for (size_t i = 0; i < m->count; i++) {
			must(lines.next(pass, &e) == 1);
			must(strcmp(e.hex, m->entries[i].hex) == 0);
			must(strcmp(e.path, m->entries[i].path) == 0);
		}
		must(lines.next(pass, &e) == 0);
		lines.end(pass);
	}
	fm_manifest_file_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_buf again = FM_BUF_INIT(CAP);
	struct fm_manifest m;

	if (size > CAP)
		return 0;
	if (fm_manifest_parse((const char *)data, size, CAP, &m) != FM_OK) {
		must(m.entries == NULL && m.text == NULL);
		in_passes(data, size, NULL);
		return 0;
	}
	must(m.count >= 1);
	for (size_t i = 0; i < m.count; i++) {
		must(fm_manifest_find(&m, m.entries[i].path) == &m.entries[i]);
		must(fm_buf_printf(&again, "%s  %s\n", m.entries[i].hex, m.entries[i].path) ==
		        FM_OK);
	}
	must(again.len == size && memcmp(again.data, data, size) == 0);
	in_passes(data, size, &m);
	fm_buf_free(&again);
	fm_manifest_free(&m);
	return 0;
}
