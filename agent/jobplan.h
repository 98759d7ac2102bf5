/* jobplan.h: what the agent is told to do: the sealed plan text of its system and the dispatch
 * (FORMATS.md section 5). */
#ifndef FM_AGENT_JOBPLAN_H
#define FM_AGENT_JOBPLAN_H

#include "protocol/identity.h"
#include "protocol/jobtext.h"
#include "protocol/path.h"

struct fm_jp_strings {
	const char **at;
	size_t count;
};
struct fm_jp_version {
	const char *version, *flags, *mark; /* mark "" if none */
	struct fm_jp_strings sources, operations;
};
struct fm_jp_instance {
	const char *instance, *digest, *header, *kat_name;
	unsigned digest_bits;
	struct fm_jp_strings include, define, lib, kat_lines;
	struct fm_jp_version *versions;
	size_t version_count;
};
struct fm_jp_candidate {
	const char *candidate, *vectors_file; /* NULL if none */
	char source[65], tree[65];
	struct fm_jp_instance *instances;
	size_t instance_count;
};

/* The plan text; strings point into it. */
struct fm_jobplan {
	struct fm_text text;
	char campaign[FM_NAME_MAX + 1], system[FM_NAME_MAX + 1], nonce[65], agent_source[65];
	const char *arch, *profile, *kat, *additions, *fallback;
	struct fm_public key;
	int64_t cpu;
	const char *counter; /* "raw", or NULL */
	struct fm_jp_candidate *candidates;
	size_t candidate_count;
};

/* Reads it strictly: order of keys, names, paths, limits. FM_ERR_FORM / FM_ERR_NAME with the line.
 */
FM_CHECK int fm_jobplan_parse(const char *bytes, size_t len, struct fm_jobplan *out);
void fm_jobplan_free(struct fm_jobplan *p);
const struct fm_jp_candidate *fm_jobplan_candidate(const struct fm_jobplan *p, const char *name);

/* Message bytes of hash_<bytes>, 0 for anything else. */
unsigned fm_jobplan_bytes(const char *operation);

struct fm_dispatch_item {
	char candidate[FM_NAME_MAX + 1], nonce[65];
	unsigned attempt; /* 1..99 */
};
struct fm_dispatch {
	char campaign[FM_NAME_MAX + 1], system[FM_NAME_MAX + 1], plan_sha256[65];
	uint64_t lease_s, deadline_s;
	struct fm_dispatch_item *items;
	size_t item_count;
};
FM_CHECK int fm_dispatch_parse(const char *bytes, size_t len, struct fm_dispatch *out);
void fm_dispatch_free(struct fm_dispatch *d);

#endif
