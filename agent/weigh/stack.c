/* stack.c: a painted stack that tells how deep a function wrote. */
#include "agent/weigh/stack.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATTERN 0xa5c3965a3c69f00du

static unsigned char *bottom, *top; /* of the reserved space without its guard pages */
static size_t region;
static uint64_t paint;

int fm_stack_open(size_t first)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *map;

	if (first == 0 || first % page != 0 || first > FM_STACK_MOST)
		return fm_fail(FM_ERR_FORM, "stack_region %zu: whole pages up to %zu", first,
		        FM_STACK_MOST);
	map = mmap(NULL, FM_STACK_MOST + 2 * page, PROT_NONE,
	        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return fm_fail_errno("reserving %zu bytes for a stack", FM_STACK_MOST);
	bottom = map + page;
	top = bottom + FM_STACK_MOST;
	if (mprotect(top - first, first, PROT_READ | PROT_WRITE) != 0)
		return fm_fail_errno("a stack of %zu bytes", first);
	region = first;
	return FM_OK;
}

static void fill(unsigned char *from, const unsigned char *to)
{
	for (uint64_t *p = (uint64_t *)(void *)from; (unsigned char *)p < to; p++)
		*p = paint;
}

bool fm_stack_mend(const void *address)
{
	const unsigned char *at = address;
	unsigned char *old = top - region;
	size_t size = region;

	if (at < bottom || at >= old)
		return false;
	while (at < top - size)
		size *= 2;
	if (size > FM_STACK_MOST)
		size = FM_STACK_MOST;
	if (mprotect(top - size, size - region, PROT_READ | PROT_WRITE) != 0)
		return false;
	region = size;
	fill(top - size, old);
	return true;
}

size_t fm_stack_region(void)
{
	return region;
}

/* function(arg) with the stack pointer at top. Written out for each processor, since not every libc
 * has makecontext. */
static void call_on_top(void (*function)(void *), void *arg)
{
	void *sp = top;
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
	                 "movq %%rsi, %%rsp\n\t"
	                 "callq *%%rax\n\t"
	                 "movq %%rbx, %%rsp"
	                 : "+a"(function), "+D"(arg), "+S"(sp)
	                 :
	                 : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0",
	                 "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
	                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
	register void *x0 __asm__("x0") = arg;
	register void *x1 __asm__("x1") = sp;
	register void (*x2)(void *) __asm__("x2") = function;

	__asm__ volatile("mov x19, sp\n\t"
	                 "mov sp, x1\n\t"
	                 "blr x2\n\t"
	                 "mov sp, x19"
	                 : "+r"(x0), "+r"(x1), "+r"(x2)
	                 :
	                 : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
	                 "x14", "x15", "x16", "x17", "x18", "x19", "x30", "cc", "memory", "v0",
	                 "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
	                 "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22",
	                 "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#else
#error "fleetmark measures on x86-64 and aarch64"
#endif
}

static size_t depth(void (*function)(void *), void *arg, uint64_t pattern)
{
	const unsigned char *at;
	uint64_t kept;

	paint = pattern;
	fill(top - region, top);
	call_on_top(function, arg);
	kept = paint;
	at = top - region;
	while (at < top && *(const uint64_t *)(const void *)at == kept)
		at += sizeof kept;
	while (at < top && *at == ((const unsigned char *)&kept)[(uintptr_t)at % sizeof kept])
		at++;
	return (size_t)(top - at);
}

/* A byte that was written with what the first pattern has there is not that of the second. */
size_t fm_stack_run(void (*function)(void *), void *arg)
{
	size_t one = depth(function, arg, PATTERN), two = depth(function, arg, ~PATTERN);

	return one > two ? one : two;
}
