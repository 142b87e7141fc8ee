/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread was at, from instant to instant: against a naive look at every op for every instant, nested or not; and how many pieces that takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "chain/op_pieces.h"

#define OPS 40
#define SPAN 120 /* ns */

enum name { NOTHING, ADD, STEP, WORKS, WAITS, EITHER, BLOCKED, PREEMPTED, READ, FETCH };
static const char *names[] = { "",
			       "aten::add",
			       "train.py(12): step",
			       "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
			       "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
			       "my DataLoader",
			       "blocked",
			       "Preempted by other thread",
			       "read",
			       "torch/utils/data/_utils/fetch.py(49): fetch" };

static uint64_t seed;

static int64_t below(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(seed >> 33) % n;
}

static int by_place(const void *a, const void *b)
{
	const struct host_op *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

struct world {
	struct trace trace;
	struct host_op ops[OPS];
	struct range ranges[8];
	struct op_labels labels;
};

static void random_op(struct host_op *op)
{
	static const struct {
		enum host_op_kind kind;
		enum name name;
	} kinds[] = { { HOST_OP_OPERATOR, ADD },      { HOST_OP_OPERATOR, WORKS }, { HOST_OP_OPERATOR, WAITS },
		      { HOST_OP_OPERATOR, EITHER },   { HOST_OP_PYTHON, STEP },    { HOST_OP_PYTHON, FETCH },
		      { HOST_OP_OFF_CPU, PREEMPTED }, { HOST_OP_OS_CALL, READ },   { HOST_OP_OVERHEAD, ADD },
		      { HOST_OP_OPERATOR, NOTHING } };
	size_t which = (size_t)below(sizeof(kinds) / sizeof(kinds[0]));
	int64_t begin = below(SPAN - 2);

	*op = (struct host_op){ .begin_ns = begin,
				.end_ns = begin + 1 + below(below(4) ? 12 : SPAN),
				.tid = (uint32_t)below(3),
				.name = kinds[which].name,
				.kind = (uint8_t)kinds[which].kind };
}

static void random_world(struct world *w)
{
	int64_t at = 0;

	memset(w, 0, sizeof(*w));
	w->trace.host_ops =
		(struct host_ops){ .at = w->ops, .n = (size_t)below(OPS) + 1, .names = names, .n_names = 10 };
	for (size_t i = 0; i < w->trace.host_ops.n; i++)
		random_op(&w->ops[i]);
	qsort(w->ops, w->trace.host_ops.n, sizeof(w->ops[0]), by_place);
	w->trace.ranges = w->ranges;
	w->trace.n_ranges = (size_t)below(8);
	for (size_t i = 0; i < w->trace.n_ranges; i++) {
		at += 1 + below(20);
		w->ranges[i] = (struct range){ .begin_ns = at,
					       .end_ns = below(8) ? at + 1 + below(30) : INT64_MAX,
					       .name = below(2) ? names[WAITS] : names[ADD],
					       .tid = (uint32_t)below(3),
					       .kind = below(4) ? GST_RANGE_PUSHED : GST_RANGE_STARTED };
	}
	assert_true(op_labels_build(&w->labels, &w->trace));
}

/* ---- what has to come out ---- */

static bool covers(const struct host_op *op, uint32_t tid, int64_t ns)
{
	return op->tid == tid && op->begin_ns <= ns && ns < op->end_ns;
}

static enum loader loader_of(const struct host_op *op)
{
	if (op->kind != HOST_OP_OPERATOR)
		return op->kind == HOST_OP_PYTHON && op->name == FETCH ? LOADER_WORKS : LOADER_NONE;
	return op->name == WORKS    ? LOADER_WORKS
	       : op->name == WAITS  ? LOADER_WAITS
	       : op->name == EITHER ? LOADER_EITHER
				    : LOADER_NONE;
}

/* Loaders of all kinds in the order in which they begin: one that may be either counts only where it began in no other that counted, and the innermost of
 * those that count is looked at first. */
static uint32_t loader_at(const struct world *w, uint32_t tid, int64_t ns)
{
	struct {
		int64_t begin_ns, end_ns;
		uint32_t number;
	} open[OPS + 8];
	size_t n = 0, range = 0;

	for (size_t i = 0; i <= w->trace.host_ops.n; i++) {
		const struct host_op *op = i < w->trace.host_ops.n ? &w->ops[i] : NULL;
		int64_t begin = op && op->tid == tid ? op->begin_ns : op && op->tid < tid ? -1 : INT64_MAX;
		bool within = false;

		for (; range < w->trace.n_ranges && w->ranges[range].begin_ns <= begin; range++)
			if (w->ranges[range].tid == tid && w->ranges[range].name == names[WAITS] &&
			    w->ranges[range].kind == GST_RANGE_PUSHED && w->ranges[range].end_ns < INT64_MAX) {
				open[n].begin_ns = w->ranges[range].begin_ns;
				open[n].end_ns = w->ranges[range].end_ns;
				open[n++].number = OP_RANGE | (uint32_t)range;
			}
		if (!op || begin == -1 || begin == INT64_MAX || !loader_of(op))
			continue;
		for (size_t k = 0; k < n; k++)
			within = within || open[k].end_ns > begin;
		if (loader_of(op) == LOADER_EITHER && within)
			continue;
		open[n].begin_ns = begin;
		open[n].end_ns = op->end_ns;
		open[n++].number = (uint32_t)i + 1;
	}
	while (n-- > 0)
		if (open[n].begin_ns <= ns && ns < open[n].end_ns)
			return open[n].number;
	return OP_NONE;
}

static struct op_piece naive(const struct world *w, uint32_t tid, int64_t ns)
{
	struct op_piece p = { 0 };

	for (size_t i = 0; i < w->trace.host_ops.n; i++) {
		const struct host_op *op = &w->ops[i];
		uint32_t number = (uint32_t)i + 1;

		if (!covers(op, tid, ns) || op->kind == HOST_OP_OVERHEAD)
			continue;
		p.inner = number;
		if (op->kind == HOST_OP_OPERATOR && loader_of(op) == LOADER_NONE && !p.outer)
			p.outer = number;
		if (op->kind == HOST_OP_PYTHON)
			p.python = number;
	}
	p.loader = loader_at(w, tid, ns);
	return p;
}

static uint32_t naive_overhead(const struct world *w, uint32_t tid, int64_t ns)
{
	uint32_t inner = OP_NONE;

	for (size_t i = 0; i < w->trace.host_ops.n; i++)
		if (covers(&w->ops[i], tid, ns) && w->ops[i].kind == HOST_OP_OVERHEAD)
			inner = (uint32_t)i + 1;
	return inner;
}

static struct op_piece found(const struct op_pieces *p, int64_t ns)
{
	size_t at = op_pieces_at(p, ns);

	return at < p->n && p->at[at].begin_ns <= ns ? p->at[at] : (struct op_piece){ 0 };
}

static void compare(const struct world *w, uint32_t tid, const struct op_pieces *ops, const struct op_pieces *overhead)
{
	for (int64_t ns = -1; ns < 2 * SPAN + 2; ns++) {
		struct op_piece want = naive(w, tid, ns), got = found(ops, ns);

		assert_int_equal(got.inner, want.inner);
		assert_int_equal(got.outer, want.outer);
		assert_int_equal(got.python, want.python);
		assert_int_equal(got.loader, want.loader);
		assert_int_equal(found(overhead, ns).inner, naive_overhead(w, tid, ns));
	}
	for (size_t i = 1; i < ops->n; i++)
		assert_true(ops->at[i].begin_ns > ops->at[i - 1].begin_ns);
}

static void test_against_a_naive_look(void **state)
{
	static struct world w;

	(void)state;
	for (seed = 1; seed < 4000 * 7919; seed += 7919) {
		uint64_t start = seed;

		random_world(&w);
		for (uint32_t tid = 0; tid < 3; tid++) {
			struct op_pieces ops = { 0 }, overhead = { 0 };

			assert_true(op_pieces_build(&ops, &w.trace, &w.labels, tid));
			assert_true(op_pieces_build_overhead(&overhead, &w.trace, tid));
			compare(&w, tid, &ops, &overhead);
			op_pieces_free(&ops);
			op_pieces_free(&overhead);
		}
		op_labels_free(&w.labels);
		seed = start;
	}
}

/* A file may nest a million ops in one another, end them all at once, or go on with short ones in the innermost: pieces stay as few as ops. */
static void test_deep_nesting(void **state)
{
	enum { DEEP = 200000 };
	struct host_op *ops = calloc(2 * DEEP, sizeof(*ops));
	struct trace t = { .host_ops = { .at = ops, .n = 2 * DEEP, .names = names, .n_names = 10 } };
	struct op_labels labels;
	struct op_pieces p = { 0 };

	(void)state;
	for (int i = 0; i < DEEP; i++) {
		ops[i] = (struct host_op){ .begin_ns = i,
					   .end_ns = 10 * DEEP - (i % 2 ? i : 0),
					   .tid = 1,
					   .name = i % 3 ? STEP : ADD,
					   .kind = i % 3 ? HOST_OP_PYTHON : HOST_OP_OPERATOR };
		ops[DEEP + i] = (struct host_op){ .begin_ns = DEEP + 3 * i,
						  .end_ns = DEEP + 3 * i + 1,
						  .tid = 1,
						  .name = READ,
						  .kind = HOST_OP_OS_CALL };
	}
	assert_true(op_labels_build(&labels, &t));
	assert_true(op_pieces_build(&p, &t, &labels, 1));
	assert_true(p.n <= 8 * (size_t)DEEP + 1);
	assert_int_equal(found(&p, DEEP + 1).inner, DEEP);
	assert_int_equal(found(&p, DEEP + 3).inner, DEEP + 2);
	assert_int_equal(found(&p, DEEP + 3).outer, 1);
	assert_int_equal(found(&p, 10 * DEEP).inner, OP_NONE);
	op_pieces_free(&p);
	op_labels_free(&labels);
	free(ops);
}

/* That it had no CPU says less than the call in which it waited; that it wanted one says more. */
static void test_off_the_cpu_within_a_call(void **state)
{
	struct host_op ops[] = {
		{ .begin_ns = 0, .end_ns = 100, .tid = 1, .name = READ, .kind = HOST_OP_OS_CALL },
		{ .begin_ns = 10, .end_ns = 20, .tid = 1, .name = BLOCKED, .kind = HOST_OP_OFF_CPU },
		{ .begin_ns = 30, .end_ns = 40, .tid = 1, .name = PREEMPTED, .kind = HOST_OP_OFF_CPU },
		{ .begin_ns = 120, .end_ns = 130, .tid = 1, .name = BLOCKED, .kind = HOST_OP_OFF_CPU }
	};
	struct trace t = { .host_ops = { .at = ops, .n = 4, .names = names, .n_names = 10 } };
	struct op_labels labels;
	struct op_pieces p = { 0 };

	(void)state;
	assert_true(op_labels_build(&labels, &t));
	assert_true(op_pieces_build(&p, &t, &labels, 1));
	assert_int_equal(found(&p, 15).inner, 1);
	assert_int_equal(found(&p, 35).inner, 3);
	assert_int_equal(found(&p, 45).inner, 1);
	assert_int_equal(found(&p, 125).inner, 4);
	op_pieces_free(&p);
	op_labels_free(&labels);
}

static void test_names(void **state)
{
	(void)state;
	assert_int_equal(loader_by_name("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), LOADER_WORKS);
	assert_int_equal(loader_by_name("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"), LOADER_WAITS);
	assert_int_equal(loader_by_name("enumerate(DataLoader)"), LOADER_EITHER);
	assert_int_equal(loader_by_function("torch/utils/data/_utils/fetch.py(49): fetch"), LOADER_WORKS);
	assert_int_equal(
		loader_by_function("/usr/lib/python3/site-packages/torch/utils/data/dataloader.py(676): __next__"),
		LOADER_EITHER);
	assert_int_equal(loader_by_function("train_dataloader.py(12): main"), LOADER_NONE);
	assert_int_equal(loader_by_function("dataloader"), LOADER_NONE);
	assert_int_equal(loader_by_name("IteratorGetNext"), LOADER_EITHER);
	assert_int_equal(loader_by_name("[pl][profile][_TrainingEpochLoop].train_dataloader_next"), LOADER_EITHER);
	assert_int_equal(loader_by_function("nvidia/dali/plugin/pytorch.py(12): __next__"), LOADER_WAITS);
	assert_int_equal(loader_by_function(NULL), LOADER_NONE);
	assert_int_equal(loader_by_name("Data Loading"), LOADER_EITHER);
	assert_int_equal(loader_by_name("[pl][profile]SingleDeviceStrategy.save_checkpoint"), LOADER_SAVES);
	assert_int_equal(loader_by_function("torch/serialization.py(850): save"), LOADER_SAVES);
	assert_int_equal(loader_by_function("torch/serialization.py(1300): load"), LOADER_NONE);
	assert_int_equal(loader_by_function("torch/utils/checkpoint.py(264): checkpoint"), LOADER_NONE);
	assert_int_equal(loader_by_name("CheckpointFunctionBackward"), LOADER_NONE);
	assert_int_equal(loader_by_name("aten::data"), LOADER_NONE);
	assert_int_equal(loader_by_name("load"), LOADER_NONE);
	assert_int_equal(loader_by_name(NULL), LOADER_NONE);
	assert_int_equal(loader_by_name(""), LOADER_NONE);
	assert_true(op_is_window("ProfilerStep#12"));
	assert_false(op_is_window("Optimizer.step#SGD.step"));
	assert_true(off_cpu_wants_cpu("PREEMPTED"));
	assert_true(off_cpu_wants_cpu("Runnable"));
	assert_false(off_cpu_wants_cpu("Blocked"));
	assert_false(off_cpu_wants_cpu(""));
	assert_int_equal(overhead_by_name("Buffer Flush"), OVERHEAD_PROFILER);
	assert_int_equal(overhead_by_name("Lazy Function Loading"), OVERHEAD_LOADS_CODE);
	assert_int_equal(overhead_by_name("Runtime Triggered Module Loading"), OVERHEAD_LOADS_CODE);
	assert_int_equal(overhead_by_name("DRIVER_COMPILER"), OVERHEAD_LOADS_CODE);
	assert_int_equal(overhead_by_name("Command Buffer Full"), OVERHEAD_DRIVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_a_naive_look),
		cmocka_unit_test(test_deep_nesting),
		cmocka_unit_test(test_off_the_cpu_within_a_call),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
