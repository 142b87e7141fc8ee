/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps from what a training program launches: evaluations, checkpoints, logs and whatever else such a loop has in it, put together by chance too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/unit/fewer.h"
#include "tests/unit/launch_program.h"

struct shape {
	int layers;
	int log_every, checkpoint_every, evaluate_every, accumulate, tries;
	bool copies, item, pauses, shapes, autograd, nameless, last_short, decorated;
};

static const struct shape usual = { .layers = 12, .copies = true, .item = true, .pauses = true, .accumulate = 1 };

static void forward(struct program *p, const struct shape *a, uint64_t shape, bool tries)
{
	char gemm[48];

	snprintf(gemm, sizeof(gemm), "gemm_%u", (unsigned)shape);
	launch(p, "embed");
	for (int i = 0; i < a->layers; i++) {
		for (int k = 0; tries && k < a->tries; k++)
			launch(p, k % 2 ? "try_a" : "try_b");
		launch(p, a->decorated ? "layerNormOptimizedForward" : "norm");
		launch(p, gemm);
		launch(p, "softmax");
		launch(p, gemm);
	}
}

static void backward(struct program *p, const struct shape *a, uint64_t shape)
{
	char gemm[48];

	snprintf(gemm, sizeof(gemm), "gemm_back_%u", (unsigned)shape);
	if (a->autograd)
		p->tid = AUTOGRAD;
	for (int i = 0; i < a->layers; i++) {
		launch(p, "norm_back");
		launch(p, gemm);
		launch(p, "softmax_back");
		launch(p, gemm);
	}
	p->tid = MAIN;
}

static void iteration(struct program *p, const struct shape *a, int i)
{
	uint64_t shape = a->shapes ? below(p, 3) : 0;

	if (a->copies) {
		copy(p, GST_COPY_H2D_PAGEABLE, a->last_short ? 9000 : 200000);
		copy(p, GST_COPY_H2D_PAGEABLE, 256);
	}
	forward(p, a, shape, i == 0);
	launch(p, "loss");
	launch(p, "loss_back");
	backward(p, a, shape);
}

static void optimize(struct program *p, const struct shape *a)
{
	for (int i = 0; i < 6; i++)
		launch(p, a->nameless ? i % 2 ? "fused_7" : "fused_8" : "multi_tensor_apply<Adam>");
}

static void evaluate(struct program *p, const struct shape *a, int batches)
{
	for (int i = 0; i < batches; i++) {
		copy(p, GST_COPY_H2D_PAGEABLE, 200000);
		copy(p, GST_COPY_H2D_PAGEABLE, 256);
		forward(p, a, 0, false);
		launch(p, "accuracy");
		item(p);
		pause_us(p, 300);
	}
}

static void train(struct program *p, const struct shape *a, int steps)
{
	for (int i = 0; i < steps; i++) {
		struct shape now = *a;

		step_begins(p);
		now.last_short = a->last_short && i == steps - 1;
		for (int k = 0; k < a->accumulate; k++) {
			iteration(p, &now, i);
			if (k + 1 < a->accumulate)
				pause_us(p, 150);
		}
		optimize(p, a);
		if (a->item)
			item(p);
		if (a->log_every && i % a->log_every == a->log_every - 1) {
			launch(p, "mean");
			launch(p, "divide");
			item(p);
		}
		if (a->checkpoint_every && i % a->checkpoint_every == a->checkpoint_every - 1) {
			for (int k = 0; k < 30; k++)
				copy(p, GST_COPY_D2H_PAGEABLE, 4 << 20);
			pause_us(p, 30000);
		}
		if (a->pauses)
			pause_us(p, 400);
		if (a->evaluate_every && i % a->evaluate_every == a->evaluate_every - 1)
			evaluate(p, a, 7);
	}
}

static void shut_down(struct program *p)
{
	for (int i = 0; i < 20; i++)
		copy(p, GST_COPY_D2H_PAGEABLE, 4 << 20);
}

static void whole_program(struct shape a, int steps, size_t missing, size_t pieces)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct program *p = begin(seed);

		start_up(p);
		train(p, &a, steps);
		shut_down(p);
		assert_steps(p, missing, pieces);
		end(p);
	}
}

static void each_iteration_is_a_step(void **state)
{
	struct shape a = usual;

	(void)state;
	whole_program(a, 4 + 1, 0, 0);
	whole_program(a, 50, 0, 0);
	a.item = false;
	whole_program(a, 50, 0, 0);
	a.copies = false;
	whole_program(a, 50, 0, 0);
	a = usual;
	a.layers = 1;
	whole_program(a, 300, 0, 0);
}

/* Nothing but the order of the launches says where one begins. */
static void without_pauses(void **state)
{
	struct shape a = usual;

	(void)state;
	a.pauses = a.item = a.copies = false;
	whole_program(a, 40, 0, 0);
	a.log_every = 7;
	a.copies = true;
	whole_program(a, 40, 0, 0);
}

static void the_first_tries_things_out(void **state)
{
	struct shape a = usual;

	(void)state;
	a.tries = 5;
	whole_program(a, 30, 0, 0);
}

static void an_evaluation_is_no_step(void **state)
{
	struct shape a = usual;

	(void)state;
	a.evaluate_every = 10;
	whole_program(a, 45, 0, 4);
	a.evaluate_every = 4; /* more of it than of training */
	whole_program(a, 41, 0, 10);
	a.evaluate_every = 10;
	a.item = false;
	whole_program(a, 45, 0, 4);
}

static void a_checkpoint_is_of_its_step(void **state)
{
	struct shape a = usual;

	(void)state;
	a.checkpoint_every = 8;
	whole_program(a, 45, 0, 0);
}

static void shapes_change(void **state)
{
	struct shape a = usual;

	(void)state;
	a.shapes = true;
	whole_program(a, 60, 0, 0);
	a.evaluate_every = 12;
	a.log_every = 5;
	a.checkpoint_every = 9;
	a.last_short = true;
	a.tries = 3;
	whole_program(a, 61, 0, 5);
}

static void a_log_is_of_its_step(void **state)
{
	struct shape a = usual;

	(void)state;
	for (a.log_every = 2; a.log_every < 20; a.log_every += 3)
		whole_program(a, 60, 0, 0);
}

static void micro_steps_are_parts(void **state)
{
	struct shape a = usual;

	(void)state;
	for (a.accumulate = 2; a.accumulate <= 8; a.accumulate *= 2) {
		a.nameless = false;
		whole_program(a, 12, 0, 0);
		a.nameless = true;
		whole_program(a, 12, 0, 0);
	}
	a.nameless = false;
	a.accumulate = 4;
	a.decorated = true; /* not every kernel that is optimized is an optimizer */
	whole_program(a, 12, 0, 0);
	a.decorated = false;
	a.log_every = 3;
	a.evaluate_every = 6;
	whole_program(a, 20, 0, 3);
}

/* Whatever comes together. Steps that are missed or moved are few, and none is made up. */
static void all_kinds_of_programs(void **state)
{
	int found = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= FEWER(60); seed++) {
		struct program *p = begin(seed * 77 + 5);
		struct shape a = usual;
		const struct trace_steps *s;
		size_t exact = 0;
		int steps;

		a.layers = 2 + (int)below(p, 30);
		a.log_every = below(p, 2) ? 0 : 2 + (int)below(p, 20);
		a.checkpoint_every = below(p, 2) ? 0 : 3 + (int)below(p, 30);
		a.evaluate_every = below(p, 2) ? 0 : 6 + (int)below(p, 30);
		a.accumulate = below(p, 3) ? 1 : 1 + (int)below(p, 6);
		a.tries = below(p, 2) ? 0 : (int)below(p, 9);
		a.item = below(p, 3);
		a.pauses = below(p, 5);
		a.shapes = !below(p, 3);
		a.autograd = !below(p, 3);
		a.last_short = below(p, 2);
		a.nameless = a.accumulate == 1 && below(p, 2);
		steps = 12 + (int)below(p, 90);
		if (below(p, 2))
			start_up(p);
		train(p, &a, steps);
		if (below(p, 2))
			shut_down(p);
		s = find(p);
		for (size_t i = 0, k = 0; s && i < s->n; i++) {
			if (s->at[i].kind != STEP)
				continue;
			while (k + 1 < p->n_truth && p->truth[k + 1] <= s->at[i].begin_ns)
				k++;
			exact += s->at[i].begin_ns - p->truth[k] <= 1000; /* the first call comes so soon */
		}
		if (s) {
			assert_tiles(s);
			assert_true(s->n_steps <= p->n_truth + 1);
			found += s->n_steps == p->n_truth && exact == p->n_truth;
		}
		end(p);
	}
	assert_true(found >= FEWER(60) * 58 / 60);
}

static void backward_is_another_threads(void **state)
{
	struct shape a = usual;

	(void)state;
	a.autograd = true;
	whole_program(a, 40, 0, 0);
	a.copies = false;
	whole_program(a, 40, 0, 0);
}

/* Copies of batches to come, from a thread of their own, at any time. */
static void a_worker_copies_meanwhile(void **state)
{
	struct program *p = begin(5);
	struct shape a = usual;

	(void)state;
	a.copies = false;
	for (int i = 0; i < 40; i++) {
		size_t from = p->trace.n_calls;

		train(p, &a, 1);
		for (size_t k = from; k < p->trace.n_calls; k++) /* in between, without a place of their own */
			if (below(p, 40) == 0) {
				p->calls[k].tid = WORKER;
				p->calls[k].family = GST_FAMILY_COPY;
				p->calls[k].detail = GST_COPY_H2D_PINNED;
			}
	}
	assert_non_null(find(p));
	assert_int_equal(p->steps.traces[0].n_steps, 40);
	assert_tiles(&p->steps.traces[0]);
	end(p);
}

static void three_are_too_few_to_tell(void **state)
{
	struct program *p = begin(1);

	(void)state;
	train(p, &usual, 3);
	assert_null(find(p));
	end(p);
}

static void ranges_win(void **state)
{
	struct program *p = begin(1);
	struct range ranges[40];

	(void)state;
	train(p, &usual, 40);
	for (size_t i = 0; i < 40; i++)
		ranges[i] = (struct range){ .begin_ns = p->truth[i] - 10000,
					    .end_ns = p->truth[i] + 10000,
					    .name = "step",
					    .tid = MAIN,
					    .ended_by = MAIN,
					    .kind = GST_RANGE_PUSHED };
	p->trace.ranges = ranges;
	p->trace.n_ranges = 40;
	assert_non_null(find(p));
	assert_int_equal(p->steps.traces[0].n_steps, 40);
	assert_ptr_equal(p->steps.traces[0].at[3].range, &ranges[3]);
	assert_null(p->steps.traces[0].at[3].launch);
	steps_free(&p->steps);
	for (size_t i = 0; i < 40; i++)
		ranges[i].name = i % 2 ? "epoch" : "main"; /* no steps by these */
	assert_non_null(find(p));
	assert_int_equal(p->steps.traces[0].n_steps, 40);
	assert_null(p->steps.traces[0].at[3].range);
	end(p);
}

static void no_memory(void **state)
{
	struct program *p = begin(1);
	struct error e;
	long n = 1;

	(void)state;
	train(p, &(struct shape){ .layers = 2, .copies = true, .item = true, .pauses = true, .accumulate = 4 }, 12);
	for (;; n++) {
		enum err_kind kind;

		fail_at = n;
		kind = steps_build(&p->steps, &p->run, &e);
		fail_at = 0;
		if (kind == ERR_NONE)
			break;
		assert_int_equal(kind, ERR_SYSTEM);
		assert_null(p->steps.traces);
	}
	assert_true(n > 10);
	assert_int_equal(p->steps.traces[0].n_steps, 12);
	end(p);
}

/* More than is looked at at once: those in the middle tell. */
static void many(void **state)
{
	struct program *p = begin_with(1, 1200000);
	struct shape a = usual;

	(void)state;
	a.layers = 30;
	train(p, &a, 4600);
	assert_true(p->trace.n_calls > 1 << 20);
	assert_steps(p, 0, 0);
	end(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_iteration_is_a_step),
		cmocka_unit_test(without_pauses),
		cmocka_unit_test(the_first_tries_things_out),
		cmocka_unit_test(an_evaluation_is_no_step),
		cmocka_unit_test(a_checkpoint_is_of_its_step),
		cmocka_unit_test(shapes_change),
		cmocka_unit_test(a_log_is_of_its_step),
		cmocka_unit_test(micro_steps_are_parts),
		cmocka_unit_test(all_kinds_of_programs),
		cmocka_unit_test(backward_is_another_threads),
		cmocka_unit_test(a_worker_copies_meanwhile),
		cmocka_unit_test(three_are_too_few_to_tell),
		cmocka_unit_test(ranges_win),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
