/* build.h: the compile driver: argv lists made from the plan, run by a pool, kept in the bundle. */
#ifndef FM_AGENT_BUILD_H
#define FM_AGENT_BUILD_H

#include "agent/work.h"

enum fm_build_kind {
	FM_BUILD_PROBE,
	FM_BUILD_COMPILE,
	FM_BUILD_LINK,
	FM_BUILD_REACH /* the library linked again with only the API exported: to be weighed, never
	                  run */
};

/* One command of a unit's build. */
struct fm_build_task {
	struct fm_candidate_work *candidate;
	struct fm_unit *unit;
	enum fm_build_kind kind;
	const char *source; /* of the tree, NULL for probe and link */
	const char *base;   /* flags of the plan it is made with; a probe stands for all units of
	                       these flags */
	char *target;       /* absolute path of what it makes */
	char **argv;        /* owned words */
	size_t argc;
	struct fm_buf output;
	uint64_t ns;
	int status; /* exit status, 128 + signal, -1 not run */
	bool ran, good;
	char how[FM_HOST_TEXT]; /* how it ended if not good */
};

/* A table of commands that is run in two passes: compiles and probes, then links. */
struct fm_build {
	struct fm_job *job;
	const struct fm_unit *only; /* just this unit, outside the build stage; NULL: all */
	struct fm_build_task *tasks;
	size_t count, first; /* first: the first one that was not run yet */
};

/* Runs the tasks from first on, on all cores. FM_ERR_NO_SPACE when a tool met a full disk. */
FM_CHECK int fm_build_run(struct fm_build *b);

/* One line of build/commands.txt; build/<stem>.log with everything the unit's commands printed. */
FM_CHECK int fm_build_note(const struct fm_build_task *t);
FM_CHECK int fm_build_log(
        const struct fm_build *b, const struct fm_candidate_work *c, const struct fm_unit *u);

/* Words of the plan's flag line for this unit, in order: flags or fallback, additions, -D, -I. The
 * line for the evidence is in u->flags (made here). */
FM_CHECK int fm_build_flags(const struct fm_job *j, struct fm_unit *u);

/* Appends the tasks of one unit: its compiles (and a probe, if no unit before had these flags), or
 * its link. */
FM_CHECK int fm_build_tasks(const struct fm_job *j, struct fm_candidate_work *c, struct fm_unit *u,
        bool link, const char *gcc, struct fm_build_task **tasks, size_t *count);
void fm_build_tasks_free(struct fm_build_task *tasks, size_t count);

/* Compares what the objects record of their flags with the probe, and the library with both: "" or
 * what differs. */
FM_CHECK int fm_build_readback(const struct fm_build_task *tasks, size_t count,
        const struct fm_unit *u, char text[FM_HOST_TEXT]);

/* The version script of FM_BUILD_REACH, below the candidate's folder. */
#define FM_BUILD_API "obj/api.map"

/* Code, constants and initial values of what the API reaches, from the second link; -1 if it
 * failed. */
FM_CHECK int fm_build_reach(const struct fm_build_task *t, int64_t *bytes);

/* Sections, digest, architecture of the finished library. */
FM_CHECK int fm_build_weigh(struct fm_unit *u, char text[FM_HOST_TEXT]);

/* The instruction set the flags ask for and this processor lacks, NULL if all is there. */
const char *fm_build_lacks(const char *flags);

#endif
