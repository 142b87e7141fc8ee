/* SPDX-License-Identifier: BSD-2-Clause */
/* What a loss is counted in, what can be won back of it, and what bounds the run next: by hand-made devices, times in nanoseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "advice/recover.h"
#include "summary_analysed.h"
#include "timeline/facts.h"

#define STEPS 64
#define MS 1000000

struct device_made {
	struct device_timeline timeline;
	struct summary_device device;
	struct rank_device ranks;
	struct summary summary;
	struct trace trace;
	struct call calls[STEPS];
	struct op ops[STEPS];
	struct op_of kinds[STEPS];
	struct step steps[STEPS];
	struct step_idle idle[STEPS];
	struct trace_steps of;
	struct recovery recovery;
};

static struct device_made m;

static void begin(void)
{
	memset(&m, 0, sizeof(m));
	m.device.timeline = &m.timeline;
	m.of.trace = &m.trace;
	m.of.at = m.steps;
	m.device.phases.steps = m.idle;
	m.summary.devices = &m.device;
	m.summary.n_devices = 1;
	m.summary.ranks.devices = &m.ranks;
	m.summary.ranks.n_devices = 1;
}

/* A piece behind the last one; the device computes all the time. */
static void add_step(enum step_kind kind, int64_t length_ns)
{
	size_t i = m.of.n++;
	int64_t at = i ? m.steps[i - 1].end_ns : 0;

	m.steps[i] = (struct step){ .begin_ns = at, .end_ns = at + length_ns, .kind = (uint8_t)kind };
	m.idle[i].step = &m.steps[i];
	m.of.n_steps += kind == STEP;
	m.calls[i] = (struct call){ .begin_ns = at, .end_ns = at + 1, .family = GST_FAMILY_LAUNCH };
	m.kinds[i] = (struct op_of){ .trace = &m.trace, .count = 1 };
	m.ops[i] = (struct op){ .begin_ns = at, .end_ns = at + length_ns, .call = &m.calls[i], .of = &m.kinds[i] };
	m.timeline.ops = m.ops;
	m.timeline.n_ops = m.of.n;
	m.timeline.end_ns = at + length_ns;
}

static void build(void)
{
	struct error e;

	m.device.span_ns = m.timeline.end_ns - m.timeline.begin_ns;
	m.device.phases.n_steps = m.of.n;
	m.device.phases.of = m.of.n ? &m.of : NULL;
	assert_true(steps_usual_build(&m.device.phases.usual, m.idle, m.of.n));
	assert_int_equal(recovery_build(&m.recovery, &m.summary, &m.device, &e), ERR_NONE);
}

static void end(void)
{
	recovery_free(&m.recovery);
	steps_usual_free(&m.device.phases.usual);
	intervals_free(&m.ranks.wait);
	intervals_free(&m.ranks.transfer);
}

/* ---- the window --------------------------------------------------------------------------------------------------------- */

static uint64_t seed;

static int64_t below(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(seed >> 33) % n;
}

static int64_t look_at_each(int64_t from, int64_t until)
{
	int64_t ns = 0;

	for (int64_t at = from; at < until; at++)
		for (size_t i = 0; i < m.of.n; i++)
			ns += m.steps[i].kind == STEP && at >= m.steps[i].begin_ns && at < m.steps[i].end_ns &&
			      at >= m.recovery.begin_ns && at < m.recovery.end_ns;
	return ns;
}

/* Against a model that looks at each nanosecond. */
static void what_lies_between_steps_is_in_none(void **state)
{
	(void)state;
	for (seed = 1; seed <= 200;) {
		uint64_t drawn = seed;
		int64_t pieces = 3 + below(20);

		begin();
		for (int64_t i = 0; i < pieces; i++)
			add_step(i > 2 && !below(3) ? STEP_BETWEEN : STEP, 10 + below(10));
		build();
		assert_int_equal(m.recovery.n_steps, m.of.n_steps);
		assert_int_equal(recovery_in_steps(&m.recovery, INT64_MIN, INT64_MAX),
				 look_at_each(0, m.timeline.end_ns));
		for (int i = 0; i < 20; i++) {
			int64_t from = below(m.timeline.end_ns + 20) - 10, until = from + below(60);

			assert_int_equal(recovery_in_steps(&m.recovery, from, until), look_at_each(from, until));
			assert_int_equal(recovery_part(&m.recovery, from, until),
					 (until < m.timeline.end_ns ? until : m.timeline.end_ns) > (from > 0 ? from : 0)
						 ? (until < m.timeline.end_ns ? until : m.timeline.end_ns) -
							   (from > 0 ? from : 0)
						 : 0);
			if (from < m.timeline.end_ns)
				assert_int_equal(recovery_is_in_step(&m.recovery, from),
						 look_at_each(from > 0 ? from : 0, (from > 0 ? from : 0) + 1) > 0);
		}
		end();
		seed = drawn + 1;
	}
}

/* Evaluations are longer than steps, and as many: what is usual of steps is not usual of both. */
static void warm_up_is_no_part_of_it(void **state)
{
	(void)state;
	begin();
	add_step(STEP, 260);
	add_step(STEP_BETWEEN, 90);
	for (int i = 0; i < 6; i++) {
		add_step(STEP, 10 + i);
		add_step(STEP_BETWEEN, 100);
	}
	build();
	assert_int_equal(m.recovery.n_steps, 6);
	assert_int_equal(m.recovery.begin_ns, 350);
	assert_int_equal(recovery_in_steps(&m.recovery, 0, INT64_MAX), 10 + 11 + 12 + 13 + 14 + 15);
	end();
}

static void few_steps_are_not_asked(void **state)
{
	(void)state;
	begin();
	add_step(STEP, 10);
	add_step(STEP_BETWEEN, 10);
	add_step(STEP, 10);
	build();
	assert_int_equal(m.recovery.n_steps, 0);
	assert_int_equal(recovery_in_steps(&m.recovery, -5, 100), 30);
	assert_true(recovery_is_in_step(&m.recovery, 15));
	end();
}

/* ---- losses ------------------------------------------------------------------------------------------------------------- */

/* The first collective waits for a rank that comes late, before the first step; in the steps nobody waits. */
static void waiting_before_the_steps_is_none_in_them(void **state)
{
	const struct recoverable *of = m.recovery.of;

	(void)state;
	begin();
	for (int i = 0; i < 10; i++)
		add_step(STEP, 2 * MS);
	for (size_t i = 0; i < 10; i++)
		m.kinds[i].class = i % 2 ? OP_COMM : OP_KERNEL;
	m.timeline.begin_ns = -20 * MS;
	m.timeline.comm_ns = 30 * MS;
	m.timeline.compute_ns = 10 * MS;
	m.ranks.wait_ns = 20 * MS;
	m.ranks.transfer_ns = 8 * MS;
	m.ranks.unsplit_ns = 2 * MS;
	m.device.comm_wait_ns = m.ranks.wait_ns;
	m.device.comm_transfer_ns = m.ranks.transfer_ns;
	m.device.comm_unsplit_ns = m.ranks.unsplit_ns;
	assert_true(intervals_add(&m.ranks.wait, -20 * MS, 0));
	for (int64_t i = 1; i < 8; i += 2)
		assert_true(intervals_add(&m.ranks.transfer, 2 * MS * i, 2 * MS * (i + 1)));
	build();
	assert_int_equal(m.recovery.n_steps, 10);
	assert_int_equal(of[RECOVER_comm_wait].lost_ns, 0);
	assert_int_equal(of[RECOVER_comm_transfer].lost_ns, 8 * MS);
	assert_int_equal(of[RECOVER_comm_unsplit].lost_ns, 2 * MS);
	end();
}

/* Bursts estimate that the device waits 3 us for each of a thousand launches: in a graph it still waits 2 us for each node. */
static void likely_launches_keep_their_nodes(void **state)
{
	static struct idle_piece pieces[1000];
	struct interval unresolved = { 0, 10 * MS };
	const struct recoverable *of = m.recovery.of;

	(void)state;
	begin();
	m.timeline.end_ns = m.timeline.compute_ns = m.timeline.unresolved_ns = 10 * MS;
	m.timeline.unresolved = &unresolved;
	m.timeline.n_unresolved = 1;
	m.timeline.estimate = (struct estimate){ .made = true, .measured = true, .inside_ns = MS / 2 };
	for (int64_t i = 0; i < 1000; i++)
		pieces[i] = (struct idle_piece){ .begin_ns = 10000 * i, .end_ns = 10000 * i + 3000 };
	m.timeline.estimate.pieces = (struct idle_pieces){ .at = pieces, .n = 1000 };
	m.device.unresolved_causes[CAUSE_launch_bound] = 3 * MS;
	m.device.unresolved_causes[CAUSE_device_latency] = MS / 2; /* between nodes already */
	m.device.unresolved_causes[CAUSE_host_compute] = MS;
	build();
	assert_int_equal(of[RECOVER_launch_bound].likely_ns, 3 * MS);
	assert_int_equal(of[RECOVER_launch_bound].recoverable_ns, MS);
	assert_int_equal(of[RECOVER_device_latency].likely_ns, MS / 2);
	assert_int_equal(of[RECOVER_device_latency].recoverable_ns, 0);
	assert_int_equal(of[RECOVER_host_compute].recoverable_ns, MS);
	end();
}

static void what_is_gone_bounds_nothing(void **state)
{
	struct recovery r = { .parts = { .compute_ns = 4 } };
	uint64_t comm = (uint64_t)1 << RECOVER_comm_transfer | (uint64_t)1 << RECOVER_comm_unsplit;
	struct recover_next next;

	(void)state;
	r.of[RECOVER_comm_transfer].lost_ns = 6;
	r.of[RECOVER_comm_unsplit].lost_ns = 5;
	r.of[RECOVER_host_sleep].lost_ns = 3;
	next = recover_next(&r, (uint64_t)1 << RECOVER_comm_transfer, NULL, 0);
	assert_string_equal(next.name, "comm-unsplit");
	assert_int_equal(next.ns, 5);
	next = recover_next(&r, comm, NULL, 0);
	assert_string_equal(next.name, "compute");
	assert_int_equal(next.ns, 4);
	next = recover_next(&r, comm, "comm-transfer", 7);
	assert_string_equal(next.name, "comm-transfer");
	assert_int_equal(next.ns, 7);
	r.of[RECOVER_host_sleep].likely_ns = 5;
	next = recover_next(&r, comm, "comm-transfer", 7);
	assert_string_equal(next.name, "host-sleep");
	assert_int_equal(next.ns, 8);
}

/* ---- whose calls -------------------------------------------------------------------------------------------------------- */

#define PROCESS(pid) \
	"process " #pid " level=cupti exited=1 end=100ms\nthread " #pid " main\ndevice 0 uuid=0\nstream 1\n"
#define WORK(ms, seq, until)                                                        \
	"launch t=" #ms "000us.." #ms "005us stream=1 seq=" #seq " kernel=step\n"   \
	"activity t=" #ms "010us.." #ms "500us stream=1 seq=" #seq " kernel=step\n" \
	"sync-stream t=" #ms "006us.." #until "us stream=1 seq=" #seq "\n"

/* Nobody says which devices theirs are: each has its own. */
static void no_other_process_feeds_the_device(void **state)
{
	struct analysed a;
	struct recovery r;
	struct error e;

	(void)state;
	analysed_parse(&a, PROCESS(100) WORK(1, 1, 1600) WORK(20, 2, 20600) PROCESS(200) WORK(1, 1, 9000)
				   WORK(10, 2, 18000) WORK(20, 3, 28000) WORK(30, 4, 38000));
	assert_int_equal(analysed_build(&a), 2);
	assert_int_equal(a.summary.n_devices, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct summary_device *d = &a.summary.devices[i];
		const struct trace *own = d->timeline->ops[0].of->trace, *other = a.traces[own == a.traces[0]];

		assert_int_equal(recover_ordinal(&a.summary, d, own), 0);
		assert_int_equal(recover_ordinal(&a.summary, d, other), GST_NONE);
		assert_int_equal(recovery_build(&r, &a.summary, d, &e), ERR_NONE);
		if (own->header.pid == 100)
			assert_in_range(r.blocked_ns, 900000, 2 * 594000);
		else
			assert_in_range(r.blocked_ns, 20 * MS, 4 * 8 * MS);
		recovery_free(&r);
	}
	analysed_release(&a);
	analysed_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lies_between_steps_is_in_none),
		cmocka_unit_test(warm_up_is_no_part_of_it),
		cmocka_unit_test(few_steps_are_not_asked),
		cmocka_unit_test(waiting_before_the_steps_is_none_in_them),
		cmocka_unit_test(likely_launches_keep_their_nodes),
		cmocka_unit_test(what_is_gone_bounds_nothing),
		cmocka_unit_test(no_other_process_feeds_the_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
