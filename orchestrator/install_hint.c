/* install_hint.c: names of packages per distribution. */
#include "orchestrator/install_hint.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct manager {
	const char *ids; /* space separated, with a space at both ends */
	const char *command, *gcc, *sodium;
} managers[] = {
        {" debian ubuntu raspbian linuxmint kylin deepin ", "apt-get install", "gcc libc6-dev",
                "libsodium-dev"},
        {" fedora red rhel centos rocky almalinux ol openeuler anolis amzn ", "dnf install",
                "gcc glibc-devel", "libsodium-devel"},
        {" opensuse opensuse-leap opensuse-tumbleweed sles ", "zypper install", "gcc glibc-devel",
                "libsodium-devel"},
        {" alpine ", "apk add", "gcc musl-dev", "libsodium-dev"},
        {" arch manjaro ", "pacman -S", "gcc", "libsodium"},
};

static const struct tool {
	const char *name, *package; /* package NULL: the manager's gcc or sodium */
} tools[] = {
        {"tar", "tar"},
        {"find", "findutils"},
        {"sha256sum", "coreutils"},
        {"head", "coreutils"},
        {"nproc", "coreutils"},
        {"ld", "binutils"},
        {"as", "binutils"},
        {"readelf", "binutils"},
};

static const struct manager *manager_of(const char *os)
{
	char word[80];
	size_t len = strcspn(os, " /");

	/* "Debian GNU/Linux 12 (bookworm)" as well as "debian" */
	snprintf(word, sizeof word, " %.*s ", (int)(len < 60 ? len : 60), os);
	for (char *p = word; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	for (size_t i = 0; i < sizeof managers / sizeof *managers; i++) {
		if (strstr(managers[i].ids, word) != NULL)
			return &managers[i];
	}
	return NULL;
}

static const char *package_of(const struct manager *m, const char *name)
{
	if (strcmp(name, "gcc") == 0 || strcmp(name, "cc") == 0 || strcmp(name, "cc1") == 0)
		return m->gcc;
	if (strncmp(name, "libsodium", 9) == 0)
		return m->sodium;
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		if (strcmp(name, tools[i].name) == 0)
			return tools[i].package;
	}
	return name;
}

char *fm_install_hint(const char *os, const char *missing, char *out, size_t size)
{
	const struct manager *m = manager_of(os);
	char words[400], *save = NULL;
	size_t used;

	if (m == NULL) {
		snprintf(out, size, "install on the host: %s", missing);
		return out;
	}
	used = (size_t)snprintf(out, size, "%s", m->command);
	snprintf(words, sizeof words, "%s", missing);
	for (char *w = strtok_r(words, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
		const char *package = package_of(m, w);

		if (strstr(out, package) != NULL || used + strlen(package) + 2 > size)
			continue;
		used += (size_t)snprintf(out + used, size - used, " %s", package);
	}
	return out;
}
