/* SPDX-License-Identifier: BSD-2-Clause */
/* A wait that goes on while the collector is killed: by the ways that look at /proc it is on record, half of it at least. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader_sound.h"
#include "sleeper.h"
#include "shim/probes/backend.h"
#include "shim/proc_text.h"
#include "shim/probes/watch.h"

#define WATCHED_NS 450000000u

static char dir[] = "/tmp/probes-open-XXXXXX";

static void test_it_is_told_seldom_and_never_too_late(void **unused)
{
	const uint64_t out = 5000, hour = 3600000000000ull, step = 1000000;
	uint64_t told = 0;
	unsigned n = 0;

	(void)unused;
	assert_false(watch_tells(out, 0, out + 99999999));
	for (uint64_t now = out; now - out <= hour; now += step) {
		if (watch_tells(out, told, now)) {
			told = now;
			n++;
		}
		if (now - out >= 100000000)
			assert_true(2 * (told - out) > now - out);
	}
	assert_int_equal(n, 16);
}

struct open_wait {
	unsigned told;
	uint64_t out, in;
};

static struct open_wait read_file(const char *path, uint32_t tid)
{
	struct open_wait o = { .told = 0 };
	struct record_view view;
	struct reader *reader;
	struct error e;

	assert_int_equal(reader_open(&reader, path, &e), ERR_NONE);
	while (reader_next(reader, &view)) {
		const struct gst_wait *w = (const void *)view.record;

		if (view.record->type != GST_WAIT || w->tid != tid || w->in - w->out < 100000000)
			continue;
		assert_true(w->what.flags & GST_WAIT_LAST);
		if (o.told++) {
			assert_int_equal(w->out, o.out);
			assert_true(w->in - w->out >= 2 * (o.in - o.out));
		}
		o.out = w->out;
		o.in = w->in;
	}
	assert_sound(reader);
	reader_free(reader);
	return o;
}

static void a_wait_that_goes_on_is_on_record(const struct backend *way)
{
	struct probes_settings settings = { .root = start_sleeper(), .dir = dir, .limit = 1u << 30, .wait_ns = 20000 };
	struct host_file *file;
	struct open_wait o;
	uint64_t begin = mono_ns(), now;
	char why[256];
	void *state;

	assert_int_equal(host_file_create(&file, dir, settings.root, settings.limit), 0);
	if (!way->start(&state, &settings, file, why)) {
		printf("skip: %s: %s\n", way->name, why);
		host_file_discard(file);
		kill(settings.root, SIGKILL);
		waitpid(settings.root, NULL, 0);
		skip();
	}
	do {
		now = mono_ns();
		assert_true(way->poll(state, 20));
	} while (now - begin < WATCHED_NS);
	o = read_file(host_file_path(file), (uint32_t)settings.root); /* as SIGKILL would leave it */
	assert_in_range(o.told, 1, 8);
	assert_true(o.out <= now);
	assert_true(2 * (o.in - o.out) >= now - o.out);
	way->stop(state);
	kill(settings.root, SIGKILL);
	waitpid(settings.root, NULL, 0);
	host_file_discard(file);
}

static void test_by_looks_alone(void **unused)
{
	(void)unused;
	a_wait_that_goes_on_is_on_record(&backend_proc);
}

static void test_by_switches(void **unused)
{
	(void)unused;
	a_wait_that_goes_on_is_on_record(&backend_perf);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_told_seldom_and_never_too_late),
		cmocka_unit_test(test_by_looks_alone),
		cmocka_unit_test(test_by_switches),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
