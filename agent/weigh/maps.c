/* maps.c: which address ranges of this process are new since a mark. */
#include "agent/weigh/maps.h"

#include "agent/weigh/heap.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANGES 4096
#define TEXT   (512u << 10)

struct ranges {
	struct {
		uintptr_t begin, end;
	} at[RANGES];
	size_t count;
	bool known;
};
static struct ranges marked, seen;
static char text[TEXT];
static int fd = -1;

void fm_maps_open(void)
{
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

/* An emulator makes the file when it is opened, so it is opened again where that is allowed. */
static size_t read_text(void)
{
	int again = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), from = again >= 0 ? again : fd;
	size_t len = 0;
	ssize_t n;

	while (from >= 0 && len < TEXT - 1 &&
	        (n = pread(from, text + len, TEXT - 1 - len, (off_t)len)) > 0)
		len += (size_t)n;
	if (again >= 0)
		close(again);
	text[len] = '\0';
	return len;
}

/* "begin-end perms offset dev inode path" */
static void read_ranges(struct ranges *r)
{
	size_t len = read_text();

	r->count = 0;
	r->known = len > 0 && len < TEXT - 1;
	for (char *line = text, *lf; r->known && (lf = strchr(line, '\n')) != NULL; line = lf + 1) {
		char *dash;
		uintptr_t begin = strtoull(line, &dash, 16), end;

		*lf = '\0';
		end = *dash == '-' ? strtoull(dash + 1, NULL, 16) : 0;
		if (end <= begin || r->count == RANGES) {
			r->known = false;
			return;
		}
		if (strstr(line, "[heap]") != NULL || strstr(line, "[stack]") != NULL)
			continue;
		r->at[r->count].begin = begin;
		r->at[r->count++].end = end;
	}
}

void fm_maps_mark(void)
{
	read_ranges(&marked);
}

/* Of begin..end what no marked range holds (both lists rise), less what the heap explains. */
static uint64_t new_bytes(uintptr_t begin, uintptr_t end)
{
	uint64_t sum = 0, explained;

	for (size_t i = 0; i <= marked.count && begin < end; i++) {
		uintptr_t to =
		        i == marked.count || marked.at[i].begin > end ? end : marked.at[i].begin;

		if (to > begin) {
			explained = fm_heap_mapped(begin, to);
			sum += to - begin > explained ? to - begin - explained : 0;
		}
		if (i < marked.count && marked.at[i].end > begin)
			begin = marked.at[i].end;
	}
	return sum;
}

int64_t fm_maps_unaccounted(void)
{
	uint64_t sum = 0;

	read_ranges(&seen);
	if (!marked.known || !seen.known)
		return -1;
	for (size_t i = 0; i < seen.count; i++)
		sum += new_bytes(seen.at[i].begin, seen.at[i].end);
	return (int64_t)sum;
}
