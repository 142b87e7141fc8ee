/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of a stretch of time, and what is made of them: tiled whatever the pieces, each silence's sums, activities in the order of time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "gap/gap_view_ops.h"

#define US 1000

static uint64_t seed;

static int64_t below(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(seed >> 33) % n;
}

/* Which piece holds an instant: the last that has begun. */
static uint32_t inner_at(const struct op_pieces *p, int64_t ns)
{
	uint32_t inner = OP_NONE;

	for (size_t i = 0; i < p->n && p->at[i].begin_ns <= ns; i++)
		inner = p->at[i].inner;
	return inner;
}

static void test_a_walk_tiles_what_it_is_asked_for(void **state)
{
	(void)state;
	for (seed = 1; seed < 2000 * 7919; seed += 7919) {
		uint64_t start = seed;
		struct op_piece at[8];
		struct op_pieces pieces = { .at = at, .n = (size_t)below(9) };
		int64_t ns = below(10), from = below(40), until = from + below(40), begin, end, told = from;
		const struct op_piece *p;

		for (size_t i = 0; i < pieces.n; i++) {
			at[i] = (struct op_piece){ .begin_ns = ns,
						   .inner = i + 1 < pieces.n ? (uint32_t)below(4) : OP_NONE };
			ns += 1 + below(10);
		}
		for (struct op_walk w = op_walk_begin(&pieces, from, until); (p = op_walk_on(&w, &begin, &end));) {
			assert_int_equal(begin, told);
			assert_true(end > begin);
			for (ns = begin; ns < end; ns++)
				assert_int_equal(p->inner, inner_at(&pieces, ns));
			told = end;
		}
		assert_int_equal(told, until);
		seed = start;
	}
}

enum name { NOTHING, ADD, LOADER, READ, MMAP, SLEEPING, PREEMPTED };
static const char *names[] = { "",         "aten::add", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
			       "read",     "mmap",      "sleeping",
			       "preempted" };

struct seen { /* one silence from 0 to 1000 us, in a gap that begins at 100 us */
	struct trace trace;
	struct host_op ops[16];
	struct process_records process;
	struct thread_records records;
	struct gap gap;
	struct call submit;
	struct gap_view view;
};

static void add(struct seen *s, enum host_op_kind kind, enum name name, int64_t begin_us, int64_t end_us)
{
	s->ops[s->trace.host_ops.n++] = (struct host_op){
		.begin_ns = begin_us * US, .end_ns = end_us * US, .tid = 1, .name = name, .kind = (uint8_t)kind
	};
}

static void begin(struct seen *s)
{
	memset(s, 0, sizeof(*s));
	s->trace.host_ops =
		(struct host_ops){ .at = s->ops, .names = names, .n_names = sizeof(names) / sizeof(names[0]) };
}

static void look(struct seen *s)
{
	struct gap_view *v = &s->view;

	s->records.tid = 1;
	assert_true(op_labels_build(&s->process.op_labels, &s->trace));
	assert_true(op_pieces_build(&s->records.ops, &s->trace, &s->process.op_labels, 1));
	s->gap = (struct gap){ .begin_ns = 100 * US, .end_ns = 1010 * US };
	s->submit = (struct call){ .begin_ns = 1000 * US, .end_ns = 1010 * US, .tid = 1, .family = GST_FAMILY_LAUNCH };
	v->silences = calloc(1, sizeof(*v->silences));
	v->silences[0] = (struct silence){ .begin_ns = 0, .end_ns = 1000 * US, .begin_known = true };
	v->n_silences = v->cap_silences = 1;
	v->gap = &s->gap;
	v->trace = &s->trace;
	v->process = &s->process;
	v->records = &s->records;
	v->submit = &s->submit;
	v->submit_begin_ns = 1000 * US;
	assert_true(gap_view_set_ops(v));
}

static void end(struct seen *s)
{
	gap_view_free(&s->view);
	op_pieces_free(&s->records.ops);
	op_labels_free(&s->process.op_labels);
}

static void assert_stretch(const struct seen *s, size_t i, enum at_what what, int64_t begin_us, int64_t end_us)
{
	assert_true(i < s->view.n_stretches);
	assert_int_equal(s->view.stretches[i].what, what);
	assert_int_equal(s->view.stretches[i].begin_ns, begin_us * US);
	assert_int_equal(s->view.stretches[i].end_ns, end_us * US);
}

static void test_stretches(void **state)
{
	static struct seen s;

	(void)state;
	begin(&s);
	add(&s, HOST_OP_OPERATOR, ADD, 50, 150);      /* the gap begins within it */
	add(&s, HOST_OP_OPERATOR, ADD, 180, 200);     /* 30 us of nothing before: an interpreter's */
	add(&s, HOST_OP_OS_CALL, MMAP, 210, 220);     /* its own doing */
	add(&s, HOST_OP_OS_CALL, READ, 220, 300);     /* an activity */
	add(&s, HOST_OP_OFF_CPU, SLEEPING, 230, 290); /* … as that call says */
	add(&s, HOST_OP_OPERATOR, ADD, 400, 500);     /* 100 us of nothing before */
	add(&s, HOST_OP_OFF_CPU, PREEMPTED, 420, 430);
	add(&s, HOST_OP_OFF_CPU, SLEEPING, 450, 460);
	add(&s, HOST_OP_OPERATOR, LOADER, 500, 700);
	add(&s, HOST_OP_OS_CALL, READ, 510, 600); /* the loader's */
	look(&s);
	assert_stretch(&s, 0, AT_WORKING_LOADER, 500, 700);
	assert_stretch(&s, 1, AT_CODE, 100, 220);
	assert_stretch(&s, 2, AT_CODE, 400, 420);
	assert_stretch(&s, 3, AT_NO_CPU, 420, 430);
	assert_stretch(&s, 4, AT_CODE, 430, 450);
	assert_stretch(&s, 5, AT_WAIT, 450, 460);
	assert_stretch(&s, 6, AT_CODE, 460, 500);
	assert_int_equal(s.view.n_stretches, 7);
	assert_int_equal(s.view.n_activities, 1);
	assert_int_equal(s.view.activities[0].begin_ns, 220 * US);
	assert_int_equal(s.view.activities[0].end_ns, 300 * US);
	assert_int_equal(s.view.activities[0].doing, DOING_READ);
	assert_ptr_equal(s.view.activities[0].op, &s.ops[3]);
	assert_false(s.view.silences[0].ops.passes);
	assert_int_equal(s.view.silences[0].ops.longest_ns, 300 * US); /* from the loader to the submission */
	assert_int_equal(s.view.silences[0].ops.piece_ns, 100 * US);
	end(&s);
}

static void test_nothing_on_record(void **state)
{
	static struct seen s;

	(void)state;
	begin(&s);
	add(&s, HOST_OP_OPERATOR, ADD, 2000, 2100);
	look(&s);
	assert_int_equal(s.view.n_stretches, 0);
	assert_int_equal(s.view.n_activities, 0);
	assert_int_equal(s.view.silences[0].ops.n, 1);
	assert_int_equal(s.view.silences[0].ops.longest_ns, 1000 * US);
	assert_null(s.view.silences[0].ops.piece);
	end(&s);
}

/* A million ops in one another, around a thousand gaps: each gap looks at its own pieces only. */
static void test_deep_nesting_costs_no_more(void **state)
{
	enum { DEEP = 300000 };
	struct host_op *ops = calloc(DEEP, sizeof(*ops));
	struct trace t = { .host_ops = { .at = ops, .n = DEEP, .names = names, .n_names = 7 } };
	struct op_labels labels;
	struct op_pieces pieces = { 0 };
	int64_t from, until;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < DEEP; i++)
		ops[i] = (struct host_op){
			.begin_ns = i, .end_ns = 10 * DEEP - i, .tid = 1, .name = ADD, .kind = HOST_OP_OPERATOR
		};
	assert_true(op_labels_build(&labels, &t));
	assert_true(op_pieces_build(&pieces, &t, &labels, 1));
	assert_true(pieces.n <= 2 * DEEP + 1);
	for (int i = 0; i < 100000; i++) /* all of them open, nothing changes */
		for (struct op_walk w = op_walk_begin(&pieces, 2 * DEEP + 10 * i, 2 * DEEP + 10 * i + 10);
		     op_walk_on(&w, &from, &until); n++)
			;
	assert_int_equal(n, 100000);
	op_pieces_free(&pieces);
	op_labels_free(&labels);
	free(ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_walk_tiles_what_it_is_asked_for),
		cmocka_unit_test(test_stretches),
		cmocka_unit_test(test_nothing_on_record),
		cmocka_unit_test(test_deep_nesting_costs_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
