/* test_mt_faults.c: faults planted on real worker processes end as the guide's table says: none
 * silently, every attempt kept. */
#include "tests/unit/mt.h"

#include <dirent.h>
#include <sched.h>
#include <time.h>

#define GROUP     "/sys/fs/cgroup/cpu/fleetmark-test"
#define TICKS     40  /* of CPU time (at 100 Hz): the process is in its windows */
#define PATIENCE  600 /* tenths of a second for a process to come */
#define QUIET_FOR 20  /* tenths of a second that a fault lasts, at most */

static const struct instance slow[] = {
        {"Slow-256", 256, "slow.c", NULL, "", "operation hash_4096\n"}};

enum fault { NOTHING, STOP, AFFINITY, NEIGHBOUR, QUOTA, FAULTS };

static void tenth(unsigned n)
{
	const struct timespec t = {n / 10, (long)(n % 10) * 100000000};

	nanosleep(&t, NULL);
}

/* Name, parent and CPU ticks of a process; false when it is gone. */
static bool look(long pid, char name[32], long *parent, unsigned long *ticks)
{
	char path[64], text[1024];
	const char *end;
	struct fm_buf stat = FM_BUF_INIT(sizeof text);
	unsigned long user, kernel;
	bool good;

	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	if (fm_fs_read(AT_FDCWD, path, sizeof text, &stat) != FM_OK)
		return false;
	end = strrchr(stat.data, ')');
	good = end != NULL && sscanf(stat.data, "%*d (%31[^)]", name) == 1 &&
	       sscanf(end + 2, "%*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", parent, &user,
	               &kernel) == 3;
	*ticks = good ? user + kernel : 0;
	fm_buf_free(&stat);
	return good;
}

/* Whether the process was started with this word: our own agent, not another test's. */
static bool has_word(long pid, const char *word)
{
	char path[64];
	struct fm_buf text = FM_BUF_INIT(65536);
	bool good;

	snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
	good = fm_fs_read(AT_FDCWD, path, 65536, &text) == FM_OK &&
	       memmem(text.data, text.len, word, strlen(word)) != NULL;
	fm_buf_free(&text);
	return good;
}

/* A worker of the agent with this work folder that is in its windows, 0 if there is none now. */
static long find_worker(const char *home, long not_this)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	long found = 0;

	assert_non_null(dir);
	while (found == 0 && (entry = readdir(dir)) != NULL) {
		long pid = strtol(entry->d_name, NULL, 10), parent, above;
		char name[32], agent[32];
		unsigned long ticks, other;

		if (pid > 0 && pid != not_this && look(pid, name, &parent, &ticks) &&
		        strncmp(name, "fleetmark-worke", 15) == 0 && ticks >= TICKS &&
		        look(parent, agent, &above, &other) &&
		        strncmp(agent, "fleetmark-agent", 15) == 0 && has_word(parent, home))
			found = pid;
	}
	closedir(dir);
	return found;
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/* This process and what it starts into a cgroup of their own; false where that cannot be had. */
static bool enter_group(void)
{
	char pid[24];

	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	return (mkdir(GROUP, 0755) == 0 || errno == EEXIST) && put(GROUP "/cgroup.procs", pid) &&
	       put(GROUP "/cpu.cfs_quota_us", "-1");
}

static void leave_group(void)
{
	char pid[24];

	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	(void)put("/sys/fs/cgroup/cpu/cgroup.procs", pid);
	for (int i = 0; i < 20 && rmdir(GROUP) != 0 && errno == EBUSY; i++)
		tenth(1);
}

static void plant(enum fault fault, long pid)
{
	cpu_set_t set, one;
	pid_t spinner;

	switch (fault) {
	case STOP:
		kill((pid_t)pid, SIGSTOP);
		tenth(2);
		kill((pid_t)pid, SIGCONT);
		break;
	case AFFINITY: /* to the first CPU: it was pinned to the last */
		CPU_ZERO(&set);
		CPU_SET(0, &set);
		(void)sched_setaffinity((pid_t)pid, sizeof set, &set);
		break;
	case NEIGHBOUR:
		assert_int_equal(sched_getaffinity((pid_t)pid, sizeof one, &one), 0);
		spinner = fork();
		if (spinner == 0) {
			time_t until = time(NULL) + 2;

			(void)sched_setaffinity(0, sizeof one, &one);
			while (time(NULL) < until)
				;
			_exit(0);
		}
		assert_int_equal(waitpid(spinner, NULL, 0), spinner);
		break;
	case QUOTA:
		(void)put(GROUP "/cpu.cfs_period_us", "100000");
		assert_true(put(GROUP "/cpu.cfs_quota_us", "2000"));
		tenth(QUIET_FOR / 2);
		assert_true(put(GROUP "/cpu.cfs_quota_us", "-1"));
		break;
	case NOTHING:
	case FAULTS:
		break;
	}
}

/* Whether some process shows this reason, and this much in a column; on a loaded machine others may
 * show it too. */
static bool seen(const struct fm_samples *s, enum fm_proc_column column, int64_t least, int reason,
        int or_reason)
{
	for (size_t i = 0; i < s->process_count; i++) {
		const struct fm_proc *p = &s->processes[i];

		if (p->column[column] >= least &&
		        (mt_column(p, REASON) == reason || mt_column(p, REASON) == or_reason))
			return true;
	}
	return false;
}

static void mt_91_planted(void **state)
{
	const bool grouped = enter_group();
	const bool two = sysconf(_SC_NPROCESSORS_ONLN) > 1;
	struct fm_samples s;
	struct mt m;
	long last = 0;

	(void)state;
	mt_open(&m, "guide", NULL, slow, 1);
	campaign_start(&m.p, &m.c, "toy", 1, CHALLENGE);
	assert_string_equal(m.c.status, "ok");
	assert_string_equal(client_follow(&m.c, "mt", "stage", "stage", "measure"), "seen");
	for (enum fault fault = NOTHING; fault < FAULTS; fault++) {
		long pid = 0;

		for (unsigned i = 0; pid == 0 && i < PATIENCE; i++) {
			if ((pid = find_worker(m.c.home, last)) == 0)
				tenth(1);
		}
		assert_int_not_equal(pid, 0);
		last = pid;
		if ((fault != AFFINITY || two) && (fault != QUOTA || grouped))
			plant(fault, pid);
	}
	client_end_follow(&m.c);
	mt_collect(&m);
	s = mt_samples(&m, "Slow-256__reference__hash_4096");
	for (size_t i = 0; i < s.process_count; i++)
		print_message(
		        "process %lld: state %s, reason %s, nvcsw %lld, nivcsw %lld, run delay "
		        "%lld ns\n",
		        (long long)mt_column(&s.processes[i], PROCESS),
		        fm_state_name[mt_column(&s.processes[i], STATE)],
		        fm_reason_name[mt_column(&s.processes[i], REASON)],
		        (long long)mt_column(&s.processes[i], NVCSW),
		        (long long)mt_column(&s.processes[i], NIVCSW),
		        (long long)mt_column(&s.processes[i], RUN_DELAY_NS));
	/* a stop shows as a voluntary switch; where others wanted the core, that is named first */
	assert_true(seen(&s, FM_PROC_NVCSW, 1, 2, 1));
	if (two)
		assert_true(seen(&s, FM_PROC_REPLACED_BY, 1, 9, 9));
	assert_true(seen(&s, FM_PROC_RUN_DELAY_NS, 1000000, 1, 3));
	if (grouped)
		assert_true(seen(&s, FM_PROC_WALL_NS, 1, 3, 3));
	/* a disturbed attempt is replaced twice at most, then stands with its reason as a mark */
	for (size_t i = 0; i < s.process_count; i++)
		if (mt_column(&s.processes[i], STATE) == FM_STATE_REPLACED)
			assert_in_range(mt_column(&s.processes[i], ATTEMPT), 1, 3);
	assert_int_equal(mt_cell(&m, "Slow-256", "hash_4096")->accepted, 5);
	fm_samples_free(&s);
	mt_close(&m);
	if (grouped)
		leave_group();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(mt_91_planted)};

	return mt_main(tests, argc, argv);
}
