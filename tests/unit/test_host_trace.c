/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of host probes: what tasks did, what cannot be; and every allocation on the way may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_text.h"
#include "tests/support/failing_alloc.h"

/* ---- what is on record ------------------------------------------------------------------------------ */

static void test_tasks_and_who_made_them(void **state)
{
	struct host_trace *t = trace_of(FAMILY "task 200 t=8.5ms creator=101 name=again\n");
	const struct host_task *root = task_of(t, 100, 5), *pin = task_of(t, 101, 50), *loader = task_of(t, 200, 50);

	(void)state;
	assert_int_equal(t->n_tasks, 4);
	assert_int_equal(t->probes.how, GST_PROBES_EBPF);
	assert_int_equal(t->probes.events_lost, 3);
	assert_int_equal(t->begin_ns, US(0));
	assert_int_equal(t->end_ns, US(9000));
	assert_string_equal(loader->name, "loader");
	assert_int_equal(loader->begin_ns, US(20));
	assert_int_equal(loader->end_ns, US(8000));
	assert_true(loader->ended);
	assert_ptr_equal(&t->tasks[loader->creator], root);
	assert_ptr_equal(&t->tasks[pin->leader], root);
	assert_int_equal(pin->own_tid, 2);
	assert_int_equal(pin->own_pid, 1);
	assert_int_equal(root->creator, HOST_NOBODY);
	assert_int_equal(root->pid_ns, 77);
	assert_int_equal(pin->end_ns, US(9000)); /* the trace's: the collector ended regularly */
	assert_false(pin->ended);
	/* the number comes again */
	assert_string_equal(task_of(t, 200, 8600)->name, "again");
	assert_ptr_equal(&t->tasks[task_of(t, 200, 8600)->creator], pin);
	assert_int_equal(host_trace_task(t, 200, US(8200)), HOST_NOBODY);
	assert_int_equal(host_trace_task(t, 200, US(10)), HOST_NOBODY);
	assert_int_equal(host_trace_task(t, 0, US(10)), HOST_NOBODY);
	assert_ptr_equal(task_of(t, 100, -50), root); /* it was there before */
	done(t);
}

static void test_waits_and_who_woke_them(void **state)
{
	struct host_trace *t = trace_of(
		FAMILY "wait 100 t=1ms..2ms wake=1.9ms waker=101 syscall=202 arg=7\n"
		       "wait 100 t=3ms..4ms by=interrupt syscall=17 arg=5 fd=file file=/data/x offset=4096 bytes=512 "
		       "inode=9 dev=3 fs=0x6969 flags=disk,iowait throttled=1ms\n"
		       "wait 100 t=5ms..6ms flags=preempted throttled=0.3ms\n"
		       "wait 100 t=7ms..8ms waker=999 wake=unknown\n");
	const struct host_task *root = task_of(t, 100, 5);
	const struct host_wait *w = root->waits;

	(void)state;
	assert_int_equal(root->n_waits, 4);
	assert_int_equal(w[0].out_ns, US(1000));
	assert_int_equal(w[0].wake_ns, US(1900));
	assert_int_equal(w[0].in_ns, US(2000));
	assert_true(w[0].wake_known);
	assert_int_equal(w[0].by, GST_WOKEN_TASK);
	assert_ptr_equal(&t->tasks[w[0].waker], task_of(t, 101, 50));
	assert_int_equal(w[0].what.syscall, 202);
	assert_null(w[0].what.file);
	assert_int_equal(w[0].what.offset, UINT64_MAX);
	assert_string_equal(w[1].what.file, "/data/x");
	assert_int_equal(w[1].what.offset, 4096);
	assert_int_equal(w[1].what.bytes, 512);
	assert_int_equal(w[1].what.inode, 9);
	assert_int_equal(w[1].what.dev, 3);
	assert_int_equal(w[1].what.fs, 0x6969);
	assert_int_equal(w[1].what.fd_kind, GST_FD_FILE);
	assert_int_equal(w[1].what.flags, GST_WAIT_DISK | GST_WAIT_IOWAIT);
	assert_int_equal(w[1].throttled_ns, 0); /* no longer than it waited for a CPU */
	assert_int_equal(w[2].wake_ns, US(5000));
	assert_int_equal(w[2].throttled_ns, 300000);
	assert_int_equal(w[3].waker, HOST_NOBODY); /* of a task that is not on record */
	assert_false(w[3].wake_known);
	assert_int_equal(w[3].wake_ns, US(8000));
	assert_int_equal(w[0].off_before_ns, 0);
	assert_int_equal(w[3].off_before_ns, 3000000);
	assert_int_equal(host_wait_after(root, US(500)), 0);
	assert_int_equal(host_wait_after(root, US(1999)), 0);
	assert_int_equal(host_wait_after(root, US(2000)), 1);
	assert_int_equal(host_wait_after(root, US(8000)), 4);
	done(t);
}

static void test_everything_else(void **state)
{
	struct host_trace *t = trace_of(
		FAMILY
		"stalls 200 t=1ms..2ms count=9 blocked=0.5ms queued=0.2ms throttled=0.1ms last=8192 file=/data/x "
		"offset=0 flags=fault\n"
		"request 200 t=1ms..3ms issued=2ms dev=0xfe00000 file-dev=5 inode=9 offset=4096 bytes=65536 "
		"sector=11 flags=read-ahead\n"
		"request 9 t=1ms bytes=1 flags=write,sync\n"
		"reclaim 101 t=4ms..5ms pages=32 group=1\n"
		"pipe-end 200 t=1ms inode=55 fd=pipe flags=writes\n"
		"pipe-end 100 t=1ms inode=44 peer=45 fd=socket flags=reads,writes\n"
		"pressure t=0us..9ms cpu=5 io=7 throttled=11 periods=2\n"
		"on-cpu 101 t=6ms frames=0x10,0x20,0x30\n");
	const struct host_task *loader = task_of(t, 200, 50), *pin = task_of(t, 101, 50);

	(void)state;
	assert_int_equal(loader->n_stalls, 1);
	assert_int_equal(loader->stalls[0].blocked_ns, 500000);
	assert_int_equal(loader->stalls[0].queued_ns, 200000);
	assert_int_equal(loader->stalls[0].throttled_ns, 100000);
	assert_int_equal(loader->stalls[0].last_offset, 8192);
	assert_int_equal(loader->stalls[0].count, 9);
	assert_int_equal(loader->stalls[0].what.flags, GST_WAIT_FAULT);
	assert_string_equal(loader->stalls[0].what.file, "/data/x");
	assert_int_equal(t->n_requests, 2);
	assert_int_equal(t->requests[0].task, HOST_NOBODY);
	assert_false(t->requests[0].queued_known);
	assert_int_equal(t->requests[0].queued_ns, US(1000));
	assert_int_equal(t->requests[0].flags, GST_REQUEST_WRITE | GST_REQUEST_SYNC);
	assert_ptr_equal(&t->tasks[t->requests[1].task], loader);
	assert_int_equal(t->requests[1].issued_ns, US(2000));
	assert_int_equal(t->requests[1].done_ns, US(3000));
	assert_int_equal(t->requests[1].file_dev, 5);
	assert_int_equal(pin->n_reclaims, 1);
	assert_int_equal(pin->reclaims[0].pages, 32);
	assert_true(pin->reclaims[0].group);
	assert_int_equal(t->n_pipe_ends, 2);
	assert_int_equal(t->pipe_ends[0].inode, 44);
	assert_int_equal(t->pipe_ends[0].peer, 45);
	assert_int_equal(t->pipe_ends[0].fd_kind, GST_FD_SOCKET);
	assert_ptr_equal(&t->tasks[t->pipe_ends[1].task], loader);
	assert_int_equal(t->n_pressure, 1);
	assert_int_equal(t->pressure[0].io_some_us, 7);
	assert_int_equal(t->pressure[0].memory_full_us, UINT32_MAX);
	assert_int_equal(pin->n_on_cpu, 1);
	assert_int_equal(pin->on_cpu[0].n_frames, 3);
	assert_int_equal(pin->on_cpu[0].frames[2], 0x30);
	done(t);
}

/* What the kernel's buffer had no room for stands in the counters as it is lost, and at the end in its own place as well: never in both here. */
static void test_each_loss_once(void **state)
{
	static const struct {
		const char *text;
		uint64_t events, records;
	} cases[] = {
		{ "host 100 end=9ms how=ebpf lost=7\ndrop 10 busy=7 limit=3\n", 7, 3 },
		{ "host 100 how=ebpf\ndrop 10 busy=7 limit=3\n", 7, 3 }, /* killed */
		{ "host 100 end=9ms how=ebpf lost=7\n", 7, 0 },
		{ "host 100 end=9ms how=perf lost=7\ndrop 10 busy=8 limit=2\n", 7, 10 }, /* ends of pipes */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host_trace *t = trace_of(cases[i].text);

		assert_int_equal(t->probes.events_lost, cases[i].events);
		assert_int_equal(t->counters.records_dropped, cases[i].records);
		done(t);
	}
}

/* The kernel tells of an end before the task gives its memory back, and wakes who joins it. */
static void test_the_dying_still_wake(void **state)
{
	struct host_trace *t = trace_of(FAMILY "wait 100 t=7ms..9ms waker=200 wake=8.9ms syscall=202\n");

	(void)state;
	assert_ptr_equal(&t->tasks[task_of(t, 100, 5)->waits[0].waker], task_of(t, 200, 50));
	assert_int_equal(task_of(t, 200, 50)->end_ns, US(8900));
	assert_int_equal(host_trace_task(t, 200, US(8950)), HOST_NOBODY);
	done(t);
}

/* Seconds later a number may be another's: only who waited for that very task to end is believed. */
static void test_the_dead_wake_nobody_else(void **state)
{
	struct host_trace *t = trace_of("host 100 end=9s how=ebpf\ntask 100 t=0us flags=root,there\n"
					"task 101 pid=100 t=0us creator=100\ntask 200 t=0us creator=100\n"
					"task 300 t=0us creator=100\n"
					"task-end 101 t=1s\ntask-end 200 t=1s\n"
					"wait 100 t=1s..4s waker=200 wake=3.9s\n" /* its child */
					"wait 300 t=1s..1.2s waker=101 wake=1.09s\n"
					"wait 300 t=2s..3s waker=101 wake=2.9s\n"
					"wait 300 t=5s..6s waker=200 wake=5.9s\n");
	const struct host_wait *waits = task_of(t, 300, 5)->waits;

	(void)state;
	assert_ptr_equal(&t->tasks[task_of(t, 100, 5)->waits[0].waker], task_of(t, 200, 50));
	assert_ptr_equal(&t->tasks[waits[0].waker], task_of(t, 101, 50));
	assert_int_equal(waits[1].waker, HOST_NOBODY);
	assert_int_equal(waits[2].waker, HOST_NOBODY);
	assert_int_equal(task_of(t, 101, 50)->end_ns, US(1090000.0));
	assert_int_equal(task_of(t, 200, 50)->end_ns, US(3900000.0));
	done(t);
}

/* What it is believed to have done behind its end is no reason to believe more of it. */
static void test_the_dead_live_no_longer_for_it(void **state)
{
	struct host_trace *t = trace_of("host 100 end=20s how=ebpf\ntask 100 t=0us flags=root,there\n"
					"task 200 t=0us creator=100\ntask 300 t=0us creator=100\n"
					"task-end 200 t=1s\n"
					"wait 300 t=1s..1.1s waker=200 wake=1.09s\n"
					"wait 300 t=1.11s..1.2s waker=200 wake=1.18s\n"
					"wait 200 t=4s..5s\n"
					"wait 200 t=8s..9s\n");
	const struct host_task *dead = task_of(t, 200, 50), *other = task_of(t, 300, 5);

	(void)state;
	assert_ptr_equal(&t->tasks[other->waits[0].waker], dead);
	assert_int_equal(other->waits[1].waker, HOST_NOBODY);
	assert_int_equal(dead->said_end_ns, US(1000000.0));
	assert_int_equal(dead->n_waits, 1);
	assert_int_equal(dead->end_ns, US(5000000.0));
	assert_int_equal(t->strays, 1);
	done(t);
}

static void test_tasks_by_process(void **state)
{
	struct host_trace *t = trace_of(FAMILY);
	size_t n;
	const uint32_t *at = host_trace_process(t, 100, &n);

	(void)state;
	assert_int_equal(n, 2);
	assert_int_equal(t->tasks[at[0]].tid, 100);
	assert_int_equal(t->tasks[at[1]].tid, 101);
	at = host_trace_process(t, 200, &n);
	assert_int_equal(n, 1);
	assert_int_equal(t->tasks[at[0]].tid, 200);
	host_trace_process(t, 150, &n);
	assert_int_equal(n, 0);
	host_trace_process(t, UINT32_MAX, &n);
	assert_int_equal(n, 0);
	done(t);
}

/* ---- what cannot be --------------------------------------------------------------------------------- */

static void test_waits_never_overlap(void **state)
{
	struct host_trace *t =
		trace_of(FAMILY "wait 100 t=3ms..4ms\n"
				"wait 100 t=1ms..3.5ms waker=101 wake=3.4ms\n" /* late, and too long */
				"wait 100 t=6ms..5ms\n"                        /* backwards */
				"wait 100 t=7ms..7.5ms flags=last\n" /* the same as the next, before it was over */
				"wait 100 t=7ms..8ms syscall=1\n"
				"wait 555 t=1ms..2ms\n" /* nobody's */
				"wait 200 t=7ms..7.9ms waker=200\n"
				"wait 200 t=7.95ms..8.1ms waker=100 wake=8ms\n" /* it was dying */
				"wait 200 t=7.99ms..6000ms\n"                   /* nobody dies that long */
				"wait 101 t=1us..50us\n"                        /* before its birth */
				"wait 101 t=100us..200us wake=50us by=timer waker=100\n");
	const struct host_task *root = task_of(t, 100, 5), *loader = task_of(t, 200, 50), *pin = task_of(t, 101, 50);

	(void)state;
	assert_int_equal(root->n_waits, 3);
	assert_int_equal(root->waits[0].out_ns, US(1000));
	assert_int_equal(root->waits[0].in_ns, US(3000));
	assert_int_equal(root->waits[0].wake_ns, US(3000));
	assert_int_equal(root->waits[1].in_ns, US(4000));
	assert_int_equal(root->waits[2].in_ns, US(8000));
	assert_int_equal(root->waits[2].what.syscall, 1);
	assert_int_equal(loader->n_waits, 2);
	assert_int_equal(loader->waits[0].waker, HOST_NOBODY); /* nobody wakes himself */
	assert_int_equal(loader->waits[1].in_ns, US(8100));
	assert_int_equal(loader->end_ns, US(8100));
	assert_int_equal(pin->n_waits, 2);
	assert_int_equal(pin->waits[0].out_ns, US(10));
	assert_int_equal(pin->waits[1].wake_ns, US(100));
	assert_int_equal(pin->waits[1].waker, HOST_NOBODY); /* a timer is no task */
	assert_int_equal(t->strays, 3);
	done(t);
}

/* A collector that was killed had written now and then that they go on: the last time counts. */
static void test_a_wait_that_is_told_of_while_it_lasts_is_one(void **state)
{
	struct host_trace *t = trace_of(FAMILY "wait 100 t=1ms..2ms flags=last\n"
					       "wait 101 t=2ms..3ms flags=last\n"
					       "wait 100 t=1ms..3ms flags=last\n"
					       "wait 100 t=1ms..5ms flags=last\n"
					       "wait 101 t=2ms..4ms\n");
	const struct host_task *root = task_of(t, 100, 5), *pin = task_of(t, 101, 50);

	(void)state;
	assert_int_equal(root->n_waits, 1);
	assert_int_equal(root->waits[0].out_ns, US(1000));
	assert_int_equal(root->waits[0].in_ns, US(5000));
	assert_true(root->waits[0].what.flags & GST_WAIT_LAST);
	assert_int_equal(pin->n_waits, 1);
	assert_int_equal(pin->waits[0].in_ns, US(4000));
	assert_false(pin->waits[0].what.flags & GST_WAIT_LAST);
	assert_int_equal(t->strays, 0);
	done(t);
}

static void test_numbers_beyond_all_bounds(void **state)
{
	struct host_trace *t;
	struct gst_wait w = { .out = UINT64_MAX,
			      .wake = UINT64_MAX,
			      .in = UINT64_MAX,
			      .throttled_ns = UINT64_MAX,
			      .tid = 100,
			      .waker = UINT32_MAX,
			      .by = UINT32_MAX };
	struct gst_stalls s = { .begin = 0,
				.end = UINT64_MAX,
				.blocked_ns = UINT64_MAX,
				.queued_ns = UINT64_MAX,
				.throttled_ns = UINT64_MAX,
				.tid = 100,
				.count = UINT32_MAX };
	struct gst_task task = { .begin = UINT64_MAX, .tid = UINT32_MAX, .pid = UINT32_MAX, .creator = UINT32_MAX };
	struct gst_request q = { .queued = UINT64_MAX, .issued = 5, .done = 4, .tid = 100 };
	struct error e;

	(void)state;
	parse("host 100\ntask 100 t=0us flags=root,there\n");
	memset(task.name, 'x', sizeof(task.name));
	w.what.file = UINT32_MAX;
	gst_image_add(&text.files[0].image, GST_WAIT, &w, sizeof(w), true);
	w.in = 1000000000 + 1000;
	w.out = 0;
	gst_image_add(&text.files[0].image, GST_WAIT, &w, sizeof(w), true);
	gst_image_add(&text.files[0].image, GST_STALLS, &s, sizeof(s), true);
	gst_image_add(&text.files[0].image, GST_TASK, &task, sizeof(task), true);
	gst_image_add(&text.files[0].image, GST_REQUEST, &q, sizeof(q), true);
	assert_int_equal(host_trace_open_mem(&t, text.files[0].image.bytes, text.files[0].image.len, "x", &e),
			 ERR_NONE);
	assert_int_equal(t->n_tasks, 2);
	assert_int_equal(strlen(t->tasks[1].name), 15);
	assert_int_equal(t->tasks[1].begin_ns, CLOCK_MAX_NS);
	assert_int_equal(t->tasks[1].creator, HOST_NOBODY);
	assert_int_equal(t->tasks[0].n_waits, 1);
	assert_int_equal(t->tasks[0].waits[0].out_ns, US(0));
	assert_int_equal(t->tasks[0].waits[0].in_ns, US(1));
	assert_int_equal(t->tasks[0].waits[0].by, GST_WOKEN_UNKNOWN);
	assert_int_equal(t->tasks[0].n_stalls, 1);
	assert_int_equal(t->tasks[0].stalls[0].blocked_ns, 0);
	assert_int_equal(t->tasks[0].stalls[0].queued_ns, CLOCK_MAX_NS - US(0));
	assert_int_equal(t->requests[0].queued_ns, 4);
	assert_int_equal(t->requests[0].issued_ns, 4);
	done(t);
}

/* It writes to one file at a time; what has no length, or is nobody's, is left out. */
static void test_what_was_written(void **state)
{
	struct host_trace *t =
		trace_of(FAMILY "written 101 t=3ms..4ms count=2 syscall=1 fd=file file=/out/x bytes=70000 inode=9\n"
				"written 101 t=1ms..9ms\nwritten 101 t=5ms\nwritten 999 t=5ms..6ms\n"
				"written 100 t=2ms..2.5ms\n");
	const struct host_task *pin = task_of(t, 101, 50);

	(void)state;
	assert_int_equal(t->strays, 2);
	assert_int_equal(pin->n_written, 2);
	assert_int_equal(pin->written[0].begin_ns, US(1000));
	assert_int_equal(pin->written[0].end_ns, US(3000));
	assert_int_equal(pin->written[1].end_ns, US(4000));
	assert_int_equal(pin->written[1].what.bytes, 70000);
	assert_string_equal(pin->written[1].what.file, "/out/x");
	assert_int_equal(task_of(t, 100, 50)->written[0].end_ns, US(2500));
	done(t);
}

/* A task looks for memory once at a time. */
static void test_reclaims_never_overlap(void **state)
{
	struct host_trace *t = trace_of(FAMILY "reclaim 101 t=3ms..4ms pages=1\nreclaim 101 t=1ms..9ms pages=2\n"
					       "reclaim 100 t=2ms..2.5ms\n");
	const struct host_task *pin = task_of(t, 101, 50);

	(void)state;
	assert_int_equal(pin->n_reclaims, 2);
	assert_int_equal(pin->reclaims[0].end_ns, US(3000));
	assert_int_equal(pin->reclaims[1].end_ns, US(4000));
	assert_int_equal(host_reclaim_after(pin, US(0)), 0);
	assert_int_equal(host_reclaim_after(pin, US(2999)), 0);
	assert_int_equal(host_reclaim_after(pin, US(3000)), 1);
	assert_int_equal(host_reclaim_after(pin, US(4000)), 2);
	assert_int_equal(task_of(t, 100, 50)->reclaims[0].end_ns, US(2500));
	done(t);
}

/* ---- memory ------------------------------------------------------------------------------------------ */

static void test_every_allocation_may_fail(void **state)
{
	const struct gst_image *image;
	int refused = 0;

	(void)state;
	parse(FAMILY
	      "wait 100 t=1ms..2ms waker=101 file=/data/x\nstalls 100 t=1ms..2ms\nrequest 100 t=1ms..2ms\n"
	      "reclaim 100 t=1ms..2ms\npipe-end 100 t=1ms inode=4\npressure t=1ms..2ms\non-cpu 100 t=1ms frames=1,2\n"
	      "kept\nkept segment=9 recycles=3\ntask 300 t=0us\n");
	image = &text.files[0].image;
	for (long n = 1;; n++) {
		struct host_trace *t = NULL;
		struct error e;
		enum err_kind kind;

		fail_at = n;
		kind = host_trace_open_mem(&t, image->bytes, image->len, "x", &e);
		if (fail_at > 0) {
			fail_at = 0;
			assert_int_equal(kind, ERR_NONE);
			host_trace_free(t);
			break;
		}
		fail_at = 0;
		assert_int_equal(kind, ERR_SYSTEM);
		assert_null(t);
		refused++;
	}
	assert_true(refused > 20);
	gst_text_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tasks_and_who_made_them),
		cmocka_unit_test(test_waits_and_who_woke_them),
		cmocka_unit_test(test_everything_else),
		cmocka_unit_test(test_each_loss_once),
		cmocka_unit_test(test_the_dying_still_wake),
		cmocka_unit_test(test_the_dead_wake_nobody_else),
		cmocka_unit_test(test_the_dead_live_no_longer_for_it),
		cmocka_unit_test(test_what_was_written),
		cmocka_unit_test(test_reclaims_never_overlap),
		cmocka_unit_test(test_tasks_by_process),
		cmocka_unit_test(test_waits_never_overlap),
		cmocka_unit_test(test_numbers_beyond_all_bounds),
		cmocka_unit_test(test_every_allocation_may_fail),
		cmocka_unit_test(test_a_wait_that_is_told_of_while_it_lasts_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
