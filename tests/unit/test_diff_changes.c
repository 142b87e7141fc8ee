/* SPDX-License-Identifier: BSD-2-Clause */
/* What is told as changed, what is left out as noise, and in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff_changes.h"
#include "tests/support/failing_alloc.h"

#define MS 1000000
#define RUNS 3
#define MOST 40
#define STEP_MS 100

/* Two sides with a device each, of which a test says what is in it. */
static struct {
	struct diff_run runs[2][RUNS];
	struct diff_run_device devices[2][RUNS];
	struct diff_kernel kernels[2][RUNS][MOST];
	struct diff_site sites[2][RUNS][MOST];
	struct diff_gap gaps[2][RUNS][MOST];
	struct diff_fact facts[2][RUNS][MOST];
	struct diff_pair pair;
	struct diff diff;
} m;

static int begin(void **state)
{
	(void)state;
	memset(&m, 0, sizeof(m));
	for (int side = 0; side < 2; side++)
		for (int run = 0; run < RUNS; run++) {
			m.runs[side][run].devices = &m.devices[side][run];
			m.runs[side][run].n_devices = 1;
			m.runs[side][run].facts = m.facts[side][run];
			m.devices[side][run] = (struct diff_run_device){ .n_steps = 100,
									 .kernels = m.kernels[side][run],
									 .sites = m.sites[side][run],
									 .gaps = m.gaps[side][run] };
		}
	m.pair.compared.comparable = true;
	m.pair.compared.row[ROW_STEP].base_ns = STEP_MS * MS;
	return 0;
}

static int end(void **state)
{
	(void)state;
	arena_free(&m.diff.texts);
	return 0;
}

static enum err_kind compare(size_t n)
{
	struct error e;

	m.diff = (struct diff){
		.base = m.runs[0], .n_base = n, .now = m.runs[1], .n_now = n, .pairs = &m.pair, .n_pairs = 1
	};
	return diff_add_changes(&m.diff, &e);
}

static void add_kernel(int side, int run, const char *name, double per_step, double ms)
{
	struct diff_run_device *d = &m.devices[side][run];

	d->kernels[d->n_kernels++] = (struct diff_kernel){
		.name = name, .per_step = per_step, .ns_per_step = (int64_t)(ms * MS), .has_ns = ms > 0
	};
}

static void add_site(int side, int run, const char *where, double ms)
{
	struct diff_run_device *d = &m.devices[side][run];
	struct diff_site *s = &d->sites[d->n_sites++];

	*s = (struct diff_site){ .where = where, .idle_ns = (int64_t)(ms * MS), .gaps = 1 };
	s->causes[CAUSE_input_wait] = s->idle_ns;
}

/* Between work that no gap with another key is next to. */
static void add_gap(int side, int run, uint64_t key, double ms, const char *line)
{
	static char names[100][8];
	struct diff_run_device *d = &m.devices[side][run];
	struct diff_gap *g = &d->gaps[d->n_gaps++];

	snprintf(names[key], sizeof(names[key]), "work %d", (int)key);
	*g = (struct diff_gap){ .before = names[key],
				.after = names[key],
				.key = key,
				.ns_per_step = (int64_t)(ms * MS),
				.per_step = 1,
				.lines = { line },
				.n_lines = 1 };
	g->causes[CAUSE_sync_bubble] = g->ns_per_step;
}

/* ---- causes ---- */

static void set_cause(enum cause_id cause, double base_ms, double new_ms, double half_ms)
{
	struct diff_compared *r = &m.pair.compared.row[ROW_LEAVES + LEAF_CAUSES + cause];

	r->base_ns = (int64_t)(base_ms * MS);
	r->new_ns = (int64_t)(new_ms * MS);
	r->delta_ns = r->new_ns - r->base_ns;
	r->low_ns = r->delta_ns - (int64_t)(half_ms * MS);
	r->high_ns = r->delta_ns + (int64_t)(half_ms * MS);
}

static void causes_appear_and_vanish(void **state)
{
	(void)state;
	set_cause(CAUSE_input_storage, 0, 5, 1);
	set_cause(CAUSE_allocator, 3, 0.1, 1);
	set_cause(CAUSE_sync_bubble, 3, 6, 1);     /* more of it */
	set_cause(CAUSE_host_lock, 0, 0.05, 0.01); /* hardly any */
	set_cause(CAUSE_host_compute, 0, 5, 6);    /* by chance */
	assert_int_equal(compare(1), ERR_NONE);
	assert_int_equal(m.pair.n_appeared, 1);
	assert_int_equal(m.pair.appeared[0], CAUSE_input_storage);
	assert_int_equal(m.pair.n_vanished, 1);
	assert_int_equal(m.pair.vanished[0], CAUSE_allocator);
}

/* ---- communication ---- */

static void what_is_sent_is_told_where_both_know_it(void **state)
{
	struct diff_kernel base[] = { { .name = "collective all_reduce", .per_step = 1, .bytes_per_step = 1000 },
				      { .name = "message send", .per_step = 7, .bytes_per_step = 70 } };
	struct diff_kernel now[] = { { .name = "collective all_reduce", .per_step = 1, .bytes_per_step = 9000 },
				     { .name = "message send", .per_step = 7, .bytes_per_step = 70 },
				     { .name = "message recv", .per_step = 7, .bytes_per_step = 70 } };

	(void)state;
	m.devices[0][0].comms = base, m.devices[0][0].n_comms = 2;
	m.devices[1][0].comms = now, m.devices[1][0].n_comms = 3;
	m.devices[1][0].has_comms = true;
	assert_int_equal(compare(1), ERR_NONE);
	assert_int_equal(m.pair.n_comms, 0); /* base is of a version that does not tell */
	arena_free(&m.diff.texts);
	m.devices[0][0].has_comms = true;
	assert_int_equal(compare(1), ERR_NONE);
	assert_int_equal(m.pair.n_comms, 2);
	assert_true(!m.pair.comms[0].base && m.pair.comms[0].now->per_step == 7);
	assert_string_equal(m.pair.comms[1].now->name, "collective all_reduce");
	assert_true(m.pair.comms[1].base->bytes_per_step == 1000 && m.pair.comms[1].now->bytes_per_step == 9000);
	assert_int_equal(m.pair.n_kernels, 0);
}

/* ---- kernels ---- */

static const struct diff_work_change *work(const char *name)
{
	for (size_t i = 0; i < m.pair.n_kernels; i++) {
		const struct diff_work_change *c = &m.pair.kernels[i];

		if (strcmp((c->base ? c->base : c->now)->name, name) == 0)
			return c;
	}
	return NULL;
}

static void kernels_that_changed_are_told(void **state)
{
	(void)state;
	add_kernel(0, 0, "same", 10, 20);
	add_kernel(1, 0, "same", 10, 20.3); /* 1.5 % */
	add_kernel(0, 0, "slower", 10, 20);
	add_kernel(1, 0, "slower", 10, 30);
	add_kernel(0, 0, "more", 10, 0);
	add_kernel(1, 0, "more", 12, 0);
	add_kernel(0, 0, "at the ends", 1, 0);
	add_kernel(1, 0, "at the ends", 1.02, 0);
	add_kernel(0, 0, "gone", 1, 5);
	add_kernel(1, 0, "come", 1, 0);
	add_kernel(1, 0, "once", 0.01, 0);
	add_kernel(0, 0, "tiny", 1, 0.001);
	add_kernel(1, 0, "tiny", 1, 0.002); /* twice as long, and nothing */
	assert_int_equal(compare(1), ERR_NONE);
	assert_int_equal(m.pair.n_kernels, 4);
	assert_true(work("slower") == &m.pair.kernels[0] && work("gone") == &m.pair.kernels[1]);
	assert_null(work("gone")->now);
	assert_null(work("come")->base);
	assert_true(work("more")->now->per_step == 12);
}

static void copies_that_move_more_are_told(void **state)
{
	(void)state;
	for (int side = 0; side < 2; side++) {
		add_kernel(side, 0, "copy", 1, 0);
		add_kernel(side, 0, "padded", 1, 0);
		m.kernels[side][0][0].bytes_per_step = side ? 2000 : 1000;
		m.kernels[side][0][1].bytes_per_step = side ? 1010 : 1000;
	}
	assert_int_equal(compare(1), ERR_NONE);
	assert_int_equal(m.pair.n_kernels, 1);
	assert_string_equal(m.pair.kernels[0].now->name, "copy");
}

/* What lies within what one side's own runs differ in is no change. */
static void runs_that_overlap_have_not_changed(void **state)
{
	static const double ms[2][RUNS] = { { 20, 30, 25 }, { 29, 33, 40 } },
			    apart[2][RUNS] = { { 20, 30, 25 }, { 31, 33, 40 } };

	(void)state;
	for (int side = 0; side < 2; side++)
		for (int run = 0; run < RUNS; run++) {
			add_kernel(side, run, "overlap", 1, ms[side][run]);
			add_kernel(side, run, "apart", 1, apart[side][run]);
			add_site(side, run, "f (a.py:1)", ms[side][run]);
			add_site(side, run, "g (a.py:9)", apart[side][run]);
		}
	add_kernel(1, 1, "of one run", 1, 9);
	assert_int_equal(compare(RUNS), ERR_NONE);
	assert_int_equal(m.pair.n_kernels, 1);
	assert_string_equal(m.pair.kernels[0].base->name, "apart");
	assert_int_equal(m.pair.kernels[0].base->ns_per_step, 25 * MS);
	assert_int_equal(m.pair.n_sites, 1);
	assert_string_equal(m.pair.sites[0].base->where, "g (a.py:9)");
}

static void a_full_list_proves_nothing_gone(void **state)
{
	static struct diff_kernel many[DIFF_KERNELS];

	(void)state;
	for (size_t i = 0; i < DIFF_KERNELS; i++)
		many[i] = (struct diff_kernel){ .name = "k", .per_step = 1 };
	m.devices[0][0].kernels = many;
	m.devices[0][0].n_kernels = DIFF_KERNELS;
	add_kernel(1, 0, "new", 1, 0);
	assert_int_equal(compare(1), ERR_NONE);
	assert_null(work("new"));
}

/* ---- sites ---- */

static void a_statement_that_moved_is_the_same(void **state)
{
	(void)state;
	add_site(0, 0, "load (train.py:41)", 5);
	add_site(1, 0, "load (train.py:43)", 9);
	add_site(0, 0, "step (train.py:60)", 5);
	add_site(1, 0, "[before] step (train.py:60)", 5.1);
	add_site(0, 0, "load (other.py:41)", 3);
	assert_int_equal(compare(1), ERR_NONE);
	assert_int_equal(m.pair.n_sites, 2);
	assert_string_equal(m.pair.sites[0].base->where, "load (train.py:41)");
	assert_string_equal(m.pair.sites[0].now->where, "load (train.py:43)");
	assert_int_equal(m.pair.sites[0].now->causes[CAUSE_input_wait], 9 * MS);
	assert_null(m.pair.sites[1].now);
}

/* ---- gaps ---- */

static void gaps_that_explain_most_come_first(void **state)
{
	(void)state;
	add_gap(0, 0, 1, 5, "one");
	add_gap(1, 0, 1, 7, "one now");
	add_gap(0, 0, 2, 9, "two");
	add_gap(1, 0, 2, 1, "two now");
	add_gap(1, 0, 3, 20, "three now");
	add_gap(0, 0, 4, 3, "four");
	add_gap(1, 0, 4, 3.05, "four now");
	m.pair.compared.row[ROW_IDLE].delta_ns = 14 * MS;
	assert_int_equal(compare(1), ERR_NONE);
	assert_int_equal(m.pair.n_gaps, 3);
	assert_null(m.pair.gaps[0].base);
	assert_string_equal(m.pair.gaps[0].now->lines[0], "three now");
	assert_int_equal(m.pair.gaps[1].delta_ns, 2 * MS);
	assert_string_equal(m.pair.gaps[1].base->lines[0], "one");
	assert_string_equal(m.pair.gaps[1].now->lines[0], "one now");
	assert_int_equal(m.pair.gaps[2].delta_ns, -8 * MS);
	arena_free(&m.diff.texts);
	m.pair.compared.row[ROW_IDLE].delta_ns = -1;
	assert_int_equal(compare(1), ERR_NONE);
	assert_int_equal(m.pair.gaps[0].delta_ns, -8 * MS);
}

static void put_between(int side, size_t i, const char *before, const char *after)
{
	m.gaps[side][0][i].before = before;
	m.gaps[side][0][i].after = after;
}

/* A kernel was put in front of one, and another one behind the next. */
static void gaps_with_other_neighbours_go_together(void **state)
{
	(void)state;
	add_gap(0, 0, 2, 5, "base");
	put_between(0, 0, "adam", "copy");
	add_gap(1, 0, 4, 7, "now");
	put_between(1, 0, "dropout", "copy");
	add_gap(0, 0, 6, 4, "base, second");
	put_between(0, 1, "gemm", "softmax");
	add_gap(1, 0, 8, 1, "now, second");
	put_between(1, 1, "gemm", "relu");
	add_gap(1, 0, 9, 3, "between two steps");
	put_between(1, 2, "adam", "copy");
	assert_int_equal(compare(1), ERR_NONE);
	assert_int_equal(m.pair.n_gaps, 3);
	assert_null(m.pair.gaps[0].base);
	assert_string_equal(m.pair.gaps[1].base->lines[0], "base");
	assert_string_equal(m.pair.gaps[1].now->lines[0], "now");
	assert_string_equal(m.pair.gaps[2].base->lines[0], "base, second");
	assert_int_equal(m.pair.gaps[2].delta_ns, -3 * MS);
}

/* A list that is full says of what it lacks that it is no more than its last. */
static void a_gap_beyond_the_list_may_be_there(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < DIFF_GAPS; i++) {
		add_gap(0, 0, i, 5, "x");
		add_gap(1, 0, i ? i : 99, i ? 5 : 12, "x");
	}
	assert_int_equal(compare(1), ERR_NONE);
	assert_int_equal(m.pair.n_gaps, 1);
	assert_null(m.pair.gaps[0].base);
	assert_int_equal(m.pair.gaps[0].delta_ns, 7 * MS);
}

static void several_runs_are_their_mean(void **state)
{
	(void)state;
	for (int run = 0; run < RUNS; run++) {
		add_gap(0, run, 1, 3 + run, "base");
		add_gap(1, run, 1, 9 + run, run ? "another" : "first");
	}
	add_gap(1, 2, 2, 6, "of the third");
	assert_int_equal(compare(RUNS), ERR_NONE);
	assert_int_equal(m.pair.n_gaps, 2);
	assert_int_equal(m.pair.gaps[0].delta_ns, 6 * MS);
	assert_string_equal(m.pair.gaps[0].now->lines[0], "first");
	assert_int_equal(m.pair.gaps[1].delta_ns, 2 * MS);
	assert_string_equal(m.pair.gaps[1].now->lines[0], "of the third");
}

/* ---- memory, the environment ---- */

static void memory_changes_beyond_a_block(void **state)
{
	static const struct {
		struct diff_memory base, now;
		bool changed;
	} rows[] = {
		{ { true, 100u << 20, 200u << 20, 0.1, 0, false },
		  { true, 101u << 20, 201u << 20, 0.12, 0, false },
		  false },
		{ { true, 100u << 20, 200u << 20, 0.1, 0, false },
		  { true, 110u << 20, 200u << 20, 0.1, 0, false },
		  true },
		{ { true, 100u << 20, 200u << 20, 0.1, 0, false },
		  { true, 100u << 20, 200u << 20, 0.2, 0, false },
		  true },
		{ { true, 100u << 20, 200u << 20, 0.1, 0, false },
		  { true, 100u << 20, 200u << 20, 0.1, 2, false },
		  true },
		{ { true, 1000, 2000, 0.1, 0, false }, { true, 2000, 3000, 0.1, 0, false }, false },
		{ { false, 0, 0, 0, 0, false }, { true, 100u << 20, 200u << 20, 0.1, 0, false }, false },
		{ { true, 100u << 20, 200u << 20, 0, 0, true },
		  { true, 100u << 20, 200u << 20, 0.9, 0, false },
		  false },
		{ { true, 100u << 20, 200u << 20, 0.9, 0, false },
		  { true, 100u << 20, 200u << 20, 0, 0, true },
		  false },
		{ { true, 100u << 20, 200u << 20, 0, 0, true }, { true, 110u << 20, 200u << 20, 0, 0, true }, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(state);
		m.devices[0][0].memory = rows[i].base;
		m.devices[1][0].memory = rows[i].now;
		assert_int_equal(compare(1), ERR_NONE);
		assert_int_equal(m.pair.memory_changed, rows[i].changed);
		assert_int_equal(m.pair.base_memory != NULL, rows[i].base.known);
		assert_int_equal(m.pair.new_memory->peak_allocated, rows[i].now.peak_allocated);
		assert_int_equal(m.pair.new_memory->told, rows[i].now.told);
		arena_free(&m.diff.texts);
	}
}

static void add_fact(int side, int run, const char *name, const char *value)
{
	m.facts[side][run][m.runs[side][run].n_facts++] = (struct diff_fact){ name, value };
}

static void facts_that_differ_are_told(void **state)
{
	static struct diff_fact_change commit = { "commit", "1f", "2e" };
	struct error e;

	(void)state;
	add_fact(0, 0, "commit", "x");
	add_fact(0, 0, "driver", "550.54");
	add_fact(0, 0, "gpu", "H100");
	add_fact(0, 0, "host", "a");
	add_fact(0, 1, "host", "b");
	add_fact(0, 0, "nccl", "2.21.5");
	add_fact(1, 0, "commit", "y");
	add_fact(1, 0, "driver", "560.10");
	add_fact(1, 0, "gpu", "H100");
	add_fact(1, 0, "host", "b");
	add_fact(1, 1, "host", "a");
	m.diff = (struct diff){ .base = m.runs[0],
				.n_base = 2,
				.now = m.runs[1],
				.n_now = 2,
				.pairs = &m.pair,
				.n_pairs = 1,
				.facts = &commit,
				.n_facts = 1 };
	assert_int_equal(diff_add_changes(&m.diff, &e), ERR_NONE);
	assert_int_equal(m.diff.n_facts, 2);
	assert_string_equal(m.diff.facts[0].base, "1f");
	assert_string_equal(m.diff.facts[1].name, "driver");
	assert_string_equal(m.diff.facts[1].now, "560.10");
}

static void without_memory_it_says_so(void **state)
{
	enum err_kind kind;
	long n = 0;

	(void)state;
	add_kernel(0, 0, "a", 1, 5);
	add_kernel(1, 0, "b", 1, 5);
	add_site(0, 0, "f (a.py:1)", 3);
	add_gap(1, 0, 1, 3, "x");
	add_fact(0, 0, "gpu", "A100");
	add_fact(1, 0, "gpu", "H100");
	do {
		fail_at = ++n;
		kind = compare(1);
		fail_at = 0;
		if (kind)
			assert_int_equal(kind, ERR_SYSTEM);
		arena_free(&m.diff.texts);
	} while (kind);
	assert_true(n > 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(causes_appear_and_vanish, begin, end),
		cmocka_unit_test_setup_teardown(what_is_sent_is_told_where_both_know_it, begin, end),
		cmocka_unit_test_setup_teardown(kernels_that_changed_are_told, begin, end),
		cmocka_unit_test_setup_teardown(copies_that_move_more_are_told, begin, end),
		cmocka_unit_test_setup_teardown(runs_that_overlap_have_not_changed, begin, end),
		cmocka_unit_test_setup_teardown(a_full_list_proves_nothing_gone, begin, end),
		cmocka_unit_test_setup_teardown(a_statement_that_moved_is_the_same, begin, end),
		cmocka_unit_test_setup_teardown(gaps_that_explain_most_come_first, begin, end),
		cmocka_unit_test_setup_teardown(gaps_with_other_neighbours_go_together, begin, end),
		cmocka_unit_test_setup_teardown(a_gap_beyond_the_list_may_be_there, begin, end),
		cmocka_unit_test_setup_teardown(several_runs_are_their_mean, begin, end),
		cmocka_unit_test_setup_teardown(memory_changes_beyond_a_block, begin, end),
		cmocka_unit_test_setup_teardown(facts_that_differ_are_told, begin, end),
		cmocka_unit_test_setup_teardown(without_memory_it_says_so, begin, end),
	};

	return cmocka_run_group_tests_name("diff_changes", tests, NULL, NULL);
}
