/* SPDX-License-Identifier: BSD-2-Clause */
/* loader_linked [NAME=VALUE…]: a training loop whose batches come from worker processes, as PyTorch's DataLoader has it: an index goes to a
 * worker by its pipe; the batch comes back in shared memory, its number by a pipe of all workers; a thread ("pin") reads that, copies the
 * batch, and wakes the main thread, which sleeps on a futex.
 *
 *   workers=2 epochs=1 batches=12 (of an epoch; workers are new in each)
 *   work=decode (ms=12 of CPU time; 0: lab_length()) or read (lab_bytes() of $LAB_FILE, cold) or sleep (ms)
 *   depth=1: a worker does it itself; 2: its child does, asked by a pipe; …
 *   kill=0: before this batch a worker is killed, and another takes its place */
#include "loader.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS_MAX 128
#define PLACE (256u * 1024u) /* bytes of a batch, handed on */

struct worker {
	pid_t pid;
	int ask; /* indices go in here */
};

static struct loader_options o = {
	.workers = 2, .epochs = 1, .batches = 12, .ms = 12, .depth = 1, .kill = -1, .work = "decode"
};
static struct worker workers[WORKERS_MAX];
static int results[2]; /* of all workers */
static char *places;   /* shared: one for each worker */
static char pinned[PLACE];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static char *ready; /* by batch, of all epochs */

/* ---- pin thread ------------------------------------------------------------------------------------------------------- */

static void *pin(void *arg)
{
	(void)arg;
	for (;;) {
		struct span s = loader_span(&o, "pin", -1);
		long batch;

		if (read(results[0], &batch, sizeof(batch)) != sizeof(batch) || batch < 0)
			return NULL;
		s.step = batch;
		span_end_woken(&s);
		s = loader_span(&o, "pin", batch);
		memcpy(pinned, places + batch % o.workers * PLACE, PLACE);
		pthread_mutex_lock(&mutex);
		ready[batch] = 1;
		pthread_cond_broadcast(&arrived);
		pthread_mutex_unlock(&mutex);
		span_end(&s);
	}
}

static void wait_for(long batch)
{
	struct span s = loader_span(&o, "main", batch);

	pthread_mutex_lock(&mutex);
	while (!ready[batch])
		pthread_cond_wait(&arrived, &mutex);
	pthread_mutex_unlock(&mutex);
	span_end(&s);
}

/* ---- workers ---------------------------------------------------------------------------------------------------------- */

static void worker_start(struct worker *w)
{
	int ask[2];

	REQUIRE(pipe(ask) == 0);
	w->pid = fork();
	REQUIRE(w->pid >= 0);
	if (w->pid == 0) {
		loader_end_with_parent();
		close(ask[1]);
		close(results[0]);
		for (long i = 0; i < o.workers; i++) /* or no worker would ever see the end of its pipe */
			if (workers[i].ask > 0)
				close(workers[i].ask);
		loader_serve(&o, o.depth, ask[0], results[1], places + (w - workers) * PLACE, PLACE);
		_exit(0);
	}
	close(ask[0]);
	w->ask = ask[1];
}

static void worker_ask(long batch)
{
	REQUIRE(write(workers[batch % o.workers].ask, &batch, sizeof(batch)) == sizeof(batch));
}

static void worker_stop(struct worker *w)
{
	close(w->ask);
	w->ask = 0;
	waitpid(w->pid, NULL, 0);
}

/* What it owed, its successor is asked for. */
static void worker_replace(long batch)
{
	struct worker *w = &workers[batch % o.workers];

	kill(w->pid, SIGKILL);
	worker_stop(w);
	worker_start(w);
	worker_ask(batch);
}

/* ---- training --------------------------------------------------------------------------------------------------------- */

static void epoch(long first)
{
	long end = first + o.batches;

	for (long i = 0; i < o.workers; i++)
		worker_start(&workers[i]);
	for (long batch = first; batch < end && batch < first + o.workers; batch++)
		worker_ask(batch);
	for (long batch = first; batch < end; batch++) {
		if (batch == o.kill)
			worker_replace(batch);
		wait_for(batch);
		device_step();
		if (batch + o.workers < end)
			worker_ask(batch + o.workers);
		device_wait();
		printf("step %ld\n", batch);
	}
	for (long i = 0; i < o.workers; i++)
		worker_stop(&workers[i]);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	long end = -1;

	if (!loader_options_read(&o, argc, argv) || o.workers > WORKERS_MAX)
		return 2;
	truth_open();
	setvbuf(stdout, NULL, _IOLBF, 0);
	lab_part(0);
	device_open();
	REQUIRE((ready = calloc((size_t)(o.epochs * o.batches), 1)));
	places = mmap(NULL, (size_t)o.workers * PLACE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(places != MAP_FAILED && pipe(results) == 0);
	REQUIRE(pthread_create(&thread, NULL, pin, NULL) == 0);
	pthread_setname_np(thread, "pin");
	device_step();
	device_wait();
	for (long i = 0; i < o.epochs; i++)
		epoch(i * o.batches);
	REQUIRE(write(results[1], &end, sizeof(end)) == sizeof(end));
	pthread_join(thread, NULL);
	return 0;
}
