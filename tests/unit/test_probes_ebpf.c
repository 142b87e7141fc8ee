/* SPDX-License-Identifier: BSD-2-Clause */
/* What the eBPF probes do where the kernel did not tell them of something: by taking it from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/host_trace.h"
#include "probes/host_segments.h"
#include "probes/ebpf.h"
#include "probes/ebpf_tracked.h"

#pragma weak ebpf_state /* in a build without eBPF there is none */

#define MS 1000000ull
#define WAIT_NS 200000

static struct {
	char dir[64];
	pid_t child;
	int to, from; /* a byte to it is answered with another */
	struct host_file *file;
	void *state;
} run;

/* ---- a program that answers ------------------------------------------------------------------------------------------- */

static void answer(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1)
		if (write(to, &byte, 1) != 1)
			break;
	_exit(0);
}

static void start_child(void)
{
	int there[2], back[2];

	assert_int_equal(pipe(there) | pipe(back), 0);
	run.child = fork();
	assert_true(run.child >= 0);
	if (!run.child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(there[1]);
		close(back[0]);
		answer(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	run.to = there[1];
	run.from = back[0];
}

static void ask(void)
{
	char byte = 1;

	assert_int_equal(write(run.to, &byte, 1), 1);
	assert_int_equal(read(run.from, &byte, 1), 1);
}

static void end_child(void)
{
	close(run.to);
	close(run.from);
	assert_int_equal(waitpid(run.child, NULL, 0), run.child);
	run.child = 0;
}

/* ---- following it ----------------------------------------------------------------------------------------------------- */

static void skip_where_refused(const char *why)
{
	if (strstr(why, "cannot be loaded") && !strstr(why, "not permitted"))
		fail_msg("%s", why);
	print_message("not by eBPF here: %s\n", why);
	end_child();
	skip();
}

static void follow(void)
{
	struct probes_settings s = { .dir = run.dir, .limit = 1 << 26, .wait_ns = WAIT_NS };
	char why[256] = "";

	if (!backend_ebpf || geteuid() != 0) {
		print_message("%s\n", backend_ebpf ? "needs root" : "this build has no eBPF");
		skip();
	}
	start_child();
	s.root = run.child;
	assert_int_equal(host_file_create(&run.file, run.dir, run.child, s.limit), 0);
	if (!backend_ebpf->start(&run.state, &s, run.file, why)) {
		host_file_discard(run.file);
		skip_where_refused(why);
	}
}

static struct host_trace *what_was_written(void)
{
	struct host_trace *t;
	char path[4096];
	struct error e;

	backend_ebpf->stop(run.state);
	snprintf(path, sizeof(path), "%s", host_file_path(run.file));
	host_file_finish(run.file);
	assert_int_equal(host_trace_open(&t, path, 0, &e), ERR_NONE);
	return t;
}

static bool lives_for(unsigned ms)
{
	bool lives = true;

	for (uint64_t until = host_now_ns() + ms * MS; lives && host_now_ns() < until;) {
		assert_true(backend_ebpf->poll(run.state, 20));
		lives = backend_ebpf->alive(run.state);
	}
	return lives;
}

/* ---- what the programs know of a task --------------------------------------------------------------------------------- */

static long bpf(int what, union bpf_attr *attr)
{
	return syscall(SYS_bpf, what, attr, sizeof(*attr));
}

/* This process's own: others may follow other trees. */
static int map_of_tasks(void)
{
	for (int fd = 3; fd < 256; fd++) {
		struct bpf_map_info info = { 0 };
		union bpf_attr attr = {
			.info = { .bpf_fd = (uint32_t)fd, .info_len = sizeof(info), .info = (uintptr_t)&info }
		};

		if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0 && info.type == BPF_MAP_TYPE_TASK_STORAGE) {
			assert_int_equal(info.value_size, sizeof(struct tracked));
			return fd;
		}
	}
	fail_msg("no map of tasks");
	return -1;
}

static struct tracked tracked_now(int map, int pidfd)
{
	struct tracked t = { 0 };
	union bpf_attr attr = { .map_fd = (uint32_t)map, .key = (uintptr_t)&pidfd, .value = (uintptr_t)&t };

	assert_int_equal(bpf(BPF_MAP_LOOKUP_ELEM, &attr), 0);
	return t;
}

/* Once it waits in its read, and is not only on its way there: on a busy machine it may be kept from its CPU before. A switch of a virtual
 * machine's is at times not told of; it is made to run again then. */
static struct tracked waiting(int map, int pidfd)
{
	struct tracked t = tracked_now(map, pidfd);
	uint64_t before = 0;

	for (unsigned i = 0; i < 500 && (!t.in || t.out <= t.in || t.flags & GST_WAIT_PREEMPTED || t.out != before);
	     i++) {
		before = t.out;
		if (i % 100 == 99)
			ask();
		usleep(10000);
		t = tracked_now(map, pidfd);
	}
	assert_true(t.in && t.out > t.in);
	return t;
}

static void set_tracked(int map, int pidfd, const struct tracked *t)
{
	union bpf_attr attr = {
		.map_fd = (uint32_t)map, .key = (uintptr_t)&pidfd, .value = (uintptr_t)t, .flags = BPF_EXIST
	};

	assert_int_equal(bpf(BPF_MAP_UPDATE_ELEM, &attr), 0);
}

/* ---- the tests -------------------------------------------------------------------------------------------------------- */

/* Its wait is on record nevertheless, from when it had run as long as it had. */
static void a_switch_that_was_not_told_of(void **state)
{
	const struct host_wait *found = NULL;
	const struct host_task *task;
	struct tracked before, t;
	struct host_trace *trace;
	uint64_t woken;
	int map, pidfd;

	(void)state;
	follow();
	map = map_of_tasks();
	pidfd = (int)syscall(SYS_pidfd_open, run.child, 0);
	assert_true(pidfd >= 0);
	ask(); /* it has been given a CPU, and has left it, under our eyes */
	before = t = waiting(map, pidfd);
	t.out = 0;
	set_tracked(map, pidfd, &t);
	usleep(120000);
	woken = host_now_ns();
	ask();
	end_child();
	close(pidfd);
	lives_for(40);
	trace = what_was_written();
	task = &trace->tasks[host_trace_task(trace, (uint32_t)before.tid, (int64_t)woken)];
	for (size_t i = 0; i < task->n_waits; i++)
		if (task->waits[i].what.flags & GST_WAIT_LOOKED)
			found = &task->waits[i];
	assert_non_null(found);
	assert_in_range(found->out_ns, before.in, before.out + MS);
	assert_in_range(found->wake_ns, woken, found->in_ns);
	assert_true(found->in_ns - found->out_ns >= (int64_t)(120 * MS));
	assert_int_equal(found->by, GST_WOKEN_TASK);
	assert_int_equal(found->what.syscall, SYS_read);
	assert_int_equal(found->what.fd_kind, GST_FD_PIPE);
	assert_false(found->what.flags & (GST_WAIT_PREEMPTED | GST_WAIT_DISK));
	host_trace_free(trace);
}

/* Of a task that ended unseen the count is never right again: we see that nobody is there. */
static void end_unseen(void)
{
	__atomic_fetch_add(&ebpf_state(run.state)->live, 1, __ATOMIC_RELAXED);
	assert_true(lives_for(1300)); /* over a look */
	end_child();
	assert_true(ebpf_state(run.state)->live > 0);
	assert_false(lives_for(20000));
	host_trace_free(what_was_written());
}

static void an_end_that_was_not_told_of(void **state)
{
	(void)state;
	follow();
	end_unseen();
}

/* As older kernels do once the privileges have been given up. For good: the last test. */
static void forbid_new_looks(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_ITER_CREATE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void an_end_that_is_seen_by_a_look_opened_before(void **state)
{
	const struct ebpf *e;

	(void)state;
	follow();
	e = run.state;
	assert_int_equal(e->n_spare, EBPF_SPARE);
	forbid_new_looks();
	end_unseen();
}

/* In the counters at once, for a collector may be killed; and no loss twice. */
static void what_the_kernel_had_no_room_for(void **state)
{
	const struct gst_counters *c;
	struct host_trace *t;

	(void)state;
	follow();
	__atomic_fetch_add(&ebpf_state(run.state)->lost, 7, __ATOMIC_RELAXED);
	host_file_count_dropped(run.file, 0);
	lives_for(10);
	c = host_file_counters(run.file);
	assert_int_equal(c->records_dropped, 7);
	assert_int_equal(c->dropped_busy, 7);
	end_child();
	t = what_was_written();
	assert_int_equal(t->probes.events_lost, 7);
	assert_int_equal(t->counters.records_dropped, 0);
	host_trace_free(t);
}

static int set_up(void **state)
{
	(void)state;
	memset(&run, 0, sizeof(run));
	snprintf(run.dir, sizeof(run.dir), "/tmp/probes-ebpf-XXXXXX");
	return mkdtemp(run.dir) ? 0 : 1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	if (run.child > 0)
		kill(run.child, SIGKILL);
	snprintf(command, sizeof(command), "rm -rf %s", run.dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_switch_that_was_not_told_of, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_end_that_was_not_told_of, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_the_kernel_had_no_room_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_end_that_is_seen_by_a_look_opened_before, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
