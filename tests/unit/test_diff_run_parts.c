/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run is kept as: its work, sites and gaps by step. Random runs (summary_machine.h): read with launches folded and each by itself they are kept
 * as the same, whatever the window; what lies in two windows side by side is what lies in both together; all sums hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "diff/diff_baseline.h"
#include "run/stacks_name.h"
#include "summary_analysed.h"
#include "summary_machine.h"
#include "tests/support/failing_alloc.h"

#define SEEDS 150

static const struct diff_window everything = { .from_ns = INT64_MIN, .until_ns = INT64_MAX, .n = 1 };

static enum err_kind add_parts(struct diff_run *r, const struct summary *s, struct diff_window w, struct error *e)
{
	enum err_kind kind = ERR_NONE;

	*r = (struct diff_run){ .path = "made" };
	r->devices = arena_alloc(&r->texts, s->n_devices * sizeof(*r->devices) + 1);
	if (!r->devices)
		return err_no_memory(e, NULL);
	for (; !kind && r->n_devices < s->n_devices; r->n_devices++) {
		struct diff_run_device *d = &r->devices[r->n_devices];
		const struct summary_device *of = &s->devices[r->n_devices];

		*d = (struct diff_run_device){ .number = of->number };
		kind = diff_run_add_work(r, d, s, of, w, e);
		if (!kind)
			kind = diff_run_add_comms(r, d, s, of, w, e);
		if (!kind)
			kind = diff_run_add_sites(r, d, s, of, w, e);
		if (!kind)
			kind = diff_run_add_gaps(r, d, s, of, w, e);
	}
	return kind ? kind : diff_run_add_facts(r, s, e);
}

static struct diff_run parts(const struct summary *s, struct diff_window w)
{
	struct diff_run r;
	struct error e;

	assert_int_equal(add_parts(&r, s, w, &e), ERR_NONE);
	return r;
}

/* As a text, so that everything is compared. */
static char *text_of(const struct summary *s, struct diff_window w)
{
	struct diff_run r = parts(s, w);
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct error e;

	assert_non_null(out);
	assert_int_equal(diff_baseline_write(out, &r, 1, &e), ERR_NONE);
	assert_int_equal(fclose(out), 0);
	diff_run_free(&r);
	return text;
}

static struct diff_window some_window(struct machine *m, size_t n)
{
	int64_t from = EPOCH_NS + between(m, -1000, m->last), until = from + between(m, 0, m->last);

	return (struct diff_window){ .from_ns = from, .until_ns = until, .n = n };
}

/* ---- folded or not ---- */

static uint64_t folded_launches;

static void check_folded(uint64_t seed)
{
	struct machine *m = machine_run_rows(seed, seed % 7 ? 90 : 4);
	struct analysed plain, folded;

	analysed_parse(&plain, m->out.text);
	analysed_parse(&folded, m->out.text);
	analysed_build_as(&plain, false);
	analysed_build_as(&folded, true);
	folded_launches += folded.traces[0]->launches.folded;
	for (int i = 0; i < 4; i++) {
		struct diff_window w = i ? some_window(m, (size_t)between(m, 0, 9)) : everything;
		char *a = text_of(&plain.summary, w), *b = text_of(&folded.summary, w);

		if (strcmp(a, b) != 0)
			fail_msg("seed %llu: folded it is another run", (unsigned long long)seed);
		free(a);
		free(b);
	}
	analysed_release(&plain);
	analysed_release(&folded);
	analysed_free(&plain);
	analysed_free(&folded);
	machine_free(m);
}

static void folded_launches_count_each(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= FEWER(SEEDS); seed++)
		check_folded(seed);
	assert_true(folded_launches > FEWER(1000));
}

/* ---- sums ---- */

static double operations(const struct diff_run_device *d)
{
	double n = 0;

	for (size_t i = 0; i < d->n_kernels; i++)
		n += d->kernels[i].per_step;
	return n;
}

static int64_t gaps_ns(const struct diff_run_device *d, int cause)
{
	int64_t ns = 0;

	for (size_t i = 0; i < d->n_gaps; i++)
		ns += cause < 0 ? d->gaps[i].ns_per_step : d->gaps[i].causes[cause];
	return ns;
}

static void check_sums(const struct diff_run_device *d)
{
	for (size_t i = 0; i < d->n_gaps; i++) {
		int64_t sum = 0;

		for (int c = 0; c < CAUSE_COUNT; c++)
			sum += d->gaps[i].causes[c];
		assert_int_equal(sum, d->gaps[i].ns_per_step);
		assert_true(d->gaps[i].n_lines > 0 && d->gaps[i].longest_ns > 0);
		assert_true(!i || d->gaps[i - 1].ns_per_step >= d->gaps[i].ns_per_step);
	}
	for (size_t i = 0; i < d->n_sites; i++) {
		int64_t sum = 0;

		for (int c = 0; c < CAUSE_COUNT; c++)
			sum += d->sites[i].causes[c];
		assert_int_equal(sum, d->sites[i].idle_ns);
	}
}

static void check_whole(const struct diff_run_device *d, const struct summary_device *of)
{
	check_sums(d);
	assert_int_equal((int64_t)operations(d), of->timeline->operations);
	assert_true(gaps_ns(d, -1) <= of->timeline->idle_ns);
	if (d->n_gaps == DIFF_GAPS)
		return;
	assert_int_equal(gaps_ns(d, -1), of->timeline->idle_ns);
	for (int c = 0; c < CAUSE_COUNT; c++)
		assert_int_equal(gaps_ns(d, c), of->attribution.causes_ns[c]);
}

/* Cut in two at that instant. */
static void check_halves(const struct summary *s, const struct diff_run *whole, int64_t at)
{
	struct diff_run first = parts(s, (struct diff_window){ .from_ns = INT64_MIN, .until_ns = at, .n = 1 });
	struct diff_run second = parts(s, (struct diff_window){ .from_ns = at, .until_ns = INT64_MAX, .n = 1 });

	for (size_t i = 0; i < s->n_devices; i++) {
		assert_true(operations(&first.devices[i]) + operations(&second.devices[i]) ==
			    operations(&whole->devices[i]));
		if (whole->devices[i].n_gaps < DIFF_GAPS)
			assert_int_equal(gaps_ns(&first.devices[i], -1) + gaps_ns(&second.devices[i], -1),
					 gaps_ns(&whole->devices[i], -1));
	}
	diff_run_free(&first);
	diff_run_free(&second);
}

static void parts_sum_to_the_run(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= FEWER(SEEDS); seed++) {
		struct machine *m =
			machine_run(seed, 1 + (uint32_t)(seed % PROCESSES), (uint32_t)(seed % 3), seed % 5 == 0);
		struct analysed a;
		struct diff_run r;

		analysed_parse(&a, m->out.text);
		analysed_build(&a);
		r = parts(&a.summary, everything);
		for (size_t i = 0; i < a.summary.n_devices; i++)
			check_whole(&r.devices[i], &a.summary.devices[i]);
		check_halves(&a.summary, &r, EPOCH_NS + between(m, 0, m->last));
		diff_run_free(&r);
		r = parts(&a.summary, some_window(m, 7));
		for (size_t i = 0; i < r.n_devices; i++)
			check_sums(&r.devices[i]);
		diff_run_free(&r);
		analysed_release(&a);
		analysed_free(&a);
		machine_free(m);
	}
}

/* ---- by hand ---- */

static const char by_hand[] =
	"process 100 end=60ms host=node7 cmdline=/usr/bin/python3_train.py\nthread 100 main\ndevice 0 name=H100\nstream 1\n"
	"code 1 file=/src/train.py name=load_batch\nstack 1 frames=python:1:41\n"
	"launch t=1ms..1010us stream=1 seq=1 kernel=gemm\nsync-stream t=1020us..2ms stream=1 seq=1\n"
	"taken look t=2100us..9900us stack=1\n"
	"sample t=3ms syscall=0 fd=pipe file=pipe:[7]\nsample t=5ms syscall=0 fd=pipe file=pipe:[7]\nsample t=8ms syscall=0 fd=pipe file=pipe:[7]\n"
	"copy t=10ms..10010us stream=1 seq=2 kind=h2d-pinned bytes=4096\nlaunch t=10011us..10020us stream=1 seq=3 kernel=gemm\n"
	"sync-stream t=10030us..11ms stream=1 seq=3\n"
	"taken look t=11100us..19900us stack=1\n"
	"sample t=13ms syscall=0 fd=pipe file=pipe:[7]\nsample t=15ms syscall=0 fd=pipe file=pipe:[7]\nsample t=18ms syscall=0 fd=pipe file=pipe:[7]\n"
	"copy t=20ms..20010us stream=1 seq=4 kind=h2d-pinned bytes=8192\nlaunch t=20011us..20020us stream=1 seq=5 kernel=softmax\n"
	"sync-stream t=20030us..21ms stream=1 seq=5\n";

static struct analysed made;

static int make(void **state)
{
	struct error e;

	(void)state;
	analysed_parse(&made, by_hand);
	made.run = (struct run){ .traces = made.traces, .hosts = made.hosts, .count = 1 };
	assert_int_equal(analysed_build(&made), 1);
	/* names come between: once more */
	summary_free(&made.summary);
	timeline_free(&made.timeline);
	assert_int_equal(stacks_name(&made.run, NULL, &e), ERR_NONE);
	assert_int_equal(timeline_build(&made.timeline, &made.run, &e), ERR_NONE);
	assert_int_equal(summary_build(&made.summary, &made.timeline, &e), ERR_NONE);
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	analysed_release(&made);
	analysed_free(&made);
	return 0;
}

static const struct diff_kernel *named(const struct diff_kernel *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

static const struct diff_kernel *kernel(const struct diff_run_device *d, const char *name)
{
	return named(d->kernels, d->n_kernels, name);
}

static const struct diff_kernel *comm(const struct diff_run_device *d, const char *name)
{
	return named(d->comms, d->n_comms, name);
}

static void work_has_names_and_bytes(void **state)
{
	struct diff_run r =
		parts(&made.summary, (struct diff_window){ .from_ns = INT64_MIN, .until_ns = INT64_MAX, .n = 2 });
	const struct diff_run_device *d = &r.devices[0];
	const struct diff_kernel *copy = kernel(d, "copy host to device, pinned");

	(void)state;
	assert_int_equal(d->n_kernels, 3);
	assert_true(kernel(d, "gemm")->per_step == 1 && kernel(d, "softmax")->per_step == 0.5);
	assert_false(kernel(d, "gemm")->has_ns);
	assert_non_null(copy);
	assert_true(copy->per_step == 1 && copy->bytes_per_step == 6144);
	diff_run_free(&r);
	r = parts(&made.summary,
		  (struct diff_window){ .from_ns = EPOCH_NS + 9000000, .until_ns = EPOCH_NS + 20000000, .n = 1 });
	assert_null(kernel(&r.devices[0], "softmax"));
	assert_true(kernel(&r.devices[0], "gemm")->per_step == 1);
	diff_run_free(&r);
}

static const char communicating[] =
	"process 100 end=60ms host=node7\nthread 100 main\ndevice 0 name=H100\ndevice 1 name=H100\nstream 1\nstream 2 device=1\n"
	"comm 1 t=1us hash=0x5a rank=0 size=2\n"
	"launch t=1ms..1010us stream=1 seq=1 kernel=all_reduce\n" /* a program's own */
	"nccl all-reduce t=2092us..2099us hook=ncclAllReduce comm=1 stream=1 seq=1 count=1000 type=float32 op=sum\n"
	"nccl all-reduce t=3ms..3010us hook=ncclAllReduce comm=1 stream=1 seq=2 count=3000 type=float16 op=sum\n"
	"nccl all-reduce t=4ms..4010us hook=ncclAllReduce comm=1 stream=2 seq=3 count=1 type=float64 op=sum\n" /* another device's */
	"nccl all-reduce t=5ms..5010us hook=ncclAllReduce comm=1 stream=1 seq=4 count=1000 type=float32 op=sum result=5\n"
	"nccl broadcast t=5100us..5110us hook=ncclBroadcast comm=1 stream=1 seq=5 count=20 type=int8 result=7\n" /* … goes on */
	"nccl send t=6ms..6010us hook=ncclSend comm=1 stream=1 count=10 type=int8 peer=1\n"
	"nccl send t=26ms..26010us hook=ncclSend comm=1 stream=1 count=10 type=int8 peer=1\n" /* too late */
	"launch t=30ms..30010us stream=2 seq=1 kernel=gemm\nsync-stream t=31ms..32ms stream=2 seq=1\n";

static void communication_has_kinds_and_bytes(void **state)
{
	struct analysed a;
	struct diff_run r;
	const struct diff_run_device *d;
	const struct diff_kernel *reduce, *send;

	(void)state;
	analysed_parse(&a, communicating);
	analysed_build(&a);
	r = parts(&a.summary, (struct diff_window){ .from_ns = EPOCH_NS, .until_ns = EPOCH_NS + 20000000, .n = 2 });
	d = &r.devices[0];
	reduce = comm(d, "collective all_reduce");
	send = comm(d, "message send");
	assert_true(reduce && send && d->has_comms);
	assert_true(reduce->per_step == 1 && reduce->bytes_per_step == 5000 && !reduce->has_ns);
	assert_true(send->per_step == 0.5 && send->bytes_per_step == 5);
	assert_true(comm(d, "collective broadcast")->bytes_per_step == 10);
	assert_int_equal(d->n_comms, 3);
	assert_true(kernel(d, "all_reduce")->per_step == 0.5);
	assert_int_equal(d->n_kernels, 1);
	assert_true(comm(&r.devices[1], "collective all_reduce")->bytes_per_step == 4);
	assert_int_equal(r.devices[1].n_comms, 1);
	diff_run_free(&r);
	analysed_release(&a);
	analysed_free(&a);
}

/* Another tool's trace names no stream of a collective: it is its process's only device's. */
static void communication_without_a_stream(void **state)
{
	static const char one[] =
		"process 100 end=60ms host=node7\nthread 100 main\ndevice 0 name=H100\nstream 1\ncomm 1 t=1us hash=0x5a rank=0 size=2\n"
		"launch t=1ms..1010us stream=1 seq=1 kernel=gemm\n"
		"nccl all-gather t=2092us..2099us hook=ncclAllGather comm=1 seq=1 count=1000 type=float32\nsync-stream t=31ms..32ms stream=1 seq=1\n";
	struct analysed a;
	struct diff_run r;

	(void)state;
	analysed_parse(&a, one);
	analysed_build(&a);
	assert_int_equal(a.traces[0]->nccl[0].stream, GST_NONE);
	r = parts(&a.summary, everything);
	assert_true(comm(&r.devices[0], "collective all_gather")->bytes_per_step == 4000);
	diff_run_free(&r);
	analysed_release(&a);
	analysed_free(&a);
}

/* An evaluation between two steps: neither its work nor its time is theirs. */
static void what_is_between_steps_is_left_out(void **state)
{
	struct step pieces[] = {
		{ .begin_ns = EPOCH_NS, .end_ns = EPOCH_NS + 9000000, .kind = STEP },
		{ .begin_ns = EPOCH_NS + 9000000, .end_ns = EPOCH_NS + 20000000, .kind = STEP_BETWEEN },
		{ .begin_ns = EPOCH_NS + 20000000, .end_ns = EPOCH_NS + 90000000, .kind = STEP }
	};
	struct trace_steps steps = { .at = pieces, .n = 3, .n_steps = 2 };
	struct diff_window w = { INT64_MIN, INT64_MAX, 2, &steps }, all = everything;
	struct diff_run whole = parts(&made.summary, all), without = parts(&made.summary, w);
	int64_t ns[2] = { 0 };

	(void)state;
	assert_int_equal(diff_window_part(&w, EPOCH_NS + 4000000, EPOCH_NS + 8000000), 4000000);
	assert_int_equal(diff_window_part(&w, EPOCH_NS + 4000000, EPOCH_NS + 24000000), 9000000);
	assert_int_equal(diff_window_part(&w, EPOCH_NS + 10000000, EPOCH_NS + 11000000), 0);
	assert_true(diff_window_has(&w, EPOCH_NS + 8999999) && !diff_window_has(&w, EPOCH_NS + 9000000) &&
		    !diff_window_has(&w, EPOCH_NS + 19999999) && diff_window_has(&w, EPOCH_NS + 20000000));
	assert_true(kernel(&whole.devices[0], "gemm")->per_step == 2);
	assert_true(kernel(&without.devices[0], "gemm")->per_step == 0.5); /* one of two, in two steps */
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < (i ? without : whole).devices[0].n_gaps; k++)
			ns[i] += (i ? without : whole).devices[0].gaps[k].ns_per_step * (i ? 2 : 1);
	assert_true(ns[1] < ns[0] && ns[1] >= ns[0] - 11000000);
	diff_run_free(&whole);
	diff_run_free(&without);
}

/* Gaps in front of the same copy are one, behind other work another; the longest one is told as report --why tells it. */
static void gaps_that_are_alike_are_one(void **state)
{
	struct diff_run r = parts(&made.summary, everything);
	const struct diff_run_device *d = &r.devices[0];
	const struct diff_gap *g = &d->gaps[0];
	bool told = false;

	(void)state;
	assert_string_equal(g->before, "gemm");
	assert_string_equal(g->after, "copy host to device, pinned");
	assert_true(g->per_step == 2);
	assert_true(g->causes[CAUSE_input_wait] > 10000000);
	for (size_t i = 0; i < g->n_lines; i++)
		told |= strstr(g->lines[i], "input-wait, inferred") != NULL;
	assert_true(told);
	diff_run_free(&r);
}

static void sites_are_statements(void **state)
{
	struct diff_run r = parts(&made.summary, everything), half;
	const struct diff_run_device *d = &r.devices[0];

	(void)state;
	assert_int_equal(d->n_sites, 1);
	assert_string_equal(d->sites[0].where, "load_batch (train.py:41)");
	assert_true(d->sites[0].gaps == 2);
	half = parts(&made.summary,
		     (struct diff_window){ .from_ns = INT64_MIN, .until_ns = EPOCH_NS + 5000000, .n = 1 });
	assert_true(half.devices[0].sites[0].gaps == 1);
	assert_true(half.devices[0].sites[0].idle_ns < d->sites[0].idle_ns / 4);
	diff_run_free(&half);
	diff_run_free(&r);
}

static const char *fact(const struct diff_run *r, const char *name)
{
	for (size_t i = 0; i < r->n_facts; i++)
		if (strcmp(r->facts[i].name, name) == 0)
			return r->facts[i].value;
	return NULL;
}

static void facts_are_known_and_sorted(void **state)
{
	struct diff_run r = parts(&made.summary, everything);

	(void)state;
	assert_string_equal(fact(&r, "gpu"), "H100");
	assert_string_equal(fact(&r, "device timing"), made.summary.device_timing);
	assert_string_equal(fact(&r, "gpushim"), GPUSHIM_VERSION);
	assert_string_equal(fact(&r, "processes"), "1");
	assert_null(fact(&r, "driver"));
	for (size_t i = 1; i < r.n_facts; i++)
		assert_true(strcmp(r.facts[i - 1].name, r.facts[i].name) < 0);
	diff_run_free(&r);
}

static void without_memory_it_says_so(void **state)
{
	enum err_kind kind;
	long n = 0;

	(void)state;
	do {
		struct diff_run r;
		struct error e;

		fail_at = ++n;
		kind = add_parts(&r, &made.summary, everything, &e);
		fail_at = 0;
		if (kind)
			assert_int_equal(kind, ERR_SYSTEM);
		diff_run_free(&r);
	} while (kind);
	assert_true(n > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_launches_count_each),
		cmocka_unit_test(parts_sum_to_the_run),
		cmocka_unit_test_setup_teardown(work_has_names_and_bytes, make, unmake),
		cmocka_unit_test(communication_has_kinds_and_bytes),
		cmocka_unit_test(communication_without_a_stream),
		cmocka_unit_test_setup_teardown(what_is_between_steps_is_left_out, make, unmake),
		cmocka_unit_test_setup_teardown(gaps_that_are_alike_are_one, make, unmake),
		cmocka_unit_test_setup_teardown(sites_are_statements, make, unmake),
		cmocka_unit_test_setup_teardown(facts_are_known_and_sorted, make, unmake),
		cmocka_unit_test_setup_teardown(without_memory_it_says_so, make, unmake),
	};

	return cmocka_run_group_tests_name("diff_run_parts", tests, NULL, NULL);
}
