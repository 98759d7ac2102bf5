/* heap.c: the allocator functions of this program, counting what measured code asks for. */
#include "agent/weigh/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define SLOTS  16384u /* a power of two; at most three quarters are used */
#define ARENA  16384u /* bytes for requests that come while libc's functions are looked for */
#define HEADER 16u    /* of libc before a block: on mapped blocks it shares their pages */

static struct slot {
	uintptr_t at; /* 0: free */
	uint64_t requested, usable;
} table[SLOTS];
static size_t used;
static bool counting;
static struct fm_heap now;

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
} libc;
static bool ready, resolving;

static _Alignas(16) unsigned char arena[ARENA];
static size_t arena_used;

/* Never given back. NULL when it is full. */
static void *arena_take(size_t size)
{
	unsigned char *at = arena + arena_used;

	if (size > ARENA - arena_used)
		return NULL;
	arena_used += (size + 15) / 16 * 16;
	if (arena_used > ARENA)
		arena_used = ARENA;
	return at;
}

static bool in_arena(const void *p)
{
	return (uintptr_t)p >= (uintptr_t)arena && (uintptr_t)p < (uintptr_t)arena + ARENA;
}

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises these bytes. */
static void find(const char *symbol, void *function)
{
	void *object = dlsym(RTLD_NEXT, symbol);

	if (object == NULL)
		_exit(1); /* a libc without malloc */
	memcpy(function, &object, sizeof object);
}

static void resolve(void)
{
	resolving = true;
	find("malloc", &libc.malloc);
	find("calloc", &libc.calloc);
	find("realloc", &libc.realloc);
	find("free", &libc.free);
	find("memalign", &libc.memalign);
	resolving = false;
	ready = true;
}

/* Whether libc's functions can be called: not while they are being looked for. */
static bool have_libc(void)
{
	if (!ready && !resolving)
		resolve();
	return ready;
}

static size_t home(uintptr_t at)
{
	return (size_t)((at >> 4) * 0x9e3779b97f4a7c15u >> 40) % SLOTS;
}

static void remember(void *p, uint64_t requested)
{
	size_t i = home((uintptr_t)p);
	uint64_t usable = malloc_usable_size(p);

	if (used == FM_HEAP_BLOCKS) {
		now.lost = true;
		return;
	}
	while (table[i].at != 0)
		i = (i + 1) % SLOTS;
	table[i] = (struct slot){(uintptr_t)p, requested, usable};
	used++;
	now.requested += requested;
	now.usable += usable;
	if (now.requested > now.requested_peak)
		now.requested_peak = now.requested;
	if (now.usable > now.usable_peak)
		now.usable_peak = now.usable;
}

/* Takes a block out, if it was counted; what it had hidden by probing moves up. */
static void forget(const void *p)
{
	size_t i = home((uintptr_t)p), hole, k;

	while (table[i].at != (uintptr_t)p) {
		if (table[i].at == 0)
			return;
		i = (i + 1) % SLOTS;
	}
	now.requested -= table[i].requested;
	now.usable -= table[i].usable;
	used--;
	for (hole = i, k = (i + 1) % SLOTS; table[k].at != 0; k = (k + 1) % SLOTS)
		if ((k - home(table[k].at)) % SLOTS >= (k - hole) % SLOTS) {
			table[hole] = table[k];
			hole = k;
		}
	table[hole].at = 0;
}

static void *made(void *p, uint64_t requested)
{
	if (p != NULL && counting) {
		now.allocs++;
		remember(p, requested);
	}
	return p;
}

void fm_heap_start(void)
{
	(void)have_libc();
	for (size_t i = 0; i < SLOTS; i++)
		*(volatile uintptr_t *)&table[i].at = 0;
}

void fm_heap_count(bool on)
{
	counting = on;
}

const struct fm_heap *fm_heap_now(void)
{
	return &now;
}

uint64_t fm_heap_mapped(uintptr_t begin, uintptr_t end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), sum = 0;

	for (size_t i = 0; i < SLOTS; i++)
		if (table[i].at >= begin && table[i].at < end)
			sum += (table[i].usable + HEADER + page - 1) / page * page;
	return sum;
}

EXPORT void *malloc(size_t size)
{
	return have_libc() ? made(libc.malloc(size), size) : arena_take(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	if (!have_libc()) /* the arena is still as it was loaded: zero */
		return size != 0 && count > ARENA / size ? NULL : arena_take(count * size);
	return made(libc.calloc(count, size), (uint64_t)count * size);
}

EXPORT void *realloc(void *old, size_t size)
{
	uint64_t left = (uintptr_t)arena + ARENA - (uintptr_t)old;
	void *p;

	if (in_arena(old) || !have_libc()) {
		if ((p = malloc(size)) != NULL && old != NULL)
			memcpy(p, old, size < left ? size : (size_t)left);
		return p;
	}
	p = libc.realloc(old, size);
	if (old != NULL && (p != NULL || size == 0))
		forget(old);
	return made(p, size);
}

EXPORT void free(void *p)
{
	if (p == NULL || in_arena(p) || !have_libc())
		return;
	forget(p);
	libc.free(p);
}

EXPORT void *memalign(size_t align, size_t size)
{
	return have_libc() ? made(libc.memalign(align, size), size) : NULL;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

EXPORT int posix_memalign(void **out, size_t align, size_t size)
{
	void *p;

	if (align % sizeof(void *) != 0 || align == 0 || (align & (align - 1)) != 0)
		return EINVAL;
	if ((p = memalign(align, size)) == NULL)
		return ENOMEM;
	*out = p;
	return 0;
}

EXPORT void *valloc(size_t size)
{
	return memalign((size_t)sysconf(_SC_PAGESIZE), size);
}

EXPORT void *pvalloc(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return size > SIZE_MAX - page ? NULL : memalign(page, (size + page - 1) / page * page);
}
