/* compare.h: cells of two sides (trees, systems or versions) in pairs, with intervals that hold
 * together. */
#ifndef FM_COMPARE_H
#define FM_COMPARE_H

#include "orchestrator/cells.h"
#include "orchestrator/dataset.h"
#include "orchestrator/report_parts.h"

/* A tree, or a data set of the published form. */
struct fm_input {
	const char *path;
	bool tree;
	int dirfd;               /* of a tree */
	struct fm_report report; /* of a tree; what is derived is dropped */
	struct fm_dataset data;
	char number[65]; /* SHA-256 of a tree's manifest, "" if it is not sealed */
};
/* base (or NULL) becomes the first system of a tree. FM_ERR_USAGE: neither a tree nor a data set.
 */
FM_CHECK int fm_input_open(const char *path, const char *base, struct fm_input *out);
void fm_input_close(struct fm_input *in);

size_t fm_input_systems(const struct fm_input *in);
const char *fm_input_system(const struct fm_input *in, size_t i);
size_t fm_input_candidates(const struct fm_input *in);
const char *fm_input_candidate(const struct fm_input *in, size_t i);

/* The cells of one candidate on one system, sorted; none if it has none there. source: digest of
 * the candidate's sources, "" if unknown. */
FM_CHECK int fm_input_cells(struct fm_input *in, size_t system, const char *candidate,
        struct fm_cells *cells, char source[65]);

/* What is known of a system, in the order of fm_fact_name; "" is unknown. Of a tree only once its
 * cells have been read. */
#define FM_FACTS 12
extern const char *const fm_fact_name[FM_FACTS];
struct fm_facts {
	char text[FM_FACTS][512];
};
void fm_input_facts(const struct fm_input *in, size_t system, struct fm_facts *out);

/* How a quantity of a pair came out. */
struct fm_compare_value {
	double mean[2], variance[2]; /* per call, of the process means; NAN: none */
	size_t n[2];                 /* processes */
	struct fm_log_ratio rounds;  /* B / A in the rounds that both ran in; n 0: in none */
	struct fm_ratio ratio;       /* B / A, filled by fm_compare_finish */
};
enum fm_verdict {
	FM_VERDICT_LESS,       /* B needs less: the whole interval lies below 1 */
	FM_VERDICT_MORE,       /* above 1 */
	FM_VERDICT_SAME,       /* no difference shown: it holds 1 */
	FM_VERDICT_OPEN,       /* no interval: too few processes, or profile smoke */
	FM_VERDICT_UNLIKE,     /* labels or scopes that may not be joined, and no time either */
	FM_VERDICT_INCOMPLETE, /* a side has no figure */
	FM_VERDICTS
};
extern const char *const fm_verdict_name[FM_VERDICTS];

struct fm_compare_row {
	size_t pair;           /* of systems */
	const char *candidate; /* kept by the comparison */
	char label[2][FM_LABEL_MAX + 1];
	int64_t bytes;
	char why[96];    /* "not comparable: core_cycles / ref_ticks", "failed in B: measure" ... */
	char *flags;     /* of both sides, or NULL */
	bool not_joined; /* counts with unlike labels */
	struct fm_compare_value cycles, seconds;
	enum fm_verdict verdict;
};
struct fm_compare_pair {
	size_t input[2], system[2];
	char name[2][FM_NAME_MAX + 1];
	struct fm_facts facts[2];
};
struct fm_compare {
	struct fm_input input[2];
	size_t input_count;
	bool versions;                    /* versions of one system against its base version */
	const char *base_version;         /* then */
	const char *systems, *candidates; /* globs joined by commas, NULL: all */
	struct fm_compare_pair *pairs;
	size_t pair_count;
	struct fm_compare_row *rows;
	size_t row_count;
	char **kept; /* candidate ids */
	size_t kept_count;
	struct fm_buf left_out; /* what only one side has, in words */
	struct fm_buf sources;  /* candidates whose sources differ, joined by ", " */
	size_t intervals;       /* made together: m of Bonferroni's 1 - 0.05 / m */
	size_t count[FM_VERDICTS];
	size_t unlike; /* rows with not_joined */
	size_t paired; /* rows whose ratio is one inside rounds */
};

/* Pairs systems and cells. The inputs are open; the rest is empty. */
FM_CHECK int fm_compare_pairs(struct fm_compare *c, const char *base);
FM_CHECK int fm_compare_cells(struct fm_compare *c);
/* Ratios B / A by Fieller, every interval at 1 - 0.05 / m (Bonferroni): with 95 % confidence all of
 * them hold. t at min(n_A, n_B) - 1 degrees of freedom. Versions that ran in the same rounds of
 * profile rigorous: from the logarithms of the pairs, t at their number - 1. */
void fm_compare_finish(struct fm_compare *c);
void fm_compare_free(struct fm_compare *c);

/* compare_text.c: for people, and with json for programs. */
void fm_compare_print(const struct fm_compare *c, bool json);

/* Adds a word to a list joined by ", ". */
FM_CHECK int fm_compare_note(struct fm_buf *list, const char *word);

/* Is name one of these globs joined by commas? NULL: yes. */
bool fm_glob_list(const char *globs, const char *name);

#endif
