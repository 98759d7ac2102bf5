/* fuzz_resolve.c: whatever `ssh -G` prints, what is taken of it is whole and within its limits. */
#include "orchestrator/ssh_resolve.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define CAP (1u << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[] = "x86_1", address[] = "bench";
	struct fm_system system;
	struct fm_ssh_target t;
	char *text;

	if (size > CAP || memchr(data == NULL ? (const void *)"" : data, 0, size) != NULL ||
	        (text = malloc(size + 1)) == NULL)
		return 0;
	memset(&system, 0, sizeof system);
	memcpy(text, size == 0 ? (const void *)"" : data, size);
	text[size] = '\0';
	(void)snprintf(system.name, sizeof system.name, "%s", name);
	system.address = address;
	if (fm_ssh_target_parse(&system, text, &t) == FM_OK) {
		must(t.port >= 1 && t.port <= 65535 && t.hostname[0] != '\0');
		must(t.identity_count <= FM_SSH_IDENTITIES);
		must(t.known_hosts_count <= FM_SSH_KNOWN_HOSTS);
		for (size_t i = 0; i < t.identity_count; i++)
			must(t.identity[i] != NULL);
		fm_ssh_target_free(&t);
	}
	free(text);
	return 0;
}
