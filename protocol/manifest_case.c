/* manifest_case.c: tells, along sorted paths, whether two of them may differ only in case. Two that
 * do share a folder with two names that do; what lies in one folder stands together in the order.
 */
#include "protocol/manifest_parts.h"
#include "protocol/path.h"
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64 /* a power of two */

/* The names seen in the folder of this depth that is open now, as hashes of their lower case; 0 is
 * no hash. */
struct level {
	char name[FM_PART_MAX + 1]; /* the last one */
	uint64_t *slots;
	size_t size, used;
};
struct fm_manifest_case {
	struct level level[FM_PARTS_MAX];
	bool suspect;
};

int fm_manifest_case_new(struct fm_manifest_case **out)
{
	*out = fm_alloc(sizeof **out);
	return *out == NULL ? FM_ERR_MEMORY : FM_OK;
}

void fm_manifest_case_free(struct fm_manifest_case *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < FM_PARTS_MAX; i++)
		free(w->level[i].slots);
	free(w);
}

/* FNV-1a, 64 bit (Fowler, Noll, Vo), with the bits mixed once more so that the low ones choose. */
static uint64_t hash_lower(const char *name, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		h = (h ^ (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c)) *
		    0x100000001b3u;
	}
	h ^= h >> 32;
	return h == 0 ? 1 : h;
}

/* True if it was there. */
static bool put(uint64_t *slots, size_t size, uint64_t hash)
{
	size_t at = (size_t)hash & (size - 1);

	while (slots[at] != 0 && slots[at] != hash)
		at = (at + 1) & (size - 1);
	if (slots[at] == hash)
		return true;
	slots[at] = hash;
	return false;
}

static int grow(struct level *l)
{
	size_t size = l->size == 0 ? SLOTS_MIN : 2 * l->size;
	uint64_t *slots = fm_alloc_array(size, sizeof *slots);

	if (slots == NULL)
		return FM_ERR_MEMORY;
	memset(slots, 0, size * sizeof *slots);
	for (size_t i = 0; i < l->size; i++)
		if (l->slots[i] != 0)
			(void)put(slots, size, l->slots[i]);
	free(l->slots);
	l->slots = slots;
	l->size = size;
	return FM_OK;
}

/* The folder is left: what was a large one gives its memory back. */
static void leave(struct level *l)
{
	l->name[0] = '\0';
	l->used = 0;
	if (l->size > SLOTS_MIN) {
		free(l->slots);
		l->slots = NULL;
		l->size = 0;
	} else if (l->size > 0) {
		memset(l->slots, 0, l->size * sizeof *l->slots);
	}
}

int fm_manifest_case_add(struct fm_manifest_case *w, const char *path)
{
	bool same = true; /* as the path before, up to here */
	int rc;

	for (size_t depth = 0; depth < FM_PARTS_MAX && *path != '\0'; depth++) {
		struct level *l = &w->level[depth];
		size_t len = strcspn(path, "/");

		if (len > FM_PART_MAX)
			return fm_fail(FM_ERR_INTERNAL, "manifest: a name of %zu bytes", len);
		if (!same || strncmp(l->name, path, len) != 0 || l->name[len] != '\0') {
			for (size_t below = depth + 1; same && below < FM_PARTS_MAX; below++)
				leave(&w->level[below]);
			same = false;
			if (2 * l->used >= l->size && (rc = grow(l)) != FM_OK)
				return rc;
			w->suspect |= put(l->slots, l->size, hash_lower(path, len));
			l->used++;
			memcpy(l->name, path, len);
			l->name[len] = '\0';
		}
		path += len + (path[len] == '/');
	}
	return FM_OK;
}

bool fm_manifest_case_suspect(const struct fm_manifest_case *w)
{
	return w->suspect;
}
