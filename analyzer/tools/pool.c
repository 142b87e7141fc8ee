/* SPDX-License-Identifier: BSD-2-Clause */
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define CPUS_MOST 16     /* used unless somebody says so */
#define THREADS_MOST 128 /* … whatever anybody says */

/* A run. */
struct pool {
	size_t n;
	pool_task *task;
	void *job;
	atomic_size_t next;
	atomic_size_t failed; /* the first that did; n: none */
	pthread_mutex_t lock; /* of what is told about it */
	enum err_kind kind;
	struct error *error;
	cpu_set_t cpus; /* where its helpers may be; none: not known */
	/* under the crew's lock: */
	struct pool *outer; /* in crew.open */
	unsigned helpers;   /* threads that work for it, beside the caller */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t left; /* a run has no helpers any more */
	struct pool *open;   /* runs that are under way, the latest first */
	unsigned helpers;    /* threads that were made and are at work */
} crew = { .lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER };

unsigned pool_threads(void)
{
	const char *said = getenv("GPUSHIM_THREADS");
	long n = said && *said >= '0' && *said <= '9' ? strtol(said, NULL, 10) : 0;
	cpu_set_t cpus;

	if (n > 0)
		return n < THREADS_MOST ? (unsigned)n : THREADS_MOST;
	/* It fails where the kernel knows more CPUs than have a place in the set, 1024. */
	n = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : n < CPUS_MOST ? (unsigned)n : CPUS_MOST;
}

static void tell(struct pool *p, size_t task, enum err_kind kind, const struct error *e)
{
	pthread_mutex_lock(&p->lock);
	if (task < atomic_load(&p->failed)) {
		atomic_store(&p->failed, task);
		p->kind = kind;
		if (p->error)
			*p->error = *e;
	}
	pthread_mutex_unlock(&p->lock);
}

/* All before one that was begun were begun, too: so the first that fails is the same however many work. */
static void work(struct pool *p)
{
	size_t task;

	while ((task = atomic_fetch_add(&p->next, 1)) < p->n && task < atomic_load(&p->failed)) {
		struct error e = { .kind = ERR_NONE, .byte = ERR_NO_BYTE };
		enum err_kind kind = p->task(p->job, task, &e);

		if (kind)
			tell(p, task, kind, &e);
	}
}

/* ---- helpers: under the crew's lock ------------------------------------------------------------------------------- */

static bool has_more(struct pool *p)
{
	size_t next = atomic_load(&p->next);

	return next < p->n && next < atomic_load(&p->failed);
}

/* One that has tasks left, and counts the caller as its helper then; the latest one first: what began it waits for it. NULL: none. */
static struct pool *join_any(void)
{
	struct pool *p = crew.open;

	while (p && !has_more(p))
		p = p->outer;
	if (p)
		p->helpers++;
	return p;
}

/* Which counts it already. */
static void help(struct pool *p)
{
	pthread_mutex_unlock(&crew.lock);
	work(p);
	pthread_mutex_lock(&crew.lock);
	if (!--p->helpers)
		pthread_cond_broadcast(&crew.left);
}

/* What has nothing more to do for its run goes on with another, which had too few when it began. */
static void *work_beside(void *pool)
{
	const cpu_set_t *cpus = &((struct pool *)pool)->cpus;

	if (CPU_COUNT(cpus))
		sched_setaffinity(0, sizeof(*cpus), cpus);
	pthread_mutex_lock(&crew.lock);
	for (struct pool *p = pool; p; p = join_any())
		help(p);
	crew.helpers--;
	pthread_mutex_unlock(&crew.lock);
	return NULL;
}

/* Beside the CPU that the maker is on: the kernel may leave a new thread there for milliseconds while another CPU has nothing to do. From its
 * first instruction on it may be where the process may. */
static void begin_elsewhere(pthread_attr_t *attributes, struct pool *p)
{
	int here = sched_getcpu();
	cpu_set_t others;

	if (here < 0 || sched_getaffinity(0, sizeof(p->cpus), &p->cpus) != 0 || CPU_COUNT(&p->cpus) < 2) {
		CPU_ZERO(&p->cpus);
		return;
	}
	others = p->cpus;
	CPU_CLR((size_t)here, &others);
	pthread_attr_setaffinity_np(attributes, sizeof(others), &others);
}

static bool make_helper(struct pool *p, const pthread_attr_t *attributes)
{
	pthread_t thread;

	if (pthread_create(&thread, attributes, work_beside, p) == 0)
		return true;
	if (!CPU_COUNT(&p->cpus) || pthread_create(&thread, NULL, work_beside, p) != 0)
		return false; /* … also where it may not choose a CPU */
	pthread_detach(thread);
	return true;
}

/* Signals are for the thread that was there before. */
static void make_helpers(struct pool *p, size_t want)
{
	unsigned most = pool_threads() - 1;
	pthread_attr_t attributes;
	sigset_t all, old;

	if (crew.helpers >= most || pthread_attr_init(&attributes) != 0)
		return;
	begin_elsewhere(&attributes, p);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; want && crew.helpers < most && make_helper(p, &attributes); want--) {
		crew.helpers++;
		p->helpers++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
}

/* ---- a child of fork has the thread that forked, and no other -------------------------------------------------------- */

static void lock_crew(void)
{
	pthread_mutex_lock(&crew.lock);
}

static void unlock_crew(void)
{
	pthread_mutex_unlock(&crew.lock);
}

static void forget_crew(void)
{
	crew.open = NULL;
	crew.helpers = 0;
	pthread_cond_init(&crew.left, NULL);
	pthread_mutex_unlock(&crew.lock);
}

static void watch_forks(void)
{
	pthread_atfork(lock_crew, unlock_crew, forget_crew);
}

/* ---- runs ---------------------------------------------------------------------------------------------------------- */

static void begin(struct pool *p)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&crew.lock);
	p->outer = crew.open;
	crew.open = p;
	make_helpers(p, p->n - 1);
	pthread_mutex_unlock(&crew.lock);
}

static void finish(struct pool *p)
{
	struct pool **at = &crew.open;

	pthread_mutex_lock(&crew.lock);
	while (p->helpers)
		pthread_cond_wait(&crew.left, &crew.lock);
	while (*at != p)
		at = &(*at)->outer;
	*at = p->outer;
	pthread_mutex_unlock(&crew.lock);
}

enum err_kind pool_run(size_t n, pool_task *task, void *job, struct error *e)
{
	struct pool p = { .n = n, .task = task, .job = job, .failed = n, .error = e };
	bool alone = n < 2 || pool_threads() == 1;

	pthread_mutex_init(&p.lock, NULL);
	if (!alone)
		begin(&p);
	work(&p);
	if (!alone)
		finish(&p);
	pthread_mutex_destroy(&p.lock);
	return p.kind;
}
