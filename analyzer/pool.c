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

struct pool {
	size_t n;
	pool_task *task;
	void *job;
	atomic_size_t next;
	atomic_size_t failed; /* the first that did; n: none */
	pthread_mutex_t lock; /* of what is told about it */
	enum err_kind kind;
	struct error *error;
};

static atomic_uint others; /* threads that were made and are at work, of all runs that are under way */

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
static void *work(void *arg)
{
	struct pool *p = arg;
	size_t task;

	while ((task = atomic_fetch_add(&p->next, 1)) < p->n && task < atomic_load(&p->failed)) {
		struct error e = { .kind = ERR_NONE, .byte = ERR_NO_BYTE };
		enum err_kind kind = p->task(p->job, task, &e);

		if (kind)
			tell(p, task, kind, &e);
	}
	return NULL;
}

/* Takes as many as there are still to be had. */
static unsigned reserve(unsigned want)
{
	unsigned most = pool_threads() - 1, now = atomic_load(&others), take;

	do {
		take = now < most ? most - now : 0;
		take = take < want ? take : want;
	} while (take && !atomic_compare_exchange_weak(&others, &now, now + take));
	return take;
}

/* Another may be made as soon as this one has nothing to do: it does not wait for the others of its run. */
static void *work_beside(void *arg)
{
	work(arg);
	atomic_fetch_sub(&others, 1);
	return NULL;
}

/* Signals are for the thread that was there before. */
static unsigned make_threads(struct pool *p, pthread_t *threads, unsigned n)
{
	unsigned made = 0;
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (made < n && pthread_create(&threads[made], NULL, work_beside, p) == 0)
		made++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return made;
}

enum err_kind pool_run(size_t n, pool_task *task, void *job, struct error *e)
{
	struct pool p = { .n = n, .task = task, .job = job, .failed = n, .error = e };
	unsigned want = n > THREADS_MOST ? THREADS_MOST : n ? (unsigned)n : 1, reserved = reserve(want - 1), made;
	pthread_t threads[THREADS_MOST];

	pthread_mutex_init(&p.lock, NULL);
	made = make_threads(&p, threads, reserved);
	atomic_fetch_sub(&others, reserved - made);
	work(&p);
	for (unsigned i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&p.lock);
	return p.kind;
}
