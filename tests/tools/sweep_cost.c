/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_cost FILE [rounds]: for scripts/bench-analyzer: how long a memcpy of the file's bytes takes, and how long the sweep over its decoded
 * operations: the union of when they ran. Each is done `rounds` times (5), one after the other; as JSON, in seconds, the least of
 * each: what else runs on the machine only ever adds. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/run.h"
#include "timeline/timeline.h"
#include "tools/interval.h"

struct costs {
	double memcpy_s, union_s;
	size_t operations, parts;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void least(double *of, double since_s)
{
	double took_s = now_s() - since_s;

	if (*of == 0 || took_s < *of)
		*of = took_s;
}

static char *read_whole(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes = NULL;

	if (fd >= 0 && fstat(fd, &st) == 0 && (bytes = malloc((size_t)st.st_size + 1)))
		for (*n = 0; *n < (size_t)st.st_size;) {
			ssize_t got = read(fd, bytes + *n, (size_t)st.st_size - *n);

			if (got <= 0)
				break;
			*n += (size_t)got;
		}
	if (fd >= 0)
		close(fd);
	return bytes;
}

/* To memory that is there already. */
static int time_copy(struct costs *c, const char *path, int rounds)
{
	size_t n = 0;
	char *from = read_whole(path, &n), *to = from ? malloc(n + 1) : NULL;

	if (to)
		memset(to, 1, n);
	for (int i = 0; to && i < rounds; i++) {
		double begin = now_s();

		memcpy(to, from, n);
		__asm__ volatile("" ::"r"(to) : "memory");
		least(&c->memcpy_s, begin);
	}
	free(from);
	free(to);
	return to ? 0 : 4;
}

/* In the order in which the streams have them, as when they are decoded: by their calls. */
static int by_call(const void *a, const void *b)
{
	const struct op *x = *(const struct op *const *)a, *y = *(const struct op *const *)b;

	return (x->call > y->call) - (x->call < y->call);
}

static int time_sweep(struct costs *c, const struct device_timeline *d)
{
	const struct op **ops = calloc(d->n_ops + 1, sizeof(*ops));
	struct intervals all = { 0 };
	double begin;
	int status = ops ? 0 : 4;

	for (size_t i = 0; ops && i < d->n_ops; i++)
		ops[i] = &d->ops[i];
	if (ops)
		qsort(ops, d->n_ops, sizeof(*ops), by_call);
	for (size_t i = 0; ops && i < d->n_ops && !status; i++)
		status = intervals_add(&all, ops[i]->begin_ns, ops[i]->end_ns) ? 0 : 4;
	begin = now_s();
	if (!status)
		intervals_merge(&all);
	least(&c->union_s, begin);
	c->operations = d->n_ops;
	c->parts = all.n;
	intervals_free(&all);
	free(ops);
	return status;
}

int main(int argc, char *argv[])
{
	int rounds = argc > 2 ? atoi(argv[2]) : 5, status = 0;
	struct timeline timeline;
	struct costs c = { 0 };
	struct run run;
	struct error e;

	if (argc < 2 || rounds < 1) {
		fprintf(stderr, "usage: sweep_cost FILE [rounds]\n");
		return 2;
	}
	if (run_open(&run, &argv[1], 1, RUN_LAST, &e)) {
		fprintf(stderr, "sweep_cost: %s\n", e.text);
		return e.kind;
	}
	if (timeline_build(&timeline, &run, &e)) {
		fprintf(stderr, "sweep_cost: %s\n", e.text);
		run_close(&run);
		return e.kind;
	}
	status = time_copy(&c, argv[1], rounds);
	for (int i = 0; timeline.n_devices && i < rounds && !status; i++)
		status = time_sweep(&c, &timeline.devices[0]);
	timeline_free(&timeline);
	run_close(&run);
	if (!status)
		printf("{\"operations\": %zu, \"parts\": %zu, \"memcpy_s\": %.6f, \"union_s\": %.6f}\n", c.operations,
		       c.parts, c.memcpy_s, c.union_s);
	return status;
}
