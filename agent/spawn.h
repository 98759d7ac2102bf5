/* spawn.h: children of the agent: each in a process group of its own, without descriptors,
 * environment or time without end. */
#ifndef FM_AGENT_SPAWN_H
#define FM_AGENT_SPAWN_H

#include "protocol/buf.h"
#include <sys/types.h>

struct fm_command {
	const char *const *argv; /* argv[0] is an absolute path; NULL ends it */
	const char *const *env;  /* NULL: an empty environment */
	int cwd;                 /* folder, -1: "/" */
	int input;               /* becomes descriptor 0; -1: /dev/null */
	int order;               /* becomes descriptor 3; -1: closed */
	bool results;            /* descriptor 4 is a pipe that is read */
	size_t output_max;   /* bytes kept of descriptors 1 and 2; the rest is read and dropped */
	size_t results_max;  /* more on descriptor 4 kills the child */
	uint64_t timeout_ms; /* then TERM, 2 s later KILL */
	int nice;
	uint64_t file_max;               /* RLIMIT_FSIZE, 0: none */
	uint64_t memory_max;             /* RLIMIT_AS, 0: none */
	const char *readable, *writable; /* absolute folders added to what Landlock leaves open;
	                                    both NULL: no Landlock */
};

enum fm_child_killed { FM_CHILD_ALIVE, FM_CHILD_TIMEOUT, FM_CHILD_FLOOD, FM_CHILD_CANCELLED };

struct fm_child {
	pid_t pid; /* 0: not running */
	int out_fd, result_fd;
	struct fm_buf output, results;
	uint64_t started_ns, deadline_ns, elapsed_ns, output_dropped;
	int status; /* of waitpid */
	enum fm_child_killed killed;
	bool kill_sent;
};

/* Starts it. FM_OK: c must be waited for with fm_child_wait and freed with fm_child_free. */
FM_CHECK int fm_child_start(const struct fm_command *what, struct fm_child *c);
void fm_child_free(struct fm_child *c);

/* Serves n children (those with pid 0 are skipped) until one of them ends: *ended is its index. Its
 * group is killed and every process that came back to us as subreaper is killed and reaped.
 * FM_ERR_CANCELLED when cancelled (fm_child_cancel): then all children of ours are dead. */
FM_CHECK int fm_child_wait(struct fm_child *children, size_t n, size_t *ended);

/* TERM, after 2 s KILL, to every child of the table; none is left. */
void fm_child_kill_all(struct fm_child *children, size_t n);

/* One child from start to end. */
FM_CHECK int fm_child_run(const struct fm_command *what, struct fm_child *c);

/* True: exit status 0. text (FM_HOST_TEXT bytes) says how it ended otherwise. */
bool fm_child_good(const struct fm_child *c, char *text, size_t size);

/* Once per process, before the first child: SIGCHLD pipe, SIGPIPE ignored, inherited descriptors
 * closed on exec. A job is also the subreaper of what it starts; attach is not, for the job it
 * starts must leave it. */
FM_CHECK int fm_child_init(bool subreaper);

/* Whether orphans of children come back to this process, so that a sweep finds them. */
bool fm_child_adopts(void);

/* Something else that is served while children run: serve(arg) is called when fd is readable, and
 * at least every `every_ms` (0: not). It returns FM_OK or a code that kills all children and
 * becomes the result of the wait. fd -1: only the timer. */
void fm_child_serve(int fd, unsigned every_ms, int (*serve)(void *arg), void *arg);

/* Kills and reaps every child that is left, also adopted ones. After FM_OK none is alive. */
FM_CHECK int fm_child_sweep(void);

/* The program's absolute path in the system's folders, NULL if it is not there. Free with free. */
char *fm_child_find(const char *program);

#endif
