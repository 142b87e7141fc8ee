/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of host probes that are cut short, damaged, recycled, of the other kind, or still written to: what is claimed of them, and what not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "host_text.h"
#include "trace/trace.h"

/* ---- no regular end --------------------------------------------------------------------------------- */

/* Of a wait that went on when the collector was killed there is no record: what a task did behind its last one is not known. */
static void test_a_killed_collector_proves_no_computing(void **state)
{
	struct host_trace *t =
		trace_of("host 100\ntask 100 t=0us flags=root,there\ntask 101 pid=100 t=1ms creator=100\n"
			 "task 102 pid=100 t=1ms creator=100\n"
			 "wait 100 t=2ms..3ms waker=101 wake=2.9ms\n"
			 "wait 101 t=4ms..6ms\n"
			 "stalls 100 t=4ms..5ms\n");

	(void)state;
	assert_int_equal(t->probes.end, 0);
	assert_int_equal(task_of(t, 100, 5)->end_ns, US(5000));
	assert_int_equal(task_of(t, 101, 2000)->end_ns, US(6000));
	assert_int_equal(task_of(t, 102, 2000)->end_ns, US(1000)); /* nothing is on record but its birth */
	assert_int_equal(t->end_ns, US(6000));
	done(t);
}

/* A wake that is said to be later than what it ended proves nobody to have lived until then. */
static void test_a_wake_too_late(void **state)
{
	struct host_trace *t =
		trace_of("host 100\ntask 100 t=0us flags=root,there\ntask 101 pid=100 t=1ms creator=100\n"
			 "wait 100 t=2ms..3ms waker=101 wake=7ms\n");

	(void)state;
	assert_int_equal(task_of(t, 100, 5)->waits[0].wake_ns, US(3000));
	assert_int_equal(task_of(t, 101, 2000)->end_ns, US(3000));
	assert_int_equal(t->end_ns, US(3000));
	done(t);
}

static void test_damage_cuts(void **state)
{
	struct host_trace *t;
	struct error e;
	struct gst_image *image;

	(void)state;
	parse("host 100 end=9ms\ntask 100 t=0us flags=root,there\nwait 100 t=1ms..2ms\nwait 100 t=3ms..4ms\nsegment\n"
	      "wait 100 t=5ms..6ms\n");
	image = &text.files[0].image;
	/* the size of the second wait */
	image->bytes[GST_SEGMENTS_OFFSET + 64 + 2 * 72 + 72 + 112 + 2] ^= 1;
	assert_int_equal(host_trace_open_mem(&t, image->bytes, image->len, "x.host.gst", &e), ERR_NONE);
	assert_int_equal(t->damage.kind, ERR_FORMAT);
	assert_int_equal(t->damage.byte, GST_SEGMENTS_OFFSET + 64 + 2 * 72 + 72 + 112);
	assert_int_equal(t->cut_ns, US(2000));
	assert_int_equal(t->end_ns, US(2000));
	assert_int_equal(t->tasks[0].n_waits, 1);
	assert_int_equal(t->tasks[0].end_ns, US(2000));
	done(t);
}

/* Behind the damage the task is seen to run again; it waited when the rest was cut, and that is not on record. */
static void test_damage_proves_no_computing(void **state)
{
	struct host_trace *t;
	struct error e;
	struct gst_image *image;
	size_t wait = GST_SEGMENTS_OFFSET + 64 + 2 * 72 + 3 * 72 + 3 * 112;

	(void)state;
	parse("host 100 end=9ms\ntask 100 t=0us flags=root,there\ntask 101 t=0us creator=100\ntask 102 t=0us creator=100\n"
	      "wait 100 t=1ms..2ms\nwait 102 t=1ms..2.5ms\nwait 101 t=3ms..4ms\nwait 100 t=2.2ms..5ms\nsegment\n"
	      "wait 100 t=5.5ms..6ms waker=101\nwait 101 t=3.9ms..7ms\ntask-end 102 t=8ms\ntask 103 t=6ms creator=100\n");
	image = &text.files[0].image;
	image->bytes[wait + 2] ^= 1;
	assert_int_equal(host_trace_open_mem(&t, image->bytes, image->len, "x.host.gst", &e), ERR_NONE);
	assert_int_equal(t->damage.byte, wait);
	assert_int_equal(t->cut_ns, US(4000));
	assert_int_equal(task_of(t, 100, 5)->end_ns, US(2000));
	assert_int_equal(task_of(t, 101, 5)->end_ns, US(4000));
	assert_int_equal(task_of(t, 101, 5)->n_waits, 1);
	assert_int_equal(task_of(t, 102, 5)->end_ns, US(2500));
	assert_false(task_of(t, 102, 5)->ended);
	done(t);
}

static void test_every_length_is_survived(void **state)
{
	struct host_trace *t;
	struct error e;
	size_t whole;

	(void)state;
	parse(FAMILY "wait 100 t=1ms..2ms waker=101 file=/x\non-cpu 101 t=1ms frames=1,2\n");
	whole = GST_SEGMENTS_OFFSET + text.files[0].image.offset[0];
	for (size_t len = GST_SEGMENTS_OFFSET - 16; len <= whole; len += 8) {
		uint64_t *copy = malloc(len);

		memcpy(copy, text.files[0].image.bytes, len);
		assert_int_equal(host_trace_open_mem(&t, copy, len, "x", &e), ERR_NONE);
		assert_int_equal(t->damage.kind, ERR_FORMAT);
		assert_true(t->n_tasks <= 3);
		host_trace_free(t);
		free(copy);
	}
	gst_text_free(&text);
}

static void test_a_recycled_file_begins_later(void **state)
{
	struct host_trace *t =
		trace_of("host 100 end=9ms\nkept\nkept segment=0 recycles=3\ntask 100 t=0us flags=root,there\n"
			 "thread 2\nwait 100 t=6ms..7ms\nrecycled until=5ms\n");

	(void)state;
	assert_int_equal(t->begin_ns, US(5000));
	assert_int_equal(t->end_ns, US(9000));
	assert_int_equal(t->n_tasks, 1);
	assert_int_equal(t->tasks[0].n_waits, 1);
	assert_int_equal(t->counters.segments_recycled, 1);
	done(t);
}

static void test_a_file_without_probes(void **state)
{
	struct host_trace *t;
	struct error e;

	(void)state;
	parse("host 100\n");
	gst_image_header(&text.files[0].image);
	memset(text.files[0].image.bytes + GST_SEGMENTS_OFFSET + 64, 0, 72);
	assert_int_equal(host_trace_open_mem(&t, text.files[0].image.bytes, text.files[0].image.len, "x", &e),
			 ERR_NONE);
	assert_int_equal(t->probes.how, 0);
	assert_int_equal(t->n_tasks, 0);
	assert_int_equal(host_trace_task(t, 100, US(1)), HOST_NOBODY);
	done(t);
}

/* ---- two kinds of files ----------------------------------------------------------------------------- */

static void test_each_kind_is_refused_as_the_other(void **state)
{
	struct host_trace *host;
	struct trace *trace;
	struct error e;

	(void)state;
	parse("process 100\nthread 10\nhost 100\n");
	assert_string_equal(text.files[1].name, "host-100.host.gst");
	assert_int_equal(host_trace_open_mem(&host, text.files[0].image.bytes, text.files[0].image.len, "p.gst", &e),
			 ERR_FORMAT);
	assert_string_equal(e.text, "no file of host probes (kind 0)");
	assert_null(host);
	assert_int_equal(trace_open_mem(&trace, text.files[1].image.bytes, text.files[1].image.len, "h.gst", &e),
			 ERR_FORMAT);
	assert_string_equal(e.text, "no recording of a process (kind 1)");
	assert_null(trace);
	gst_text_free(&text);
}

static void test_each_kind_skips_the_other_s_records(void **state)
{
	struct gst_wait w = { .tid = 100 };
	struct gst_call c = { .hook = 1 };
	struct host_trace *host;
	struct trace *trace;
	struct error e;

	(void)state;
	parse("process 100\nthread 10\nhost 100\n");
	gst_image_add(&text.files[0].image, GST_WAIT, &w, sizeof(w), true);
	gst_image_add(&text.files[1].image, GST_CALL, &c, sizeof(c), true);
	assert_int_equal(trace_open_mem(&trace, text.files[0].image.bytes, text.files[0].image.len, "p.gst", &e),
			 ERR_NONE);
	assert_int_equal(trace->unknown_records, 1);
	assert_int_equal(trace->damage.kind, ERR_NONE);
	assert_int_equal(host_trace_open_mem(&host, text.files[1].image.bytes, text.files[1].image.len, "h.gst", &e),
			 ERR_NONE);
	assert_int_equal(host->unknown_records, 1);
	assert_int_equal(host->damage.kind, ERR_NONE);
	trace_free(trace);
	done(host);
}

/* ---- a file that is being written -------------------------------------------------------------------- */

static char path[64];

static void write_file(const struct gst_image *image)
{
	int fd;

	strcpy(path, "/tmp/gpushim-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, image->bytes, image->len), (ssize_t)image->len);
	close(fd);
}

/* It says that it had another sign of life a moment after the reader looked at the clock: what came later is left out. */
static void test_what_came_later_is_left_out(void **state)
{
	struct host_trace *t;
	struct error e;
	int64_t now;

	(void)state;
	parse("host 100\ntask 100 t=0us flags=root,there\nwait 100 t=1ms..2ms\nwait 100 t=3ms..4ms\n"
	      "task 101 t=3.5ms\ntask-end 100 t=3.6ms\n");
	now = US(3000); /* long ago on this machine: after it */
	gst_image_counters(&text.files[0].image)->last_ticks = (uint64_t)US(4000);
	write_file(&text.files[0].image);
	assert_true(life_now_ns() > US(4000));
	assert_int_equal(host_trace_open(&t, path, now, &e), ERR_NONE);
	assert_int_equal(t->n_tasks, 1);
	assert_int_equal(t->tasks[0].n_waits, 1);
	assert_int_equal(t->tasks[0].end_ns, US(2000));
	assert_int_equal(t->end_ns, US(3000));
	host_trace_free(t);
	unlink(path);
	gst_text_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_killed_collector_proves_no_computing),
		cmocka_unit_test(test_a_wake_too_late),
		cmocka_unit_test(test_damage_cuts),
		cmocka_unit_test(test_damage_proves_no_computing),
		cmocka_unit_test(test_every_length_is_survived),
		cmocka_unit_test(test_a_recycled_file_begins_later),
		cmocka_unit_test(test_a_file_without_probes),
		cmocka_unit_test(test_each_kind_is_refused_as_the_other),
		cmocka_unit_test(test_each_kind_skips_the_other_s_records),
		cmocka_unit_test(test_what_came_later_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
