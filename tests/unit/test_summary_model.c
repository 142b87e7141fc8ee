/* SPDX-License-Identifier: BSD-2-Clause */
/* Thousands of random runs (summary_machine.h) through the whole pipeline, from bytes to the summary, against a slow and obvious reference.
 * Where all work is measured the answer is the truth to the nanosecond; where it is not, no idle time is claimed that was none. In each of
 * them everything sums. SEED in the environment: that one alone; what fails is written to TRACE as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "summary_analysed.h"
#include "summary_machine.h"
#include "summary_reference.h"
#include "summary_sound.h"

#define LAST_SEED FEWER(1500)

/* ---- the truth ---------------------------------------------------------------------------------------------------- */

#define SAME(what, theirs, ours)                                                                                   \
	do {                                                                                                       \
		if ((int64_t)(theirs) != (int64_t)(ours)) {                                                        \
			print_message("device %u: %s is %lld, reported %lld\n", device, what, (long long)(theirs), \
				      (long long)(ours));                                                          \
			return false;                                                                              \
		}                                                                                                  \
	} while (0)

static bool same_gaps(const struct partition_of_all *p, const struct device_timeline *d, uint32_t device)
{
	SAME("number of gaps", p->n_gaps, d->n_gaps);
	for (size_t i = 0; i < p->n_gaps; i++) {
		SAME("a gap's begin", p->gaps[i].begin, d->gaps[i].begin_ns);
		SAME("a gap's end", p->gaps[i].end, d->gaps[i].end_ns);
	}
	return true;
}

/* All was measured: the report says what was. */
static bool check_exact(const struct summary_device *s, const struct machine *m, uint32_t device)
{
	static struct partition_of_all p;
	const struct device_timeline *d = s->timeline;

	reference(&p, m, device);
	SAME("begin", p.begin, d->begin_ns);
	SAME("end", p.end, d->end_ns);
	SAME("number of operations", p.operations, d->operations);
	SAME("compute", p.part[KERNEL], d->compute_ns);
	SAME("communication", p.part[COMM], d->comm_ns);
	SAME("copy-h2d-pageable", p.part[H2D_PAGEABLE], s->h2d_pageable_ns);
	SAME("copy-h2d-pinned", p.part[H2D_PINNED], s->h2d_pinned_ns);
	SAME("copy-d2h", p.part[D2H], s->d2h_ns);
	SAME("copy-peer", p.part[PEER], s->peer_ns);
	SAME("copy-d2d", p.part[D2D], s->d2d_ns);
	SAME("memset", p.part[MEMSET], s->memset_ns);
	SAME("idle", p.idle, d->idle_ns);
	SAME("unresolved", 0, d->unresolved_ns);
	SAME("the error", 0, d->idle_error_ns);
	if (!same_gaps(&p, d, device))
		return false;
	for (size_t i = 0; i < s->phases.n_steps; i++)
		SAME("a step's idle time",
		     reference_idle(&p, s->phases.steps[i].step->begin_ns, s->phases.steps[i].step->end_ns),
		     s->phases.steps[i].idle_ns);
	if (s->phases.n_steps)
		SAME("startup", reference_idle(&p, p.begin, s->phases.steps[0].step->begin_ns), s->startup_ns);
	return true;
}

/* Only bounds are known: the truth lies within them, and no gap holds work. */
static bool check_claims(const struct summary_device *s, const struct machine *m, uint32_t device)
{
	static struct partition_of_all p;
	const struct device_timeline *d = s->timeline;
	int64_t low = d->idle_ns - d->idle_error_ns, high = d->idle_ns + d->idle_error_ns + d->unresolved_ns, idle;

	reference(&p, m, device);
	/* the first or last work may be among what was lost: then the span is another */
	idle = s->span_ns - reference_busy(&p, d->begin_ns, d->end_ns);
	if (idle < low || p.idle > high + m->held[device]) {
		print_message("device %u: idle %lld (%lld in the true span), reported %lld to %lld\n", device,
			      (long long)idle, (long long)p.idle, (long long)low, (long long)high);
		return false;
	}
	for (size_t i = 0; i < d->n_gaps; i++) {
		int64_t begin = d->gaps[i].begin_ns + d->gaps[i].begin_error_ns;
		int64_t end = d->gaps[i].end_ns - d->gaps[i].end_error_ns;

		if (begin < end)
			SAME("work in a gap", reference_busy(&p, begin, end), 0);
	}
	return true;
}

/* ---- many runs ----------------------------------------------------------------------------------------------------- */

struct kind {
	uint32_t n_processes, measured;
	bool lossy;
};

static struct {
	uint64_t runs, gaps, operations, steps;
} seen;

static bool one_device(const struct summary_device *s, const struct machine *m, struct kind kind)
{
	uint32_t device = s->timeline->device.uuid[0] - 1u;

	seen.gaps += s->timeline->n_gaps;
	seen.operations += s->timeline->operations;
	seen.steps += s->phases.n_steps;
	if (kind.measured == kind.n_processes && !kind.lossy)
		return check_exact(s, m, device);
	return check_claims(s, m, device);
}

static void write_text(const struct machine *m)
{
	FILE *file = getenv("TRACE") ? fopen(getenv("TRACE"), "w") : NULL;

	if (file && fputs(m->out.text, file) >= 0)
		fclose(file);
}

static bool one(uint64_t seed, struct kind kind)
{
	struct machine *m = machine_run(seed, kind.n_processes, kind.measured, kind.lossy);
	struct analysed a;
	const char *why;
	bool ok = true;

	analysed_parse(&a, m->out.text);
	assert_int_equal(analysed_build(&a), a.text.n);
	seen.runs++;
	why = summary_unsound(&a.summary);
	if (why)
		print_message("it does not hold that %s\n", why);
	for (size_t i = 0; i < a.summary.n_devices && !why; i++)
		ok &= one_device(&a.summary.devices[i], m, kind);
	if (!kind.lossy && a.summary.operations_unlinked != m->strays) {
		print_message("%llu operations unlinked instead of %llu\n",
			      (unsigned long long)a.summary.operations_unlinked, (unsigned long long)m->strays);
		ok = false;
	}
	if (!ok || why)
		write_text(m);
	analysed_release(&a);
	analysed_free(&a);
	machine_free(m);
	return ok && !why;
}

static void all(uint64_t last, struct kind kind)
{
	const char *only = getenv("SEED");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1;
	size_t failed = 0;

	memset(&seen, 0, sizeof(seen));
	for (uint64_t seed = first; seed <= (only ? first : last); seed++)
		if (!one(seed, kind) && failed++ < 10)
			print_message("SEED=%llu fails\n", (unsigned long long)seed);
	print_message("%llu runs, %llu operations, %llu gaps, %llu steps; %zu failed\n", (unsigned long long)seen.runs,
		      (unsigned long long)seen.operations, (unsigned long long)seen.gaps,
		      (unsigned long long)seen.steps, failed);
	assert_int_equal(failed, 0);
	assert_true(only || (seen.gaps > last && seen.steps > last / 8));
}

static void measured_work_is_told_exactly(void **state)
{
	(void)state;
	all(LAST_SEED, (struct kind){ 1, 1, false });
}

static void several_processes_share_devices(void **state)
{
	(void)state;
	all(LAST_SEED / 2, (struct kind){ PROCESSES, PROCESSES, false });
}

static void what_was_lost_is_never_idle(void **state)
{
	(void)state;
	all(LAST_SEED / 2, (struct kind){ 1, 1, true });
}

static void edges_bound_it(void **state)
{
	(void)state;
	all(LAST_SEED, (struct kind){ 1, 0, false });
}

static void a_measured_process_beside_others(void **state)
{
	(void)state;
	all(LAST_SEED / 2, (struct kind){ 2, 1, false });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measured_work_is_told_exactly),    cmocka_unit_test(several_processes_share_devices),
		cmocka_unit_test(what_was_lost_is_never_idle),      cmocka_unit_test(edges_bound_it),
		cmocka_unit_test(a_measured_process_beside_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
