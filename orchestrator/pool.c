/* pool.c: runs the hosts' threads and turns signals into a wake-up for all of them. */
#include "orchestrator/pool.h"
#include "orchestrator/out.h"
#include "orchestrator/transport.h"
#include "protocol/buf.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define THREADS_MAX      128
#define FILES_SPARE      32
#define FILES_PER_HOST   8
#define STACK            (1u << 20)
#define END_WAIT         (5 * FM_S)
#define TICK             (250 * FM_MS)
#define EXIT_INTERRUPTED 130

struct pool {
	fm_pool_work *work;
	void *const *items;
	size_t count;
	atomic_size_t next;  /* first item nobody has taken */
	atomic_size_t ended; /* threads */
	atomic_bool stop;
	int wake, done; /* eventfds: for the threads, for us */
};

static atomic_bool detached;

bool fm_pool_detached(void)
{
	return atomic_load(&detached);
}

static void *thread(void *arg)
{
	struct pool *p = arg;
	uint64_t one = 1;

	while (!atomic_load(&p->stop)) {
		size_t i = atomic_fetch_add(&p->next, 1);

		if (i >= p->count)
			break;
		p->work(p->items[i], p->wake);
	}
	atomic_fetch_add(&p->ended, 1);
	(void)!write(p->done, &one, sizeof one);
	return NULL;
}

/* What open files allow, after raising the limit to its hard value. */
static size_t allowed(size_t wanted)
{
	struct rlimit files;
	size_t most = THREADS_MAX;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
		if (files.rlim_cur < FILES_SPARE + FILES_PER_HOST)
			most = 1;
		else if ((files.rlim_cur - FILES_SPARE) / FILES_PER_HOST < most)
			most = (files.rlim_cur - FILES_SPARE) / FILES_PER_HOST;
	}
	if (wanted > most)
		fm_say("%zu hosts at a time instead of %zu (limit of open files, 128 threads)",
		        most, wanted);
	return wanted < most ? wanted : most;
}

static void raise_wake(struct pool *p)
{
	uint64_t one = 1;

	atomic_store(&p->stop, true);
	(void)!write(p->wake, &one, sizeof one);
}

/* Waits until all started threads have ended; true if a signal came. */
static bool supervise(struct pool *p, size_t started, int signals)
{
	uint64_t deadline = UINT64_MAX;
	bool interrupted = false;

	while (atomic_load(&p->ended) < started) {
		struct pollfd fds[2] = {{p->done, POLLIN, 0}, {signals, POLLIN, 0}};
		uint64_t now = fm_now_ns();
		struct signalfd_siginfo info;
		uint64_t tick;

		if (now >= deadline) {
			fm_say("not every host answered in time; what runs there ends with its "
			       "lease");
			_exit(EXIT_INTERRUPTED);
		}
		(void)poll(fds, 2,
		        deadline - now < TICK ? (int)((deadline - now) / FM_MS) + 1
		                              : (int)(TICK / FM_MS));
		fm_out_tick();
		if (fds[0].revents != 0)
			(void)!read(p->done, &tick, sizeof tick);
		if (fds[1].revents == 0 || read(signals, &info, sizeof info) != sizeof info)
			continue;
		if (interrupted)
			_exit(EXIT_INTERRUPTED);
		interrupted = true;
		deadline = fm_now_ns() + END_WAIT;
		if (info.ssi_signo == SIGHUP)
			atomic_store(&detached, true);
		else
			fm_say("interrupted: ending the work on all hosts (again: leave at once)");
		raise_wake(p);
	}
	return interrupted;
}

static int start_threads(struct pool *p, pthread_t *threads, size_t n, size_t *started)
{
	pthread_attr_t attr;
	int rc = FM_OK;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (*started = 0; *started < n; (*started)++) {
		errno = pthread_create(&threads[*started], &attr, thread, p);
		if (errno != 0) {
			if (*started == 0)
				rc = fm_fail_errno("thread");
			break; /* fewer threads do the same work */
		}
	}
	pthread_attr_destroy(&attr);
	return rc;
}

int fm_pool_run(fm_pool_work *work, void *const *items, size_t count, int jobs)
{
	struct pool p = {.work = work, .items = items, .count = count, .wake = -1, .done = -1};
	size_t wanted = jobs > 0 && (size_t)jobs < count ? (size_t)jobs : count;
	size_t n = allowed(wanted), started = 0;
	pthread_t *threads = fm_alloc_array(n + 1, sizeof *threads);
	sigset_t set, old;
	int signals = -1, rc = threads == NULL ? FM_ERR_MEMORY : FM_OK;
	bool interrupted = false;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	sigdelset(&set, SIGPIPE);
	p.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p.done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (rc == FM_OK && (p.wake < 0 || p.done < 0 || signals < 0))
		rc = fm_fail_errno("eventfd");
	if (rc == FM_OK)
		rc = start_threads(&p, threads, n, &started);
	if (rc == FM_OK)
		interrupted = supervise(&p, started, signals);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (signals >= 0)
		close(signals);
	if (p.wake >= 0)
		close(p.wake);
	if (p.done >= 0)
		close(p.done);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	free(threads);
	if (rc == FM_OK && interrupted)
		return fm_fail(FM_ERR_INTERRUPTED, "interrupted");
	return rc;
}
