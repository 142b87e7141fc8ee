/* SPDX-License-Identifier: BSD-2-Clause */
/* Who owns each busy nanosecond, against a model that asks of each which ops run there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "timeline/partition.h"

#define OPS 20
#define LENGTH 300

static struct op ops[OPS];
static struct op_of of[OPS];
static struct gap gaps[OPS];
static struct device_timeline d;
static uint64_t seed;

static int64_t below(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(seed >> 33) % n;
}

static int by_begin(const void *a, const void *b)
{
	const struct op *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Idle is where no op but a host function runs. */
static void draw(void)
{
	int64_t until;

	memset(gaps, 0, sizeof(gaps));
	d = (struct device_timeline){ .ops = ops, .gaps = gaps, .n_ops = (size_t)(2 + below(OPS - 2)) };
	for (size_t i = 0; i < d.n_ops; i++) {
		int64_t begin = below(LENGTH);

		ops[i] = (struct op){ .begin_ns = begin, .end_ns = begin + 1 + below(30), .of = &of[i] };
		of[i].class = (uint8_t)(i ? below(OP_HOSTFN + 1) : OP_KERNEL);
		of[i].copy = (uint8_t)below(8);
	}
	qsort(ops, d.n_ops, sizeof(*ops), by_begin);
	d.begin_ns = until = INT64_MAX;
	for (size_t i = 0; i < d.n_ops; i++) {
		if (ops[i].of->class == OP_HOSTFN)
			continue;
		if (d.begin_ns == INT64_MAX)
			d.begin_ns = until = ops[i].begin_ns;
		if (ops[i].begin_ns > until)
			gaps[d.n_gaps++] = (struct gap){ .begin_ns = until, .end_ns = ops[i].begin_ns };
		until = ops[i].end_ns > until ? ops[i].end_ns : until;
	}
	d.end_ns = until;
}

/* Kernels before collectives, these before copies, these before memsets; among copies the host's link first, pageable before pinned. */
static const int copies[] = { GST_COPY_H2D_PAGEABLE, GST_COPY_H2D_PINNED, GST_COPY_D2H_PAGEABLE, GST_COPY_D2H_PINNED,
			      GST_COPY_PEER,         GST_COPY_D2D,        GST_COPY_H2H,          GST_COPY_UNKNOWN };

static bool runs(int64_t at, int class, int copy)
{
	for (size_t i = 0; i < d.n_ops; i++)
		if (ops[i].of->class == class && (class != OP_COPY || ops[i].of->copy == copy) &&
		    at >= ops[i].begin_ns && at < ops[i].end_ns)
			return true;
	return false;
}

static void model(struct partition *out, int64_t from, int64_t until)
{
	*out = (struct partition){ 0 };
	for (int64_t at = from > d.begin_ns ? from : d.begin_ns; at < until && at < d.end_ns; at++) {
		bool known = runs(at, OP_KERNEL, 0) || runs(at, OP_COMM, 0);

		out->compute_ns += runs(at, OP_KERNEL, 0);
		out->comm_ns += !runs(at, OP_KERNEL, 0) && runs(at, OP_COMM, 0);
		for (size_t i = 0; !known && i < sizeof(copies) / sizeof(*copies); i++) {
			known = runs(at, OP_COPY, copies[i]);
			out->copy_ns[copies[i]] += known;
		}
		out->memset_ns += !known && runs(at, OP_MEMSET, 0);
	}
}

static int64_t sum(const struct partition *p)
{
	int64_t ns = p->compute_ns + p->comm_ns + p->memset_ns;

	for (int i = 0; i < 8; i++)
		ns += p->copy_ns[i];
	return ns;
}

static int64_t length(const struct intervals *s)
{
	int64_t ns = 0;

	for (size_t i = 0; i < s->n; i++) {
		assert_true(s->at[i].begin_ns < s->at[i].end_ns);
		assert_true(!i || s->at[i - 1].end_ns < s->at[i].begin_ns);
		ns += s->at[i].end_ns - s->at[i].begin_ns;
	}
	return ns;
}

/* Parts of the span, next to each other, sum to the whole. */
static void each_nanosecond_has_its_owner(void **state)
{
	struct partition have, want, rest;

	(void)state;
	for (seed = 1; seed < 600; seed++) {
		uint64_t drawn = seed;
		int64_t at;

		draw();
		at = below(LENGTH);
		assert_true(partition_of(&have, &d, d.begin_ns, at));
		model(&want, d.begin_ns, at);
		assert_memory_equal(&have, &want, sizeof(have));
		if (at % 2) /* what was before is summed up at some gaps */
			assert_true(partition_mark(&d, 1 + (size_t)at % 3));
		assert_true(partition_of(&rest, &d, at, d.end_ns));
		model(&want, at, d.end_ns);
		assert_memory_equal(&rest, &want, sizeof(rest));
		model(&want, d.begin_ns, d.end_ns);
		if (at >= d.begin_ns && at <= d.end_ns)
			assert_int_equal(sum(&have) + sum(&rest), sum(&want));
		free(d.marks.at);
		seed = drawn;
	}
}

static void exposed_stretches_are_what_it_sums(void **state)
{
	(void)state;
	for (seed = 1; seed < 600; seed++) {
		struct intervals comm = { 0 }, copy = { 0 };
		uint64_t drawn = seed;
		struct partition all;

		draw();
		assert_true(partition_of(&all, &d, d.begin_ns, d.end_ns));
		assert_true(partition_exposed(&comm, &copy, &d));
		assert_int_equal(length(&comm), all.comm_ns);
		assert_int_equal(length(&copy), sum(&all) - all.comm_ns - all.compute_ns);
		for (size_t i = 0; i < comm.n; i++)
			for (int64_t at = comm.at[i].begin_ns; at < comm.at[i].end_ns; at++)
				assert_true(runs(at, OP_COMM, 0) && !runs(at, OP_KERNEL, 0));
		intervals_free(&comm);
		intervals_free(&copy);
		seed = drawn;
	}
}

/* At once, what each part says for itself. Instants may be the same, lie in gaps, before all and behind all. */
static void instants_are_what_each_says(void **state)
{
	(void)state;
	for (seed = 1; seed < 600; seed++) {
		uint64_t drawn = seed;
		struct partition before[6], want;
		int64_t instants[6] = { -5 };

		draw();
		for (int i = 1; i < 6; i++)
			instants[i] = instants[i - 1] + below(LENGTH / 3);
		assert_true(partition_before(before, &d, instants, 6));
		for (int i = 0; i < 6; i++) {
			model(&want, d.begin_ns, instants[i]);
			assert_memory_equal(&before[i], &want, sizeof(want));
		}
		seed = drawn;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_nanosecond_has_its_owner),
		cmocka_unit_test(exposed_stretches_are_what_it_sums),
		cmocka_unit_test(instants_are_what_each_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
