/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_worker.c: the batch is computed by a child, which is asked by a pipe and answers by another. */
#include "loader.h"

#include <sys/wait.h>
#include <unistd.h>

struct order {
	long step, ns;
};

static int ask[2], answer[2];
static pid_t child;

static void serve(void)
{
	struct order o;

	while (read(ask[0], &o, sizeof(o)) == sizeof(o)) {
		struct span s = span_begin("input-preprocess", "worker", o.step);

		compute_cpu(o.ns);
		span_end(&s);
		REQUIRE(write(answer[1], &o.step, sizeof(o.step)) == sizeof(o.step));
	}
}

static void open_worker(void)
{
	REQUIRE(pipe(ask) == 0 && pipe(answer) == 0);
	REQUIRE((child = fork()) >= 0);
	if (child == 0) {
		loader_end_with_parent();
		truth_child();
		close(ask[1]);
		serve();
		truth_write();
		_exit(0);
	}
	close(ask[0]);
	close(answer[1]);
}

static void act_worker(long step)
{
	struct order o = { step, lab_length(step) };
	struct span s = span_begin("input-preprocess", "main", step);
	long done;

	REQUIRE(write(ask[1], &o, sizeof(o)) == sizeof(o));
	REQUIRE(read(answer[0], &done, sizeof(done)) == sizeof(done) && done == step);
	span_end(&s);
}

static void close_worker(void)
{
	close(ask[1]);
	waitpid(child, NULL, 0);
}

const struct fault fault_worker = { "worker", open_worker, NULL, act_worker, close_worker };
