/* SPDX-License-Identifier: BSD-2-Clause */
/* A device's clock against the host's: an hour of synthetic edges in 0.5 us ticks and float milliseconds, as the recorder writes them, over
 * clocks that drift in every way that clocks do. No edge is ever further from the truth than its stated error, and that stays small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "trace/clock.h"
#include "trace/device_clock.h"
#include "trace/device_rate.h"
#include "tools/spill.h"
#include "trace/sequence.h"

#define US 1000.0
#define MS 1e6
#define S 1e9
#define BEGIN_NS 5000000000000ll
#define EDGES 90000
#define RENEW_MS 2000 /* as shim/edge_read.c does */

/* ---- the clocks ------------------------------------------------------------------------------------------------------- */

struct drift { /* of the device's clock, parts per million, by host time since the begin */
	double constant, wave, period_s, step, step_at_s;
};

/* What the device's clock has gained by then, in nanoseconds. */
static double gained_ns(const struct drift *d, double host_ns)
{
	double s = host_ns / S, gained = d->constant * s;

	if (d->period_s > 0)
		gained += d->wave * d->period_s / (2 * M_PI) * (1 - cos(2 * M_PI * s / d->period_s));
	if (s > d->step_at_s)
		gained += d->step * (s - d->step_at_s);
	return gained * 1000; /* ppm of a second are microseconds */
}

static double device_ticks(const struct drift *d, double host_ns)
{
	return floor((host_ns + gained_ns(d, host_ns) + 7.3e15) / 500);
}

/* ---- the recording ---------------------------------------------------------------------------------------------------- */

struct recording {
	struct trace trace;
	struct drift drift;
	double *fired; /* truth: host time since BEGIN_NS */
	uint32_t base;
	uint64_t random;
};

static double between(struct recording *r, double low, double high)
{
	r->random = r->random * 6364136223846793005u + 1442695040888963407u;
	return low + (high - low) * (double)(r->random >> 11) / 9007199254740992.0;
}

static struct recording *record_begin(struct drift drift)
{
	struct recording *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->trace.begin_ns = BEGIN_NS;
	r->trace.edges = calloc(EDGES, sizeof(*r->trace.edges));
	r->fired = calloc(EDGES, sizeof(*r->fired));
	r->drift = drift;
	r->random = 42;
	return r;
}

/* One edge that fired then; it was put into its stream so long before, and seen complete so long after. */
static struct edge *add_edge(struct recording *r, double fired, double before, double after)
{
	size_t i = r->trace.n_edges++;
	struct edge *e = &r->trace.edges[i];
	double base_fired = r->base ? r->fired[r->base - 1] : fired;

	assert_true(i < EDGES);
	r->fired[i] = fired;
	*e = (struct edge){ .begin_ns = BEGIN_NS + (int64_t)floor(fired - before),
			    .end_ns = BEGIN_NS + (int64_t)floor(fired - before) + 900,
			    .done_ns = BEGIN_NS + (int64_t)ceil(fired + after),
			    .device_ns = NAN,
			    .stream = GST_NONE,
			    .id = (uint32_t)i + 1,
			    .base = r->base ? r->base : (uint32_t)i + 1 };
	e->elapsed_ms = (float)((device_ticks(&r->drift, fired) - device_ticks(&r->drift, base_fired)) * 500 / 1e6);
	if (!r->base || e->elapsed_ms > RENEW_MS)
		r->base = e->id;
	return e;
}

/* A program that waits for the device now and then: what it waits for fires right before it wakes, and was queued long before; then an edge on
 * the empty stream, which fires at once and is read when the helper gets to it. */
static double record_wait(struct recording *r, double now)
{
	add_edge(r, now, between(r, 1 * MS, 60 * MS), between(r, 4 * US, 25 * US));
	now += between(r, 30 * US, 400 * US);
	add_edge(r, now, between(r, 1 * US, 9 * US), between(r, 50 * US, 5 * MS));
	return now;
}

static void record_stretch(struct recording *r, double begin_s, double end_s, double longest_ms)
{
	for (double now = begin_s * S; now < end_s * S; now += between(r, 1 * MS, longest_ms * MS))
		now = record_wait(r, now);
}

static void record_free(struct recording *r)
{
	clock_free(r->trace.clock);
	free(r->trace.edges);
	free(r->fired);
	free(r);
}

/* ---- what is found ---------------------------------------------------------------------------------------------------- */

/* All edges are placed, none further from the truth than is stated, and that is no more than so much: of all, and of half of them. */
static struct device_fit assert_placed(struct recording *r, double worst_us, double median_us)
{
	struct firing *firings;
	struct device_fit fit;

	assert_int_equal(sequence_edges(&r->trace, NULL), ERR_NONE);
	assert_int_equal(device_clock_map(&firings, &r->trace, NULL), ERR_NONE);
	assert_true(device_clock_fit(&fit, &r->trace, firings, 0));
	for (size_t i = 0; i < r->trace.n_edges; i++) {
		double off = (double)(firings[i].time_ns - BEGIN_NS) - r->fired[i];
		double error = (double)firings[i].error_ns;

		if (r->trace.clock)
			error += (double)clock_error_ns(r->trace.clock, firings[i].time_ns);
		if (!firings[i].exact || fabs(off) > error + 1)
			fail_msg("edge %zu at %.6f s: off by %.0f ns, stated %.0f", i, r->fired[i] / S, off, error);
	}
	spill_free(firings);
	assert_int_equal(fit.edges, r->trace.n_edges);
	if ((double)fit.error_ns > worst_us * US || (double)fit.median_error_ns > median_us * US)
		fail_msg("stated: %.1f us at worst, %.1f in the middle", (double)fit.error_ns / US,
			 (double)fit.median_error_ns / US);
	return fit;
}

/* 15 us at worst and 8 in the middle, where a device is waited for ten times a second and a wake-up takes 4 to 25 us. */
static struct device_fit an_hour(struct drift drift)
{
	struct recording *r = record_begin(drift);
	struct device_fit fit;

	record_stretch(r, 0, 3600, 200);
	assert_true(r->trace.n_edges > 60000);
	fit = assert_placed(r, 15, 8);
	assert_int_equal(fit.residual_ns, 0);
	record_free(r);
	return fit;
}

static void an_hour_of_constant_drift(void **state)
{
	struct device_fit fit = an_hour((struct drift){ .constant = 50 });

	(void)state;
	assert_true(fabs(fit.drift * 1e6 - 50) < 0.1);
	fit = an_hour((struct drift){ .constant = -100 });
	assert_true(fabs(fit.drift * 1e6 + 100) < 0.1);
}

static void an_hour_of_changing_temperature(void **state)
{
	(void)state;
	an_hour((struct drift){ .constant = -30, .wave = 20, .period_s = 600 });
	an_hour((struct drift){ .constant = 10, .wave = 4, .period_s = 60 });
}

static void an_hour_with_a_step_of_the_rate(void **state)
{
	(void)state;
	an_hour((struct drift){ .constant = 20, .step = 4, .step_at_s = 1800 });
	an_hour((struct drift){
		.constant = 40, .step = -80, .step_at_s = 1234.5 }); /* far beyond what is allowed for */
}

/* Ticks are CLOCK_MONOTONIC: from begin to end, and from the middle on. */
static void an_hour_of_slewing(void **state)
{
	(void)state;
	an_hour((struct drift){ .constant = -450 });
	an_hour((struct drift){ .constant = 20, .step = 500, .step_at_s = 1234.5 });
}

/* An edge every five seconds: the error is the drift's wander and no more. */
static void edges_far_apart(void **state)
{
	struct recording *r = record_begin((struct drift){ .constant = 50, .wave = 5, .period_s = 1200 });

	(void)state;
	for (double now = 0; now < 3600 * S; now += 5 * S)
		now = record_wait(r, now);
	assert_placed(r, 25, 15);
	record_free(r);
}

/* An hour of nothing: the first edge behind it is measured against a base of an hour ago, in steps of 250 us, and is not worse for it. */
static void a_silence_of_an_hour(void **state)
{
	struct recording *r = record_begin((struct drift){ .constant = 50, .wave = 20, .period_s = 2400 });
	size_t behind;

	(void)state;
	record_stretch(r, 0, 20, 20);
	behind = r->trace.n_edges;
	record_stretch(r, 3620, 3640, 20);
	assert_true(r->trace.edges[behind].elapsed_ms > 3.5e6f);
	assert_placed(r, 15, 10);
	assert_true(r->trace.edges[behind].link_ns == 250000);
	assert_true(r->trace.edges[behind].step_ns == 0);
	assert_int_equal(r->trace.edges[behind].root, 1);
	record_free(r);
}

/* Its base is an edge that was recorded and fired after it, or one whose record was given up. */
static void bases_in_any_order(void **state)
{
	struct recording *r = record_begin((struct drift){ .constant = 20 });
	struct edge *edges = r->trace.edges;

	(void)state;
	record_stretch(r, 0, 10, 20);
	edges[9].base = edges[11].id;
	edges[9].elapsed_ms = edges[9].elapsed_ms - edges[11].elapsed_ms;
	assert_placed(r, 15, 8);
	assert_int_equal(edges[9].root, 1);
	for (size_t i = 0; i + 1 < r->trace.n_edges; i++) {
		edges[i] = edges[i + 1];
		r->fired[i] = r->fired[i + 1];
	}
	r->trace.n_edges--;
	assert_int_equal(edges[0].base, 1);
	assert_int_not_equal(edges[0].id, 1);
	assert_placed(r, 15, 8);
	record_free(r);
}

/* What cannot be two clocks: a millisecond that nobody can explain. */
static void contradictions_are_stated(void **state)
{
	struct recording *r = record_begin((struct drift){ .constant = 20 });
	struct firing *firings;
	struct device_fit fit;

	(void)state;
	record_stretch(r, 0, 10, 20);
	for (size_t i = r->trace.n_edges / 2; i < r->trace.n_edges; i++) {
		r->trace.edges[i].begin_ns += 1000000;
		r->trace.edges[i].end_ns += 1000000;
		r->trace.edges[i].done_ns += 1000000;
	}
	assert_int_equal(sequence_edges(&r->trace, NULL), ERR_NONE);
	assert_int_equal(device_clock_map(&firings, &r->trace, NULL), ERR_NONE);
	assert_true(device_clock_fit(&fit, &r->trace, firings, 0));
	assert_in_range(fit.residual_ns, 900000, 1000000);
	assert_true(fit.error_ns >= 400000);
	free(firings);
	record_free(r);
}

/* ---- the terms of the error budget, one by one ------------------------------------------------------------------------- */

/* Bounds as tight as can be: what is left is the event's own step. */
static void the_events_step(void **state)
{
	struct recording *r = record_begin((struct drift){ 0 });
	struct device_fit fit;

	(void)state;
	for (int i = 0; i < 1000; i++)
		add_edge(r, i * 1.0371 * MS, 0, 0);
	fit = assert_placed(r, 1.2, 1.2);
	assert_true(fit.median_error_ns >= 500);
	record_free(r);
}

/* A last edge that is no base of others, at 100 s from its base: 7.8 us. */
static void the_floats_step(void **state)
{
	struct recording *r = record_begin((struct drift){ 0 });
	struct firing *firings;
	struct edge *e;

	(void)state;
	add_edge(r, 0, 0, 0);
	add_edge(r, 1 * S, 0, 0);
	e = add_edge(r, 3.9 * S, 0, 0);
	r->base = 1;
	assert_int_equal(sequence_edges(&r->trace, NULL), ERR_NONE);
	assert_true(fabs(e->step_ns - 244.14) < 0.1); /* what a float of 3900 ms leaves */
	assert_int_equal(device_clock_map(&firings, &r->trace, NULL), ERR_NONE);
	assert_in_range(firings[2].error_ns, 500 + 2 * 244, 500 + 2 * 244 + 20); /* in its bounds, and its own */
	free(firings);
	add_edge(r, 100 * S, 2 * MS, 2 * MS);
	assert_int_equal(sequence_edges(&r->trace, NULL), ERR_NONE);
	assert_true(fabs(r->trace.edges[3].link_ns - 7812.5) < 0.1);
	record_free(r);
}

/* 100 s from their base, 1 ms from each other: each is by itself against the base, in steps of 7.8 us, so what is known of the one holds for the
 * other to one step, and the rates' part of a millisecond. */
static void a_step_lies_between_two_sections(void **state)
{
	struct recording *r = record_begin((struct drift){ 0 });
	struct firing *firings;

	(void)state;
	add_edge(r, 0, 1 * S, 1 * S);
	add_edge(r, 100 * S, 0, 0);
	r->base = 1;
	add_edge(r, 100.001 * S, 1 * S, 1 * S);
	assert_int_equal(r->trace.edges[2].base, 1);
	assert_int_equal(sequence_edges(&r->trace, NULL), ERR_NONE);
	assert_int_equal(device_clock_map(&firings, &r->trace, NULL), ERR_NONE);
	assert_in_range(firings[1].error_ns, 500, 502);
	assert_in_range(firings[2].error_ns, 500 + 7812 + 5, 500 + 7813 + 101);
	free(firings);
	record_free(r);
}

/* All edges known to 300 us and no better: that is the error. */
static void the_windows_width(void **state)
{
	struct recording *r = record_begin((struct drift){ .constant = 7 });
	struct device_fit fit;

	(void)state;
	for (int i = 0; i < 1000; i++)
		add_edge(r, i * 1.0371 * MS, 100 * US, 200 * US);
	fit = assert_placed(r, 152, 152);
	assert_in_range(fit.median_error_ns, 140000, 152000);
	record_free(r);
}

/* Ten seconds without a bound: the wander of the rate, 5 ppm from each side's best. */
static void the_rates_wander(void **state)
{
	struct recording *r = record_begin((struct drift){ .constant = 7 });
	struct firing *firings;
	size_t alone;

	(void)state;
	record_stretch(r, 0, 20, 20);
	alone = r->trace.n_edges;
	add_edge(r, 25 * S, 1 * S, 1 * S);
	record_stretch(r, 30, 50, 20);
	assert_placed(r, 120, 10);
	assert_int_equal(device_clock_map(&firings, &r->trace, NULL), ERR_NONE);
	assert_in_range(firings[alone].error_ns, 25000, 120000);
	free(firings);
	record_free(r);
}

/* Two contexts of one device, each with bases of its own, take turns: the drift is that over a whole chain, not over one turn. */
static void contexts_take_turns(void **state)
{
	struct recording *r = record_begin((struct drift){ .constant = 30 });
	uint32_t bases[2] = { 0, 0 };
	struct device_fit fit;

	(void)state;
	for (int i = 0; i < 400; i++) {
		r->base = bases[i % 2];
		add_edge(r, i * 10 * MS, 2 * US, 5 * US);
		bases[i % 2] = r->base;
	}
	fit = assert_placed(r, 10, 10);
	assert_true(fabs(fit.drift * 1e6 - 30) <= fit.drift_error * 1e6);
	assert_true(fit.drift_error > 0 && fit.drift_error < 1e-5);
	record_free(r);
}

/* ---- CLOCK_MONOTONIC is slewed ------------------------------------------------------------------------------------------ */

/* What the host's clock says at an instant: slewed by 500 ppm in some seconds, not in others. */
static double slewed_ns(double steady)
{
	double s = steady / S, whole = floor(s / 10), in = s - whole * 10;

	return steady + (whole * 3 + fmin(in > 4.3 ? in - 4.3 : 0, 3)) * 500e-6 * S;
}

static void slewing_is_told_from_drift(void **state)
{
	struct recording *r = record_begin((struct drift){ .constant = 50 });
	struct gst_file_header h = { .clock = GST_CLOCK_TSC, .start_ticks = 777, .start_mono_ns = BEGIN_NS };
	struct gst_anchor a = { .width_ticks = 90 };

	(void)state;
	record_stretch(r, 0, 120, 100);
	assert_int_equal(clock_new(&r->trace.clock, &h, NULL), ERR_NONE);
	for (double at = 0; at < 121 * S; at += S) {
		a.ticks = 777 + (uint64_t)(at * 3);
		a.mono_ns = (uint64_t)(BEGIN_NS + (int64_t)slewed_ns(at));
		assert_int_equal(clock_add(r->trace.clock, &a, NULL), ERR_NONE);
	}
	assert_int_equal(clock_ready(r->trace.clock, NULL), ERR_NONE);
	/* the records are ticks; the truth is what CLOCK_MONOTONIC said */
	for (size_t i = 0; i < r->trace.n_edges; i++) {
		struct edge *e = &r->trace.edges[i];

		e->begin_ns = clock_ns(r->trace.clock, 777 + (uint64_t)(e->begin_ns - BEGIN_NS) * 3);
		e->end_ns = clock_ns(r->trace.clock, 777 + (uint64_t)(e->end_ns - BEGIN_NS) * 3);
		e->done_ns = clock_ns(r->trace.clock, 777 + (uint64_t)(e->done_ns - BEGIN_NS) * 3);
		r->fired[i] = slewed_ns(r->fired[i]);
	}
	assert_placed(r, 16, 9);
	record_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_hour_of_constant_drift),
		cmocka_unit_test(an_hour_of_changing_temperature),
		cmocka_unit_test(an_hour_with_a_step_of_the_rate),
		cmocka_unit_test(an_hour_of_slewing),
		cmocka_unit_test(edges_far_apart),
		cmocka_unit_test(a_silence_of_an_hour),
		cmocka_unit_test(bases_in_any_order),
		cmocka_unit_test(contradictions_are_stated),
		cmocka_unit_test(the_events_step),
		cmocka_unit_test(the_floats_step),
		cmocka_unit_test(a_step_lies_between_two_sections),
		cmocka_unit_test(the_windows_width),
		cmocka_unit_test(the_rates_wander),
		cmocka_unit_test(contexts_take_turns),
		cmocka_unit_test(slewing_is_told_from_drift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
