/* SPDX-License-Identifier: BSD-2-Clause */
/* The timeline of measured work against a model (timeline_model.h). Where all is measured, the answer is the truth to the nanosecond. Where
 * some of it is not, no idle time is claimed that was none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "timeline_truth.h"
#include "tests/unit/fewer.h"

#define LAST_SEED FEWER(1500)

struct setup {
	size_t n_processes;
	uint32_t n_devices;
	bool legacy;
	bool mixed; /* the processes but the first are recorded with edges */
	uint32_t lost, unlinked;
};

struct totals {
	int64_t span, idle, unresolved;
	uint64_t operations, lost, unlinked, gaps, seeds;
};

struct counts {
	uint64_t operations, lost, unlinked;
};

static struct counts count_truth(const struct model *models, size_t n, uint32_t device)
{
	struct counts c = { 0 };

	for (size_t k = 0; k < n; k++) {
		for (size_t i = 0; i < models[k].n_ops; i++) {
			const struct truth *op = &models[k].ops[i];

			c.operations += op->device == device && !op->host;
			c.lost += op->device == device && op->lost;
		}
		for (size_t i = 0; i < models[k].t.n_measured; i++)
			c.unlinked += models[k].measured[i].seq == 0 &&
				      models[k].devices[device].device == models[k].measured[i].device;
	}
	return c;
}

/* Every gap is the truth's, and the truth has no other. */
static void check_exact(const struct device_timeline *d, const struct busy *b)
{
	assert_int_equal(d->begin_ns, b->at[0].begin);
	assert_int_equal(d->end_ns, b->at[b->n - 1].end);
	assert_int_equal(d->n_gaps, b->n - 1);
	for (size_t i = 0; i < d->n_gaps; i++) {
		assert_int_equal(d->gaps[i].begin_ns, b->at[i].end);
		assert_int_equal(d->gaps[i].end_ns, b->at[i + 1].begin);
		assert_int_equal(d->gaps[i].begin_error_ns, 0);
		assert_int_equal(d->gaps[i].end_error_ns, 0);
		assert_int_equal(d->gaps[i].begin_known_by, BOUNDARY_MEASURED);
		assert_int_equal(d->gaps[i].before->end_ns, b->at[i].end);
		assert_int_equal(d->gaps[i].after->begin_ns, b->at[i + 1].begin);
	}
	assert_int_equal(d->unresolved_ns, 0);
	assert_int_equal(d->idle_error_ns, 0);
	assert_int_equal(d->n_undrawn, 0);
}

/* No gap holds work, lost or not, and what is not claimed is said not to be known. */
static bool check_claims(const struct device_timeline *d, const struct busy *b, uint64_t seed)
{
	int64_t idle = 0;
	size_t k = 0;
	bool ok = true;

	for (size_t i = 1; i < b->n; i++) {
		/* the span may be shorter or longer than the truth's where the first or last work was lost */
		int64_t begin = max64(b->at[i - 1].end, d->begin_ns), end = min64(b->at[i].begin, d->end_ns);

		idle += max64(0, end - begin);
	}
	for (size_t i = 0; i < d->n_gaps; i++) {
		while (k < b->n && b->at[k].end <= d->gaps[i].begin_ns)
			k++;
		if (k < b->n && b->at[k].begin < d->gaps[i].end_ns) {
			print_message("seed %llu: gap %zu [%lld, %lld] holds work [%lld, %lld]\n",
				      (unsigned long long)seed, i, (long long)d->gaps[i].begin_ns,
				      (long long)d->gaps[i].end_ns, (long long)b->at[k].begin, (long long)b->at[k].end);
			ok = false;
		}
	}
	if (d->idle_error_ns != 0 || idle < d->idle_ns || idle > d->idle_ns + d->unresolved_ns) {
		print_message("seed %llu: true idle %lld not in %lld + %lld, error %lld\n", (unsigned long long)seed,
			      (long long)idle, (long long)d->idle_ns, (long long)d->unresolved_ns,
			      (long long)d->idle_error_ns);
		ok = false;
	}
	return ok;
}

/* Beside a process whose work has bounds only. */
static bool check_bounds(const struct device_timeline *d, const struct busy *b, uint64_t seed)
{
	int64_t idle = 0;
	bool ok = true;
	size_t k = 0;

	for (size_t i = 1; i < b->n; i++)
		idle += b->at[i].begin - b->at[i - 1].end;
	if (idle < d->idle_ns - d->idle_error_ns || idle > d->idle_ns + d->idle_error_ns + d->unresolved_ns + b->held) {
		print_message("seed %llu: true idle %lld not in %lld +- %lld + %lld\n", (unsigned long long)seed,
			      (long long)idle, (long long)d->idle_ns, (long long)d->idle_error_ns,
			      (long long)d->unresolved_ns);
		ok = false;
	}
	for (size_t i = 0; i < d->n_gaps; i++) {
		int64_t begin = d->gaps[i].begin_ns + d->gaps[i].begin_error_ns;
		int64_t end = d->gaps[i].end_ns - d->gaps[i].end_error_ns;

		while (k < b->n && b->at[k].end <= begin)
			k++;
		ok &= begin >= end || k == b->n || b->at[k].begin >= end;
	}
	if (!ok)
		print_message("seed %llu fails\n", (unsigned long long)seed);
	return ok;
}

/* What was measured is drawn where it was, and never within a gap. */
static void check_drawn(const struct device_timeline *d)
{
	size_t gap = 0;

	for (size_t i = 0; i < d->n_ops; i++) {
		const struct op *op = &d->ops[i];

		if (!op->of->exact)
			continue;
		assert_int_equal(op->begin_ns, op->of->measured->begin_ns);
		assert_int_equal(op->end_ns, op->of->measured->end_ns);
		while (gap < d->n_gaps && d->gaps[gap].end_ns <= op->begin_ns)
			gap++;
		assert_true(gap == d->n_gaps || d->gaps[gap].begin_ns >= op->end_ns);
	}
}

static bool check_device(const struct setup *how, const struct device_timeline *d, const struct model *models,
			 uint64_t seed, struct totals *sum)
{
	static struct busy b;
	uint32_t device = d->device.uuid[0] - 1u;
	struct counts c = count_truth(models, how->n_processes, device);

	merge_truth(&b, models, how->n_processes, device);
	if (getenv("SEED")) {
		for (size_t i = 0; i < b.n; i++)
			print_message("busy %lld..%lld\n", (long long)(b.at[i].begin - models[0].t.begin_ns),
				      (long long)(b.at[i].end - models[0].t.begin_ns));
		for (size_t i = 0; i < d->n_gaps; i++)
			print_message("gap %lld..%lld +- %lld, %lld\n",
				      (long long)(d->gaps[i].begin_ns - models[0].t.begin_ns),
				      (long long)(d->gaps[i].end_ns - models[0].t.begin_ns),
				      (long long)d->gaps[i].begin_error_ns, (long long)d->gaps[i].end_error_ns);
		for (size_t i = 0; i < d->n_unresolved; i++)
			print_message("unresolved %lld..%lld\n",
				      (long long)(d->unresolved[i].begin_ns - models[0].t.begin_ns),
				      (long long)(d->unresolved[i].end_ns - models[0].t.begin_ns));
	}
	check_sums(d, seed);
	check_drawn(d);
	sum->span += d->end_ns - d->begin_ns;
	sum->idle += d->idle_ns;
	sum->unresolved += d->unresolved_ns;
	sum->gaps += d->n_gaps;
	sum->operations += d->operations;
	sum->lost += d->operations_lost;
	sum->unlinked += d->operations_unlinked;
	/* work without a call is one operation, the call whose work it may have been another */
	assert_int_equal(d->operations, c.operations + c.unlinked);
	assert_int_equal(d->operations_lost, c.lost + c.unlinked);
	assert_int_equal(d->operations_unlinked, c.unlinked);
	if (!b.n)
		return true;
	if (how->mixed)
		return check_bounds(d, &b, seed);
	if (!how->lost && !how->unlinked)
		check_exact(d, &b);
	return check_claims(d, &b, seed);
}

static bool one(const struct setup *how, uint64_t seed, struct totals *sum)
{
	static struct model models[PROCESSES];
	struct trace *traces[PROCESSES];
	struct run r = { .traces = traces, .n_traces = how->n_processes, .count = 1 };
	struct timeline tl;
	struct error e;
	bool ok = true;

	for (size_t k = 0; k < how->n_processes; k++) {
		begin(&models[k], seed, (uint32_t)k, how->n_devices, how->legacy, k == 0 || !how->mixed);
		models[k].lost = how->lost;
		models[k].unlinked = how->unlinked;
		play(&models[k], seed);
		traces[k] = &models[k].t;
		for (size_t i = 0; getenv("SEED") && i < models[k].t.n_calls; i++) {
			const struct call *c = &models[k].calls[i];

			print_message("call %lld..%lld family %u stream %u seq %llu\n",
				      (long long)(c->begin_ns - models[0].t.begin_ns),
				      (long long)(c->end_ns - models[0].t.begin_ns), c->family, c->stream,
				      (unsigned long long)c->seq);
		}
	}
	assert_int_equal(timeline_build(&tl, &r, &e), ERR_NONE);
	for (size_t i = 0; i < tl.n_devices; i++)
		ok &= check_device(how, &tl.devices[i], models, seed, sum);
	timeline_free(&tl);
	return ok;
}

static struct totals all_seeds(const struct setup *how)
{
	const char *only = getenv("SEED");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1, last = only ? first : LAST_SEED;
	struct totals sum = { 0 };
	size_t failed = 0;

	for (uint64_t seed = first; seed <= last; seed++)
		failed += !one(how, seed, &sum);
	sum.seeds = last - first + 1;
	print_message(
		"%llu operations, %llu lost, %llu unlinked, %llu gaps; idle %.1f%%, unresolved %.2f%% of the span\n",
		(unsigned long long)sum.operations, (unsigned long long)sum.lost, (unsigned long long)sum.unlinked,
		(unsigned long long)sum.gaps, 100.0 * (double)sum.idle / (double)sum.span,
		100.0 * (double)sum.unresolved / (double)sum.span);
	assert_int_equal(failed, 0);
	return sum;
}

static void one_device_is_known_to_the_nanosecond(void **state)
{
	struct totals all = all_seeds(&(struct setup){ .n_processes = 1, .n_devices = 1 });

	(void)state;
	assert_true(all.gaps > 5 * all.seeds);
}

static void so_are_several_and_their_processes(void **state)
{
	(void)state;
	all_seeds(&(struct setup){ .n_processes = 2, .n_devices = 2 });
	all_seeds(&(struct setup){ .n_processes = 1, .n_devices = 2, .legacy = true });
}

static void lost_work_is_never_claimed_as_idle(void **state)
{
	struct totals few, all;

	(void)state;
	few = all_seeds(&(struct setup){ .n_processes = 1, .n_devices = 1, .lost = 20 });
	assert_true(few.lost > few.seeds / 3);
	assert_true(few.unresolved < few.span / 20); /* and little of the rest is lost with it */
	all = all_seeds(&(struct setup){ .n_processes = 1, .n_devices = 1, .lost = 1000 });
	assert_int_equal(all.lost, all.operations);
	assert_true(all.idle > 0); /* what the host saw still counts */
	all_seeds(&(struct setup){ .n_processes = 2, .n_devices = 2, .lost = 200 });
	all_seeds(&(struct setup){ .n_processes = 1, .n_devices = 2, .legacy = true, .lost = 200 });
}

static void work_without_a_call_is_busy_time(void **state)
{
	struct totals few = all_seeds(&(struct setup){ .n_processes = 1, .n_devices = 1, .unlinked = 50 });

	(void)state;
	assert_true(few.unlinked > few.seeds / 3);
	all_seeds(&(struct setup){ .n_processes = 2, .n_devices = 2, .unlinked = 200 });
}

static void processes_that_were_not_measured_may_share_the_device(void **state)
{
	(void)state;
	all_seeds(&(struct setup){ .n_processes = 2, .n_devices = 1, .mixed = true });
	all_seeds(&(struct setup){ .n_processes = 2, .n_devices = 2, .mixed = true });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_device_is_known_to_the_nanosecond),
		cmocka_unit_test(so_are_several_and_their_processes),
		cmocka_unit_test(lost_work_is_never_claimed_as_idle),
		cmocka_unit_test(work_without_a_call_is_busy_time),
		cmocka_unit_test(processes_that_were_not_measured_may_share_the_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
