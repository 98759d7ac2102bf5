/* estimate.c: a campaign's time from earlier bundles, else from a rule of thumb. */
#include "orchestrator/estimate.h"
#include "orchestrator/evidence.h"
#include "protocol/fs.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000ULL

#define BUILD_NS (2 * SECOND) /* one library */
#define KAT_NS   (SECOND / 3) /* KAT_2_12 and KAT_2_23 */
#define FULL_NS                                                                             \
	(60 * SECOND) /* KAT_2_33: about 46 s on the machine of guide measurements, and its \
	                 message once */
#define LOOP_NS    (8 * SECOND)  /* KAT_Loop: 4 to 16 s of one core for the instances we have */
#define PROCESS_NS (SECOND / 50) /* start, checks, warm-up of one process */
#define BYTE_NS    8             /* 20 cycles at 2.5 GHz */
#define CALL_NS    500           /* what a call costs without bytes */

/* Profile rigorous: 20 processes of 5 ms and at least 8 calls, fewer of slow cells, two calls of
 * the slowest; spread may ask for up to three times as many. */
static uint64_t rigorous_cell(uint64_t t1)
{
	const uint64_t budget = 900 * SECOND;
	uint64_t part = t1 > SECOND / 1600 ? 8 * t1 : SECOND / 200,
	         cost = PROCESS_NS + part + 3 * t1, n;

	if (60 * cost <= budget)
		return 21 * cost;
	if (6 * cost > budget)
		cost = PROCESS_NS + 3 * t1;
	n = budget / cost;
	return (n > 60                                                      ? 60
	               : n > 6 && 6 * (PROCESS_NS + part + 3 * t1) > budget ? 6
	               : n < 1                                              ? 1
	                                                                    : n) *
	       cost;
}

uint64_t fm_estimate_cell(const char *profile, uint64_t t1_ns)
{
	uint64_t t1 = t1_ns == 0 ? 1 : t1_ns, calls = (SECOND + t1 - 1) / t1, processes = 5;

	if (strcmp(profile, "rigorous") == 0)
		return rigorous_cell(t1);
	if (strcmp(profile, "smoke") == 0) {
		processes = 2;
		calls = SECOND / 1000 / t1 + 2;
	} else { /* as profile guide plans its processes */
		calls = calls < 20 ? 20 : calls > 20000 ? 20000 : calls;
		if (processes * calls > 900 * SECOND / t1) /* the cell's budget is 900 s */
			calls = 900 * SECOND / t1 / processes > 20 ? 900 * SECOND / t1 / processes
			                                           : 20;
	}
	return (processes + 1) * PROCESS_NS + processes * calls * t1;
}

/* The newest evidence of this system for this candidate below results/<campaign>/bundles/; *found
 * tells whether there is one. Trees are not verified here: an estimate may be wrong. */
static int newest_evidence(const char *results, const char *system, const char *candidate,
        struct fm_evidence *out, bool *found)
{
	DIR *dir = opendir(results);
	struct dirent *entry;
	int rc = FM_OK;

	*found = false;
	if (dir == NULL)
		return FM_OK;
	while (rc == FM_OK && (entry = readdir(dir)) != NULL) {
		struct fm_evidence e;
		char *path;
		int fd = -1;

		if (!fm_name_ok(entry->d_name))
			continue;
		if ((path = fm_sprintf("%s/bundles/%s/%s", entry->d_name, system, candidate)) ==
		        NULL) {
			rc = FM_ERR_MEMORY;
			break;
		}
		if (fm_fs_dir(dirfd(dir), path, &fd) == FM_OK &&
		        fm_evidence_read(fd, &e) == FM_OK) {
			/* equal times: the greater name, so that the order of the folder decides
			 * nothing */
			if (!*found || strcmp(e.clock.started_at, out->clock.started_at) > 0 ||
			        (strcmp(e.clock.started_at, out->clock.started_at) == 0 &&
			                strcmp(e.campaign, out->campaign) > 0)) {
				if (*found)
					fm_evidence_free(out);
				*out = e;
				*found = true;
			} else {
				fm_evidence_free(&e);
			}
		}
		if (fd >= 0)
			close(fd);
		free(path);
	}
	closedir(dir);
	return rc;
}

static uint64_t earlier_t1(const struct fm_evidence *e, const struct fm_cell *cell)
{
	for (size_t i = 0; i < e->measured_count; i++)
		if (strcmp(e->measured[i].instance, cell->instance) == 0 &&
		        strcmp(e->measured[i].version, cell->version) == 0 &&
		        strcmp(e->measured[i].operation, cell->operation) == 0 &&
		        e->measured[i].t1_ns > 0)
			return (uint64_t)e->measured[i].t1_ns;
	return 0;
}

/* The cells below a prefix ("x86_1/" or "x86_1/hash-31/"). */
static int estimate_cells(const struct fm_plan *p, const char *system, const char *prefix,
        const char *results, struct fm_estimate *out)
{
	bool loop = strcmp(p->kat, "standard") != 0 || strcmp(p->profile, "rigorous") == 0;
	uint64_t library = BUILD_NS + KAT_NS + (strcmp(p->kat, "full") == 0 ? FULL_NS : 0) +
	                   (loop ? LOOP_NS : 0);
	struct fm_evidence e;
	bool found = false;
	struct fm_cell two[2], *cell = &two[0], *before = &two[1], *swap;
	size_t len = strlen(prefix);
	int rc = FM_OK;

	memset(two, 0, sizeof two);
	for (size_t i = 0; rc == FM_OK && i < p->cell_count; i++) {
		uint64_t t1;

		if (strncmp(p->cells[i], prefix, len) != 0)
			continue;
		if ((rc = fm_cell_parse(p->cells[i], cell)) != FM_OK)
			break;
		if (before->system == NULL || strcmp(before->candidate, cell->candidate) != 0) {
			if (found)
				fm_evidence_free(&e);
			if ((rc = newest_evidence(results, system, cell->candidate, &e, &found)) !=
			        FM_OK)
				break;
		}
		if (before->system == NULL || strcmp(before->candidate, cell->candidate) != 0 ||
		        strcmp(before->instance, cell->instance) != 0 ||
		        strcmp(before->version, cell->version) != 0)
			out->ns += library;
		t1 = found ? earlier_t1(&e, cell) : 0;
		out->earlier += t1 > 0;
		out->cells++;
		out->ns += fm_estimate_cell(
		        p->profile, t1 > 0 ? t1 : CALL_NS + (uint64_t)cell->bytes * BYTE_NS);
		swap = before;
		before = cell;
		cell = swap;
	}
	if (found)
		fm_evidence_free(&e);
	return rc;
}

int fm_estimate_system(const struct fm_plan *p, const struct fm_plan_system *s, const char *results,
        struct fm_estimate *out)
{
	char prefix[FM_NAME_MAX + 2];

	snprintf(prefix, sizeof prefix, "%s/", s->name);
	*out = (struct fm_estimate){FM_ESTIMATE_HOST_NS, 0, 0};
	return estimate_cells(p, s->name, prefix, results, out);
}

int fm_estimate_job(const struct fm_plan *p, const char *system, const char *candidate,
        const char *results, struct fm_estimate *out)
{
	char prefix[2 * FM_NAME_MAX + 3];

	snprintf(prefix, sizeof prefix, "%s/%s/", system, candidate);
	*out = (struct fm_estimate){0, 0, 0};
	return estimate_cells(p, system, prefix, results, out);
}
