/* fuzz_archive.c: whatever a package is, what is listed of it has names that stay inside, each
 * once, and adopt survives it. */
#include "orchestrator/adopt.h"
#include "protocol/fs.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#define CAP (1u << 20)

/* Letters, digits, _ . - and + behind the first, parts never empty: nothing of it leads anywhere.
 */
static bool safe(const char *name)
{
	const char *part = name;

	for (const char *p = name;; p++) {
		if (*p == '/' || *p == '\0') {
			if (p == part || *part == '.' || *part == '-' || *part == '+')
				return false;
			part = p + 1;
			if (*p == '\0')
				return true;
		} else if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_."
		                  "+-",
		                   *p) == NULL) {
			return false;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_package_list l;
	struct fm_adopt a;
	int fd = memfd_create("package", MFD_CLOEXEC);

	must(fd >= 0);
	if (size > CAP || fm_fs_write_all(fd, data, size) != FM_OK ||
	        fm_package_scan(fd, "package", &l) != FM_OK) {
		close(fd);
		return 0;
	}
	for (size_t i = 0; i < l.count; i++) {
		must(safe(l.file[i].name));
		must(i == 0 || strcmp(l.file[i - 1].name, l.file[i].name) < 0);
	}
	fm_package_list_free(&l);
	memset(&a, 0, sizeof a);
	if (fm_adopt_look(fd, "package", &a) == FM_OK)
		(void)!fm_adopt_decide(&a);
	fm_adopt_free(&a);
	close(fd);
	return 0;
}
