/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes are one run; and every allocation on the way from files to a timeline may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/run.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/gst_text.h"
#include "timeline/timeline.h"

/* ---- a directory of traces -------------------------------------------------------------------------- */

static char dir[64];

static void write_all(const char *text)
{
	struct gst_text t;
	char error[256], path[512];

	strcpy(dir, "/tmp/gpushim-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	if (!gst_text_parse(&t, text, error))
		fail_msg("%s", error);
	for (size_t i = 0; i < t.n; i++) {
		struct gst_file_header *h = gst_image_header(&t.files[i].image);
		FILE *f;

		if (!strcmp(h->cmdline, "undecodable")) {
			h->clock = GST_CLOCK_TSC;
			gst_image_seal(&t.files[i].image);
		}
		if (!strcmp(h->cmdline, "headless"))
			h->magic[0] ^= 1;
		snprintf(path, sizeof(path), "%s/%s", dir, t.files[i].name);
		f = fopen(path, "w");
		assert_non_null(f);
		assert_int_equal(fwrite(t.files[i].image.bytes, 1, t.files[i].image.len, f), t.files[i].image.len);
		fclose(f);
	}
	gst_text_free(&t);
}

static void remove_all(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
}

static enum err_kind open_dir(struct run *r, int which, struct error *e)
{
	char *paths[] = { dir };

	return run_open(r, paths, 1, which, e);
}

#define WORK(pid, from, to, more)                                                                 \
	"process " #pid " start=" #from " end=" #to " " more "\nthread " #pid " main\nstream 1\n" \
	"launch t=" #from ".." #from " stream=1 seq=1 kernel=k\n"

static void overlapping_lifetimes_are_one_run_and_the_last_is_taken(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "") WORK(2, 4ms, 9ms, "") WORK(3, 8ms, 12ms, "") WORK(4, 20ms, 30ms, ""));
	assert_int_equal(open_dir(&r, RUN_LAST, &e), ERR_NONE);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.index, 1);
	assert_int_equal(r.n_traces, 1);
	assert_int_equal(r.traces[0]->header.pid, 4);
	run_close(&r);
	assert_int_equal(open_dir(&r, 0, &e), ERR_NONE);
	assert_int_equal(r.n_traces, 3); /* 1 and 3 do not overlap, but both do with 2 */
	run_close(&r);
	assert_int_equal(open_dir(&r, RUN_ALL, &e), ERR_NONE);
	assert_int_equal(r.n_traces, 4);
	run_close(&r);
	assert_int_equal(open_dir(&r, 2, &e), ERR_USAGE);
	remove_all();
}

static void a_run_id_holds_processes_together_and_apart(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "run=a") WORK(2, 4ms, 9ms, "run=b") WORK(3, 20ms, 30ms, "run=a"));
	assert_int_equal(open_dir(&r, 0, &e), ERR_NONE);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.n_traces, 2);
	assert_int_equal(r.traces[0]->header.pid, 1);
	assert_int_equal(r.traces[1]->header.pid, 3);
	run_close(&r);
	remove_all();
}

/* The same clock readings after a reboot are another time of day; and the later day's run is the last, whatever its clock says. */
static void runs_before_and_after_a_reboot_stay_apart(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 10ms, 15ms, "host=a real=90000s") WORK(2, 12ms, 20ms, "host=a real=1000s")
			  WORK(3, 14ms, 20ms, "host=a real=90000s"));
	assert_int_equal(open_dir(&r, RUN_LAST, &e), ERR_NONE);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.n_traces, 2);
	assert_int_equal(r.traces[0]->header.pid, 1);
	assert_int_equal(r.traces[1]->header.pid, 3);
	run_close(&r);
	assert_int_equal(open_dir(&r, 0, &e), ERR_NONE);
	assert_int_equal(r.n_traces, 1);
	assert_int_equal(r.traces[0]->header.pid, 2);
	run_close(&r);
	remove_all();
}

static void every_run_is_listed_whichever_is_taken(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "run=a real=100s") WORK(2, 4ms, 9ms, "run=b real=101s")
			  WORK(3, 20ms, 30ms, "run=a real=101s"));
	assert_int_equal(open_dir(&r, 1, &e), ERR_NONE);
	assert_int_equal(r.index, 1);
	assert_int_equal(r.n_traces, 1);
	assert_int_equal(r.count, 2);
	assert_string_equal(r.listed[0].id, "a");
	assert_int_equal(r.listed[0].processes, 2);
	assert_int_equal(r.listed[0].begin_real_ns, 100000000000);
	assert_string_equal(r.listed[1].id, "b");
	assert_int_equal(r.listed[1].processes, 1);
	run_close(&r);
	remove_all();
}

static void a_run_is_found_by_its_id(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "run=a") WORK(2, 4ms, 9ms, "") WORK(3, 20ms, 30ms, "run=a"));
	assert_int_equal(run_open_id(&r, dir, "a", &e), ERR_NONE);
	assert_int_equal(r.n_traces, 2);
	assert_int_equal(r.traces[1]->header.pid, 3);
	run_close(&r);
	assert_int_equal(run_open_id(&r, dir, "c", &e), ERR_NONE);
	assert_int_equal(r.n_traces, 0);
	run_close(&r);
	remove_all();
	assert_int_equal(run_open_id(&r, dir, "a", &e), ERR_NONE);
	assert_int_equal(r.n_traces, 0);
	run_close(&r);
}

static void nothing_to_read_is_an_error(void **state)
{
	struct run r;
	struct error e;
	char *paths[] = { "/nonexistent/gpushim" };

	(void)state;
	write_all("");
	assert_int_equal(open_dir(&r, RUN_LAST, &e), ERR_FORMAT);
	assert_int_equal(run_open(&r, paths, 1, RUN_LAST, &e), ERR_FORMAT);
	assert_string_equal(e.text, "cannot open: No such file or directory");
	assert_int_equal(run_open(&r, paths, 0, RUN_LAST, &e), ERR_USAGE);
	remove_all();
}

/* ---- host probes ------------------------------------------------------------------------------------ */

#define HOST(root, from, to, more)                                                     \
	"host " #root " start=" #from " end=" #to " " more "\ntask " #root " t=" #from \
	" flags=root,there start=" #from "\n"

static void assert_hosts(int which, size_t n, uint32_t root)
{
	struct run r;
	struct error e;

	assert_int_equal(open_dir(&r, which, &e), ERR_NONE);
	assert_int_equal(r.n_hosts, n);
	for (size_t i = 0; i < n && root; i++)
		assert_int_equal(r.hosts[i]->header.pid, root);
	run_close(&r);
}

static void a_host_file_is_of_the_run_that_it_watched(void **state)
{
	(void)state;
	write_all(WORK(1, 0ms, 5ms, "") HOST(1, 0ms, 5ms, "") WORK(2, 40ms, 45ms, "") HOST(2, 40ms, 45ms, ""));
	assert_hosts(0, 1, 1);
	assert_hosts(RUN_LAST, 1, 2);
	assert_hosts(RUN_ALL, 2, 0);
	remove_all();
	/* a collector that was started by hand knows no id; one of another run does */
	write_all(WORK(1, 0ms, 5ms, "run=a") HOST(1, 0ms, 5ms, "") HOST(7, 0ms, 5ms, "run=a") HOST(8, 0ms, 5ms, "run=b")
			  WORK(2, 1ms, 5ms, "run=b"));
	assert_hosts(0, 2, 0);
	assert_hosts(1, 1, 8);
	remove_all();
	/* the id counts, not the number */
	write_all(WORK(1, 0ms, 5ms, "run=a") HOST(1, 0ms, 5ms, "run=c"));
	assert_hosts(0, 0, 0);
	assert_hosts(RUN_ALL, 1, 1);
	remove_all();
	/* the same number, another process; the same process, another time */
	write_all(WORK(1, 0ms, 5ms, "") "host 1 start=0ms end=5ms\ntask 1 t=0ms flags=root,there start=400ms\n"
					"host 9 start=6ms end=9ms\ntask 1 t=6ms flags=root,there start=0ms\n");
	assert_hosts(0, 0, 0);
	remove_all();
}

/* What cannot be read of host probes is told, and the report is made without; another run's are not looked at. */
static void host_probes_that_cannot_be_read(void **state)
{
	static const struct {
		const char *more, *said;
	} cases[] = {
		{ HOST(9, 0ms, 5ms, "run=a command=undecodable"), "host probes with clock 1, not CLOCK_MONOTONIC" },
		{ HOST(9, 0ms, 5ms, "command=undecodable"), "host probes with clock 1, not CLOCK_MONOTONIC" },
		{ HOST(9, 0ms, 5ms, "run=a command=headless"), "not a gpushim trace" },
		{ HOST(9, 0ms, 5ms, "run=b command=undecodable"), NULL },
	};
	static const bool by_id[] = { true, false, false,
				      false }; /* asked for by its id, what does not have it is none of the run's */

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char lines[1024], path[128];
		struct run r;
		struct error e;

		snprintf(lines, sizeof(lines), "%s%s", WORK(1, 0ms, 5ms, "run=a") HOST(1, 0ms, 5ms, "run=a"),
			 cases[i].more);
		write_all(lines);
		snprintf(path, sizeof(path), "the host probes in %s/host-9.host.gst are not used: ", dir);
		assert_int_equal(open_dir(&r, RUN_LAST, &e), ERR_NONE);
		assert_int_equal(r.n_traces, 1);
		assert_int_equal(r.n_hosts, 1);
		assert_int_equal(r.n_missing, cases[i].said != NULL);
		if (cases[i].said) {
			assert_true(r.missing[0].host);
			assert_int_equal(strncmp(r.missing[0].text, path, strlen(path)), 0);
			assert_non_null(strstr(r.missing[0].text, cases[i].said));
		}
		run_close(&r);
		assert_int_equal(run_open_id(&r, dir, "a", &e), ERR_NONE);
		assert_int_equal(r.n_traces, 1);
		assert_int_equal(r.n_hosts, 1);
		assert_int_equal(r.n_missing, by_id[i]);
		run_close(&r);
		remove_all();
	}
}

/* Nothing says whose they are: they may be of any run, of one that has an id as well, whichever is asked for. */
static void host_probes_that_do_not_say_whose_they_are(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "run=a") WORK(2, 10ms, 15ms, "run=b") HOST(9, 0ms, 5ms, "run=a command=headless"));
	for (int which = RUN_ALL; which < 2; which++) {
		assert_int_equal(open_dir(&r, which, &e), ERR_NONE);
		assert_int_equal(r.n_missing, 1);
		assert_non_null(strstr(r.missing[0].text, "not a gpushim trace"));
		run_close(&r);
	}
	remove_all();
}

/* What the machine refuses may be the run's own, and is not passed over in silence. */
static void host_probes_that_may_not_be_read(void **state)
{
	char path[128], own[128];
	enum err_kind kind;
	struct run r;
	struct error e;
	bool root = geteuid() == 0, refused;
	enum err_kind others = ERR_NONE;
	size_t n_others = 0;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "run=a") HOST(9, 0ms, 5ms, "run=a"));
	snprintf(own, sizeof(own), "%s/host-1.gst", dir);
	snprintf(path, sizeof(path), "%s/host-9.host.gst", dir);
	assert_int_equal(chmod(dir, 0755) | chmod(own, 0644) | chmod(path, 0), 0);
	if (root && seteuid(65534) == 0) { /* root's are none of this user's run */
		others = run_open_id(&r, dir, "a", &e);
		n_others = r.n_missing;
		run_close(&r);
		assert_int_equal(seteuid(0) | chown(path, 65534, (gid_t)-1), 0);
	}
	refused = root ? seteuid(65534) == 0 : access(path, R_OK) != 0;
	kind = refused ? run_open_id(&r, dir, "a", &e) : ERR_NONE;
	if (root)
		assert_int_equal(seteuid(0), 0);
	remove_all();
	if (!refused)
		skip(); /* no other user to be here */
	assert_int_equal(others, ERR_NONE);
	assert_int_equal(n_others, 0);
	assert_int_equal(kind, ERR_NONE);
	assert_int_equal(r.n_traces, 1);
	assert_int_equal(r.n_hosts, 0);
	assert_int_equal(r.n_missing, 1);
	assert_non_null(strstr(r.missing[0].text, "cannot open: Permission denied"));
	run_close(&r);
}

static void host_probes_by_the_run_s_id(void **state)
{
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "run=a") HOST(1, 0ms, 5ms, "run=a") HOST(2, 0ms, 5ms, "run=b")
			  HOST(3, 0ms, 5ms, ""));
	assert_int_equal(run_open_id(&r, dir, "a", &e), ERR_NONE);
	assert_int_equal(r.n_traces, 1);
	assert_int_equal(r.n_hosts, 1);
	assert_int_equal(r.hosts[0]->header.pid, 1);
	run_close(&r);
	assert_int_equal(run_open_id(&r, dir, "b", &e), ERR_NONE);
	assert_int_equal(r.n_traces, 0);
	assert_int_equal(r.n_hosts, 0);
	run_close(&r);
	remove_all();
}

static void host_probes_alone_are_no_run(void **state)
{
	char path[128], *paths[] = { path, path };
	struct run r;
	struct error e;

	(void)state;
	write_all(HOST(1, 0ms, 5ms, ""));
	assert_int_equal(open_dir(&r, RUN_ALL, &e), ERR_FORMAT);
	assert_string_equal(e.text, "only host probes in this directory, and no recording of a process");
	snprintf(path, sizeof(path), "%s/host-1.host.gst", dir);
	assert_int_equal(run_open(&r, paths, 2, RUN_LAST, &e), ERR_FORMAT);
	assert_string_equal(e.text, "only host probes, and no recording of a process");
	assert_string_equal(e.file, path);
	remove_all();
}

static void host_probes_alone_are_told_of_where_that_is_asked_for(void **state)
{
	char path[128], *paths[] = { path, path, dir };
	struct run r;
	struct error e;

	(void)state;
	write_all(HOST(1, 0ms, 5ms, "") HOST(2, 0ms, 5ms, "run=b"));
	snprintf(path, sizeof(path), "%s/host-1.host.gst", dir);
	for (size_t n = 1; n <= 3; n++) {
		assert_int_equal(run_open_any(&r, paths, n, RUN_ALL, &e), ERR_NONE);
		assert_int_equal(r.n_traces, 0);
		assert_int_equal(r.count, 0);
		assert_int_equal(r.n_hosts, n == 3 ? 2 : 1);
		run_close(&r);
	}
	assert_int_equal(run_open_any(&r, paths, 1, 0, &e), ERR_USAGE);
	assert_string_equal(e.text, "there is no run 0; there are only host probes");
	assert_int_equal(run_open_any(&r, paths, 0, RUN_ALL, &e), ERR_USAGE);
	remove_all();
}

static void files_by_name_are_a_run_too(void **state)
{
	char path[2][128], *paths[] = { path[0], path[1], path[1] };
	struct run r;
	struct error e;

	(void)state;
	write_all(WORK(1, 0ms, 5ms, "") HOST(1, 0ms, 5ms, ""));
	snprintf(path[0], sizeof(path[0]), "%s/host-1.host.gst", dir);
	snprintf(path[1], sizeof(path[1]), "%s/host-1.gst", dir);
	assert_int_equal(run_open(&r, paths, 3, RUN_LAST, &e), ERR_NONE);
	assert_int_equal(r.n_traces, 1);
	assert_int_equal(r.n_hosts, 1);
	run_close(&r);
	remove_all();
}

/* ---- memory ----------------------------------------------------------------------------------------- */

static void any_allocation_may_fail(void **state)
{
	long n = 0;
	bool whole = false;

	(void)state;
	write_all(
		WORK(1, 0ms, 5ms,
		     "") "device 0\nthread 9\nedge 1 t=1ms..2ms stream=1 covers=1 fired=2ms done=3ms\n"
			 "sync-stream t=2ms..3ms stream=1 seq=1\nrecord t=3ms..3ms stream=1 seq=1 event=5\n"
			 "sync-event t=3ms..4ms event=5\nwait t=4ms..4ms stream=1 seq=1 event=5\n"
			 "hostfn t=4ms..4ms stream=1 seq=2\npoll t=4ms..4ms stream=1 covers=2 ready=0\n"
			 "sample t=4ms syscall=0 file=/x fd=file\nusage t=4ms cpu=1ms\n"
			 "node 1 handle=1 kernel=a\nnode 1 handle=2 type=record event=5\ndepends 1 from=1 to=2\n"
			 "structure 1 t=4ms\nstructure 2 t=4ms base=1 flags=same\nstream 2\n"
			 "graph t=4ms..4ms stream=1 seq=3 structure=1\nchange t=4ms..4ms structure=1 node=1 flags=off\n"
			 "graph t=4ms..4ms stream=2 seq=1 structure=1\ngraph t=5ms..5ms stream=1 seq=4 structure=2\n"
			 "launch t=5ms..5ms stream=1 seq=5\nsync-context t=5ms..6ms context=7\n" WORK(2, 1ms, 6ms, "")
				 HOST(1, 0ms, 6ms, "") "wait 1 t=1ms..2ms file=/x\n");
	while (!whole) {
		struct run r;
		struct timeline t;
		struct error e = { 0 };
		enum err_kind kind;

		fail_at = ++n;
		kind = open_dir(&r, RUN_LAST, &e);
		if (!kind) {
			kind = timeline_build(&t, &r, &e);
			whole = !kind && fail_at > 0;
			if (!kind)
				timeline_free(&t);
			run_close(&r);
		}
		fail_at = 0;
		if (kind && kind != ERR_SYSTEM)
			fail_msg("allocation %ld: kind %d, %s", n, kind, e.text);
		assert_true(!kind == !e.kind || kind);
	}
	assert_true(n > 40);
	remove_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlapping_lifetimes_are_one_run_and_the_last_is_taken),
		cmocka_unit_test(a_run_id_holds_processes_together_and_apart),
		cmocka_unit_test(runs_before_and_after_a_reboot_stay_apart),
		cmocka_unit_test(every_run_is_listed_whichever_is_taken),
		cmocka_unit_test(a_run_is_found_by_its_id),
		cmocka_unit_test(nothing_to_read_is_an_error),
		cmocka_unit_test(a_host_file_is_of_the_run_that_it_watched),
		cmocka_unit_test(host_probes_that_cannot_be_read),
		cmocka_unit_test(host_probes_that_do_not_say_whose_they_are),
		cmocka_unit_test(host_probes_that_may_not_be_read),
		cmocka_unit_test(host_probes_by_the_run_s_id),
		cmocka_unit_test(host_probes_alone_are_no_run),
		cmocka_unit_test(host_probes_alone_are_told_of_where_that_is_asked_for),
		cmocka_unit_test(files_by_name_are_a_run_too),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
