/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a chain → its cause, and the words for its proof: on hand-made chains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cause_chain_evidence.h"
#include "cause_chain_file.h"
#include "cause_chain_leaf.h"
#include "cause_chain_requests.h"
#include "cause_chain_words.h"

#define MS 1000000
#define NFS 0x6969
#define TMPFS 0x01021994
#define EXT4 0xef53
#define PROC 0x9fa0

enum { MAIN, PIN, WORKER, COMPILER, KWORKER, STRANGER, TASKS };

static struct host_task tasks[TASKS] = {
	[MAIN] = { .tid = 10, .pid = 10, .name = "python3" },
	[PIN] = { .tid = 11, .pid = 10, .name = "pin" },
	[WORKER] = { .tid = 20, .pid = 20, .own_tid = 2, .own_pid = 2, .name = "pt_data_worker" },
	[COMPILER] = { .tid = 30, .pid = 30, .name = "ptxas" },
	[KWORKER] = { .tid = 40, .pid = 40, .flags = GST_TASK_KERNEL, .name = "kworker/0:1" },
	[STRANGER] = { .tid = 50, .pid = 50, .flags = GST_TASK_STRANGER, .name = "redis" },
};

static struct host_trace host = { .path = "run.host.gst", .tasks = tasks, .n_tasks = TASKS };

static struct host_wait waits[CHAIN_DEPTH];
static struct chain_step steps[CHAIN_DEPTH];
static struct chain_segment segment;

static void begin(void)
{
	segment = (struct chain_segment){ .begin_ns = 10 * MS, .end_ns = 20 * MS, .steps = steps };
}

static struct host_what *step(int task, enum chain_state state)
{
	struct chain_step *s = &steps[segment.n_steps];
	struct host_wait *w = &waits[segment.n_steps++];

	*w = (struct host_wait){ .out_ns = 10 * MS,
				 .wake_ns = 20 * MS,
				 .in_ns = 20 * MS,
				 .byte = 4176,
				 .what = { .syscall = -2, .offset = UINT64_MAX } };
	*s = (struct chain_step){
		.task = &tasks[task], .begin_ns = 10 * MS, .end_ns = 20 * MS, .state = state, .wait = w
	};
	if (state == CHAIN_ON_CPU || state == CHAIN_UNKNOWN)
		s->wait = NULL;
	return &w->what;
}

static void file_step(int task, enum chain_state state, const char *file, uint32_t fs)
{
	struct host_what *w = step(task, state);

	w->file = file;
	w->fs = fs;
	w->fd_kind = GST_FD_FILE;
	w->inode = 77;
	w->offset = 4096;
	w->bytes = 1000;
}

static void end_step(int task, enum chain_state state, const char *file, uint8_t fd_kind)
{
	struct host_what *w = step(task, state);

	w->file = file;
	w->fd_kind = fd_kind;
}

static enum cause_id cause_of(bool copied_out)
{
	struct chain whole = { .at = &segment, .n = 1 };
	struct chain_about about = { .host = &host,
				     .whole = &whole,
				     .copied_out_ns = copied_out ? segment.begin_ns : INT64_MAX };

	return chain_cause(&segment, &about);
}

static enum cause_id of_file(int task, enum chain_state state, const char *file, uint32_t fs)
{
	begin();
	file_step(task, state, file, fs);
	return cause_of(false);
}

static void test_reads_by_what_is_read(void **state)
{
	(void)state;
	assert_int_equal(of_file(MAIN, CHAIN_FILE_READ, "/data/a.tar", EXT4), CAUSE_input_storage);
	assert_int_equal(of_file(MAIN, CHAIN_FAULT, "/data/a.bin", EXT4), CAUSE_input_storage);
	assert_int_equal(of_file(MAIN, CHAIN_FILE_READ, "/data/a.tar", NFS), CAUSE_input_network);
	assert_int_equal(of_file(MAIN, CHAIN_FAULT, "/data/a.tar", 0x65735546), CAUSE_input_network);
	assert_int_equal(of_file(MAIN, CHAIN_FAULT, "/dev/shm/batch", TMPFS), CAUSE_memory_stall);
	assert_int_equal(of_file(MAIN, CHAIN_FILE_READ, "/dev/nvme0n1", TMPFS), CAUSE_input_storage);
	assert_int_equal(of_file(MAIN, CHAIN_FILE_READ, "/proc/self/maps", PROC), CAUSE_unexplained);
	assert_int_equal(of_file(MAIN, CHAIN_FILE_READ, "/usr/lib/libtorch.so.2", EXT4), CAUSE_module_load);
	assert_int_equal(of_file(MAIN, CHAIN_FILE_READ, "/usr/lib/python3/json/decoder.py", EXT4), CAUSE_module_load);
	assert_int_equal(of_file(MAIN, CHAIN_FILE_READ, "/v/site-packages/torch/lib/x.a", EXT4), CAUSE_module_load);
	assert_int_equal(of_file(MAIN, CHAIN_FILE_READ, "/data/stack/lib/train.py", EXT4), CAUSE_input_storage);
	assert_int_equal(of_file(MAIN, CHAIN_FILE_READ, "/data/clips/1.a", EXT4), CAUSE_input_storage);
	assert_int_equal(of_file(MAIN, CHAIN_FILE_READ, NULL, EXT4), CAUSE_input_storage);
	assert_int_equal(of_file(MAIN, CHAIN_FILE_READ, "/data/a.solution", EXT4), CAUSE_input_storage);
}

static void test_code_thrown_out_for_want_of_memory(void **state)
{
	struct host_pressure p = { 0,          100 * MS,   UINT32_MAX, 20000,     UINT32_MAX,
				   UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };
	struct host_reclaim r = { .begin_ns = 12 * MS, .end_ns = 13 * MS, .pages = 5, .group = true };

	(void)state;
	assert_int_equal(of_file(MAIN, CHAIN_FAULT, "/usr/lib/libtorch.so", EXT4), CAUSE_module_load);
	host.pressure = &p;
	host.n_pressure = 1;
	assert_int_equal(of_file(MAIN, CHAIN_FAULT, "/usr/lib/libtorch.so", EXT4), CAUSE_memory_stall);
	p.memory_some_us = 900; /* below a hundredth */
	assert_int_equal(of_file(MAIN, CHAIN_FAULT, "/usr/lib/libtorch.so", EXT4), CAUSE_module_load);
	host.n_pressure = 0;
	tasks[MAIN].reclaims = &r;
	tasks[MAIN].n_reclaims = 1;
	assert_int_equal(of_file(MAIN, CHAIN_FAULT, "/usr/lib/libtorch.so", EXT4), CAUSE_memory_stall);
	assert_int_equal(of_file(MAIN, CHAIN_FAULT, "/data/a.bin", EXT4), CAUSE_input_storage);
	tasks[MAIN].n_reclaims = 0;
}

static void test_writes(void **state)
{
	(void)state;
	assert_int_equal(of_file(MAIN, CHAIN_FILE_WRITE, "/out/log", EXT4), CAUSE_output_io);
	assert_int_equal(of_file(MAIN, CHAIN_FLUSH, "/out/log", EXT4), CAUSE_checkpoint);
	assert_int_equal(cause_of(false), CAUSE_checkpoint);
	begin();
	file_step(MAIN, CHAIN_FILE_WRITE, "/out/model.pt", EXT4);
	waits[0].what.bytes = 1 << 20;
	assert_int_equal(cause_of(false), CAUSE_checkpoint);
	waits[0].what.bytes = (1 << 20) - 1;
	assert_int_equal(cause_of(false), CAUSE_output_io);
	assert_int_equal(cause_of(true), CAUSE_output_io);
	begin();
	end_step(MAIN, CHAIN_PIPE_WRITE, "pipe:[3]", GST_FD_PIPE);
	assert_int_equal(cause_of(false), CAUSE_output_io);
	step(WORKER, CHAIN_ON_CPU); /* the reader is slow */
	assert_int_equal(cause_of(false), CAUSE_output_io);
}

static void test_a_write_that_is_flushed_later_is_part_of_saving(void **state)
{
	struct chain_step leaves[2];
	struct host_wait both[2];
	struct chain_segment two[2] = { { .begin_ns = 0, .end_ns = 1, .steps = &leaves[0], .n_steps = 1 },
					{ .begin_ns = 1, .end_ns = 2, .steps = &leaves[1], .n_steps = 1 } };
	struct chain whole = { .at = two, .n = 2 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	for (int i = 0; i < 2; i++) {
		both[i] = (struct host_wait){
			.what = { .syscall = -2, .file = "/out/x", .inode = 5, .dev = 1, .bytes = 100 }
		};
		leaves[i] = (struct chain_step){ .task = &tasks[MAIN],
						 .state = i ? CHAIN_FLUSH : CHAIN_FILE_WRITE,
						 .wait = &both[i] };
	}
	assert_int_equal(chain_cause(&two[0], &about), CAUSE_checkpoint);
	both[1].what.inode = 6;
	assert_int_equal(chain_cause(&two[0], &about), CAUSE_output_io);
}

static enum cause_id of_end(enum chain_state state, const char *file, uint8_t fd_kind)
{
	begin();
	end_step(MAIN, state, file, fd_kind);
	return cause_of(false);
}

static void test_descriptors_whose_other_end_is_not_on_record(void **state)
{
	(void)state;
	assert_int_equal(of_end(CHAIN_SOCKET_READ, "tcp:10.0.0.1:443", GST_FD_SOCKET), CAUSE_input_network);
	assert_int_equal(of_end(CHAIN_SOCKET_READ, "socket:[5]", GST_FD_SOCKET), CAUSE_input_network);
	assert_int_equal(of_end(CHAIN_SOCKET_READ, NULL, GST_FD_SOCKET), CAUSE_input_network);
	assert_int_equal(of_end(CHAIN_SOCKET_READ, "unix:[5]:[6]", GST_FD_SOCKET), CAUSE_input_wait);
	assert_int_equal(of_end(CHAIN_PIPE_READ, "pipe:[5]", GST_FD_PIPE), CAUSE_input_wait);
	assert_int_equal(of_end(CHAIN_POLL, "tcp:10.0.0.1:443", GST_FD_SOCKET), CAUSE_input_network);
	assert_int_equal(of_end(CHAIN_POLL, "pipe:[5]", GST_FD_PIPE), CAUSE_input_wait);
	assert_int_equal(of_end(CHAIN_POLL, NULL, GST_FD_NONE), CAUSE_unexplained);
	assert_int_equal(of_end(CHAIN_SOCKET_WRITE, "tcp:10.0.0.1:443", GST_FD_SOCKET), CAUSE_output_io);
}

static void test_a_waker_of_whom_nothing_is_known(void **state)
{
	(void)state;
	begin();
	end_step(MAIN, CHAIN_PIPE_READ, "pipe:[5]", GST_FD_PIPE);
	step(STRANGER, CHAIN_UNKNOWN);
	assert_int_equal(cause_of(false), CAUSE_input_wait);
	begin();
	step(MAIN, CHAIN_LOCK);
	step(STRANGER, CHAIN_UNKNOWN);
	assert_int_equal(cause_of(false), CAUSE_unexplained);
	begin();
	step(MAIN, CHAIN_UNKNOWN);
	assert_int_equal(cause_of(false), CAUSE_unexplained);
}

static void test_states_of_one_thread(void **state)
{
	static const struct {
		enum chain_state state;
		enum cause_id cause;
	} rows[] = { { CHAIN_ON_CPU, CAUSE_host_compute },     { CHAIN_QUEUED, CAUSE_cpu_contention },
		     { CHAIN_THROTTLED, CAUSE_cpu_throttled }, { CHAIN_SLEEP, CAUSE_host_sleep },
		     { CHAIN_SWAP, CAUSE_memory_stall },       { CHAIN_RECLAIM, CAUSE_memory_stall },
		     { CHAIN_LOCK, CAUSE_unexplained },        { CHAIN_CHILD, CAUSE_unexplained },
		     { CHAIN_OTHER, CAUSE_unexplained } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin();
		step(MAIN, rows[i].state);
		assert_int_equal(cause_of(false), rows[i].cause);
		begin(); /* a chain ends there: the same, but for what it computes */
		step(MAIN, CHAIN_LOCK);
		step(WORKER, rows[i].state);
		assert_int_equal(cause_of(false), i ? rows[i].cause : CAUSE_input_preprocess);
	}
}

static void test_who_computes(void **state)
{
	(void)state;
	begin();
	step(MAIN, CHAIN_LOCK);
	step(PIN, CHAIN_ON_CPU);
	assert_int_equal(cause_of(false), CAUSE_host_lock);
	begin();
	step(MAIN, CHAIN_OTHER); /* an eventfd */
	step(PIN, CHAIN_ON_CPU);
	assert_int_equal(cause_of(false), CAUSE_host_compute);
	begin();
	step(MAIN, CHAIN_LOCK);
	step(PIN, CHAIN_UNBORN);
	step(PIN, CHAIN_ON_CPU);
	assert_int_equal(cause_of(false), CAUSE_host_compute);
	begin();
	step(MAIN, CHAIN_LOCK);
	end_step(PIN, CHAIN_PIPE_READ, "pipe:[5]", GST_FD_PIPE);
	step(WORKER, CHAIN_ON_CPU);
	assert_int_equal(cause_of(false), CAUSE_input_preprocess);
	begin();
	end_step(MAIN, CHAIN_PIPE_READ, "pipe:[5]", GST_FD_PIPE);
	step(PIN, CHAIN_ON_CPU);
	assert_int_equal(cause_of(false), CAUSE_input_preprocess);
	begin();
	step(MAIN, CHAIN_OTHER);
	step(KWORKER, CHAIN_ON_CPU);
	assert_int_equal(cause_of(false), CAUSE_unexplained);
	begin();
	step(MAIN, CHAIN_CHILD);
	step(COMPILER, CHAIN_ON_CPU);
	assert_int_equal(cause_of(false), CAUSE_module_load);
	begin();
	end_step(MAIN, CHAIN_PIPE_READ, "pipe:[5]", GST_FD_PIPE);
	file_step(COMPILER, CHAIN_FILE_READ, "/tmp/k.ii", EXT4);
	assert_int_equal(cause_of(false), CAUSE_module_load);
	begin();
	step(MAIN, CHAIN_CHILD);
	step(COMPILER, CHAIN_QUEUED);
	assert_int_equal(cause_of(false), CAUSE_cpu_contention);
	begin();
	end_step(MAIN, CHAIN_SOCKET_READ, "tcp:10.0.0.1:80", GST_FD_SOCKET);
	step(WORKER, CHAIN_SLEEP);
	assert_int_equal(cause_of(false), CAUSE_input_network);
	begin();
	step(MAIN, CHAIN_LOCK);
	file_step(WORKER, CHAIN_FILE_READ, "/data/a", EXT4);
	assert_int_equal(cause_of(false), CAUSE_input_storage);
}

static enum cause_id over(const char *socket, int task, enum chain_state state)
{
	begin();
	end_step(MAIN, CHAIN_SOCKET_READ, socket, GST_FD_SOCKET);
	step(task, state);
	return cause_of(false);
}

static void test_sockets_by_who_is_at_the_other_end(void **state)
{
	static const char *const loopback[] = { "tcp:127.0.0.1:80", "udp:[::1]:53", "tcp:[::ffff:127.0.0.1]:80" };

	(void)state;
	for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++) {
		assert_int_equal(over(loopback[i], WORKER, CHAIN_SLEEP), CAUSE_host_sleep);
		assert_int_equal(over(loopback[i], WORKER, CHAIN_ON_CPU), CAUSE_input_preprocess);
		assert_int_equal(over(loopback[i], WORKER, CHAIN_UNKNOWN), CAUSE_input_wait);
		assert_int_equal(over(loopback[i], STRANGER, CHAIN_SLEEP), CAUSE_input_network);
		assert_int_equal(over(loopback[i], STRANGER, CHAIN_UNKNOWN), CAUSE_input_network);
	}
	assert_int_equal(over("unix:[5]:[6]", STRANGER, CHAIN_SLEEP), CAUSE_host_sleep);
	assert_int_equal(over("socket:[5]", STRANGER, CHAIN_SLEEP), CAUSE_input_network);
	assert_int_equal(over("tcp:[::1234]:80", WORKER, CHAIN_SLEEP), CAUSE_input_network);
	assert_int_equal(of_end(CHAIN_SOCKET_READ, "netlink:[5]", GST_FD_SOCKET), CAUSE_unexplained);
}

static bool is_proven(enum cause_id cause)
{
	struct chain whole = { .at = &segment, .n = 1 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	assert_int_equal(chain_cause(&segment, &about), cause);
	return chain_proves(&segment, &about, cause);
}

static void test_what_a_socket_proves(void **state)
{
	struct chain_about about = { .host = &host, .copied_out_ns = INT64_MAX, .communicates = true };

	(void)state;
	of_end(CHAIN_SOCKET_READ, "tcp:10.0.0.1:443", GST_FD_SOCKET);
	assert_true(is_proven(CAUSE_input_network));
	assert_false(chain_proves(&segment, &about, CAUSE_input_network)); /* a communicator's, maybe */
	of_end(CHAIN_SOCKET_READ, "tcp:127.0.0.1:443", GST_FD_SOCKET);
	assert_false(is_proven(CAUSE_input_network));
	of_end(CHAIN_SOCKET_READ, "tcp:0.0.0.0:0", GST_FD_SOCKET);
	assert_false(is_proven(CAUSE_input_network));
	of_end(CHAIN_SOCKET_READ, NULL, GST_FD_SOCKET);
	assert_false(is_proven(CAUSE_input_network));
	of_end(CHAIN_SOCKET_READ, "unix:[5]:[6]", GST_FD_SOCKET);
	assert_true(is_proven(CAUSE_input_wait));
	of_file(MAIN, CHAIN_FILE_READ, "/nfs/a", NFS);
	assert_true(is_proven(CAUSE_input_network));
}

static void test_what_a_file_proves(void **state)
{
	(void)state;
	of_file(MAIN, CHAIN_FAULT, "/data/a", EXT4);
	assert_true(is_proven(CAUSE_input_storage));
	of_file(MAIN, CHAIN_FAULT, NULL, EXT4);
	assert_false(is_proven(CAUSE_input_storage));
	of_file(MAIN, CHAIN_FILE_READ, "/srv/train.py", EXT4);
	assert_false(is_proven(CAUSE_input_storage));
	of_file(MAIN, CHAIN_FILE_WRITE, NULL, EXT4);
	assert_true(is_proven(CAUSE_output_io)); /* its inode is known */
	waits[0].what.inode = 0;
	assert_false(is_proven(CAUSE_output_io));
	of_file(MAIN, CHAIN_FLUSH, NULL, EXT4);
	waits[0].what.inode = 0;
	assert_false(is_proven(CAUSE_checkpoint));
	begin();
	step(MAIN, CHAIN_SWAP)->flags = GST_WAIT_FAULT | GST_WAIT_ANONYMOUS;
	assert_true(is_proven(CAUSE_memory_stall));
}

/* link: what the submitting thread waited in; then whoever it is was on a CPU. */
static struct host_what *computed_behind(enum chain_state link, int task)
{
	struct host_what *w;

	begin();
	w = step(MAIN, link);
	step(task, CHAIN_ON_CPU);
	return w;
}

static void test_what_another_s_computing_proves(void **state)
{
	(void)state;
	host.header.machine = GST_MACHINE_X86_64;
	computed_behind(CHAIN_PIPE_READ, WORKER);
	assert_true(is_proven(CAUSE_input_preprocess));
	computed_behind(CHAIN_POLL, WORKER);
	assert_true(is_proven(CAUSE_input_preprocess));
	computed_behind(CHAIN_LOCK, WORKER)->syscall = 202;
	assert_true(is_proven(CAUSE_input_preprocess));
	computed_behind(CHAIN_LOCK, WORKER)->syscall = 73; /* flock */
	assert_false(is_proven(CAUSE_input_preprocess));
	computed_behind(CHAIN_CHILD, WORKER);
	assert_false(is_proven(CAUSE_input_preprocess));
	computed_behind(CHAIN_CHILD, COMPILER);
	assert_true(is_proven(CAUSE_module_load));
	computed_behind(CHAIN_LOCK, PIN);
	assert_true(is_proven(CAUSE_host_lock));
	computed_behind(CHAIN_OTHER, PIN);
	assert_false(is_proven(CAUSE_host_compute));
	computed_behind(CHAIN_UNBORN, PIN);
	assert_true(is_proven(CAUSE_host_compute));
	begin(); /* the last link alone is not enough */
	step(MAIN, CHAIN_CHILD);
	end_step(WORKER, CHAIN_PIPE_READ, "pipe:[5]", GST_FD_PIPE);
	step(STRANGER, CHAIN_ON_CPU);
	assert_false(is_proven(CAUSE_input_preprocess));
}

static void test_what_a_sum_of_short_waits_proves(void **state)
{
	struct host_stalls sum = { .begin_ns = 10 * MS,
				   .end_ns = 20 * MS,
				   .blocked_ns = 4 * MS,
				   .count = 9,
				   .what = { .syscall = 0, .inode = 7, .file = "/data/a", .offset = 0 } };

	(void)state;
	begin();
	step(MAIN, CHAIN_FILE_READ);
	steps[0].wait = NULL;
	steps[0].stalls = &sum;
	assert_true(is_proven(CAUSE_input_storage));
	sum.end_ns++;
	assert_false(is_proven(CAUSE_input_storage));
	steps[0].stalls = NULL; /* nor is what it computed in between */
	steps[0].state = CHAIN_ON_CPU;
	assert_true(is_proven(CAUSE_host_compute));
	tasks[MAIN].stalls = &sum;
	tasks[MAIN].n_stalls = 1;
	assert_false(is_proven(CAUSE_host_compute));
	sum.blocked_ns = MS; /* a tenth of it */
	assert_true(is_proven(CAUSE_host_compute));
	tasks[MAIN].n_stalls = 0;
}

/* Three writes; the second and the third are behind the copy. */
static void test_what_is_saved_of_a_copy(void **state)
{
	struct chain_step leaves[3];
	struct host_wait all[3];
	struct chain_segment three[3];
	struct chain whole = { .at = three, .n = 3 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = 1 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		all[i] = (struct host_wait){ .what = { .syscall = 1, .file = "/out/x", .inode = 5, .bytes = 1 << 19 } };
		leaves[i] = (struct chain_step){ .task = &tasks[MAIN], .state = CHAIN_FILE_WRITE, .wait = &all[i] };
		three[i] = (struct chain_segment){ .begin_ns = i, .end_ns = i + 1, .steps = &leaves[i], .n_steps = 1 };
	}
	assert_int_equal(chain_cause(&three[0], &about), CAUSE_output_io);
	assert_int_equal(chain_cause(&three[1], &about), CAUSE_checkpoint);
	assert_int_equal(chain_cause(&three[2], &about), CAUSE_checkpoint);
	all[2].what.bytes--;
	assert_int_equal(chain_cause(&three[1], &about), CAUSE_output_io);
	all[2].what.bytes++;
	leaves[2].wait = &all[1]; /* one write in two segments counts once */
	assert_int_equal(chain_cause(&three[1], &about), CAUSE_output_io);
	leaves[2].wait = &all[2];
	all[2].what.inode = 6; /* another file */
	assert_int_equal(chain_cause(&three[1], &about), CAUSE_output_io);
	all[2].what.inode = 5;
	leaves[2].task = &tasks[PIN]; /* another thread */
	assert_int_equal(chain_cause(&three[1], &about), CAUSE_checkpoint);
	leaves[2].task = &tasks[WORKER]; /* another process */
	assert_int_equal(chain_cause(&three[1], &about), CAUSE_output_io);
	about.copied_out_ns = INT64_MAX;
	leaves[2].task = &tasks[MAIN];
	assert_int_equal(chain_cause(&three[1], &about), CAUSE_output_io);
}

/* It copies what a worker made: that is no lock's holder. */
static void test_a_thread_that_carries_data(void **state)
{
	struct chain_step carry[3] = { { .task = &tasks[MAIN], .state = CHAIN_LOCK },
				       { .task = &tasks[PIN], .state = CHAIN_PIPE_READ },
				       { .task = &tasks[WORKER], .state = CHAIN_ON_CPU } };
	struct chain_segment two[2] = { { .end_ns = 1, .steps = carry, .n_steps = 3 } };
	struct chain whole = { .at = two, .n = 2 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	begin();
	step(MAIN, CHAIN_LOCK);
	step(PIN, CHAIN_ON_CPU);
	two[1] = segment;
	assert_int_equal(chain_cause(&two[1], &about), CAUSE_input_preprocess);
	carry[1].state = CHAIN_LOCK;
	assert_int_equal(chain_cause(&two[1], &about), CAUSE_host_lock);
}

/* Faults, 50 us of computing, faults; and what is saved, with more computing in between than waiting. */
static void test_what_lies_between_two_waits_for_one_thing(void **state)
{
	struct host_wait wait = { .what = { .syscall = -2, .offset = UINT64_MAX, .inode = 7, .file = "/out/x" } };
	struct chain_step leaves[4];
	struct chain_segment at[4];
	struct chain whole = { .at = at, .n = 4 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	for (int i = 0; i < 4; i++) {
		leaves[i] = (struct chain_step){ .task = &tasks[MAIN], .state = CHAIN_SWAP };
		at[i] = (struct chain_segment){
			.begin_ns = i * 50000, .end_ns = (i + 1) * 50000, .steps = &leaves[i], .n_steps = 1
		};
	}
	leaves[1].state = CHAIN_ON_CPU;
	leaves[2].state = CHAIN_QUEUED; /* is passed over */
	assert_int_equal(chain_between(&at[1], &about), CAUSE_memory_stall);
	at[1].end_ns = at[1].begin_ns + 200001;
	assert_int_equal(chain_between(&at[1], &about), CAUSE_unexplained);
	at[1].end_ns = at[1].begin_ns + 100000;
	leaves[0].state = CHAIN_FILE_READ;
	leaves[0].wait = &wait;
	assert_int_equal(chain_between(&at[1], &about), CAUSE_unexplained);
	leaves[3].state = CHAIN_FILE_READ; /* decoding between two reads is decoding */
	leaves[3].wait = &wait;
	assert_int_equal(chain_between(&at[1], &about), CAUSE_unexplained);
	leaves[3].state = CHAIN_FLUSH;
	leaves[0].state = CHAIN_FILE_WRITE;
	assert_int_equal(chain_between(&at[1], &about), CAUSE_checkpoint);
	at[1].end_ns++;
	assert_int_equal(chain_between(&at[1], &about), CAUSE_unexplained);
	at[1].end_ns--;
	leaves[3].task = &tasks[PIN];
	assert_int_equal(chain_between(&at[1], &about), CAUSE_unexplained);
	assert_int_equal(chain_between(&at[0], &about), CAUSE_unexplained); /* the first, and the last */
	assert_int_equal(chain_between(&at[3], &about), CAUSE_unexplained);
}

static void test_making_a_file_that_is_saved(void **state)
{
	struct host_wait waits_of[2] = { { .what = { .syscall = 257, .offset = UINT64_MAX } },
					 { .what = { .syscall = 74, .inode = 7 } } };
	struct chain_step leaves[2] = { { .task = &tasks[MAIN], .state = CHAIN_FILE_READ, .wait = &waits_of[0] },
					{ .task = &tasks[MAIN], .state = CHAIN_FLUSH, .wait = &waits_of[1] } };
	struct chain_segment at[2] = { { .end_ns = 1, .steps = &leaves[0], .n_steps = 1 },
				       { .begin_ns = 1, .end_ns = 2, .steps = &leaves[1], .n_steps = 1 } };
	struct chain whole = { .at = at, .n = 2 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	assert_int_equal(chain_cause(&at[0], &about), CAUSE_checkpoint);
	leaves[1].task = &tasks[PIN];
	assert_int_equal(chain_cause(&at[0], &about), CAUSE_input_storage);
}

static void test_requests_of_a_wait(void **state)
{
	struct host_request requests[] = {
		{ 9 * MS, 9 * MS, 10 * MS - 1, true, true, 77, 0, 0, HOST_NOBODY, 254 << 20, 1, 512,
		  0 }, /* before it */
		{ 11 * MS, 12 * MS, 13 * MS, true, true, 77, 4096, 8, HOST_NOBODY, 254 << 20, 1, 4096, 0 },
		{ 11 * MS, 11 * MS, 13 * MS + 500000, true, true, 5, 0, 8, WORKER, 254 << 20, 1, 4096,
		  0 }, /* another file, its own */
		{ 12 * MS, 12 * MS, 14 * MS, true, true, 5, 0, 8, MAIN, 254 << 20, 1, 1 << 20,
		  0 },                                                                             /* somebody else's */
		{ 11 * MS, 11 * MS, 21 * MS, true, true, 77, 0, 0, WORKER, 254 << 20, 1, 512, 0 }, /* after it */
	};
	struct requests_sum sum;
	char words[320];

	(void)state;
	begin();
	file_step(WORKER, CHAIN_FILE_READ, "/data/a", EXT4);
	waits[0].what.dev = 1;
	host.requests = requests;
	host.n_requests = 5;
	sum = requests_of(&host, &steps[0], 10 * MS, 20 * MS);
	assert_int_equal(sum.n, 2);
	assert_int_equal(sum.bytes, 8192);
	assert_int_equal(sum.worst_device_ns, 2 * MS + 500000);
	assert_int_equal(sum.worst_queue_ns, MS);
	assert_int_equal(sum.covered_ns, 2 * MS + 500000);
	requests_words(words, sizeof(words), &host, &steps[0], 10 * MS, 20 * MS);
	assert_string_equal(words, ""); /* not watched */
	host.probes.watched = 1u << GST_PROBE_BLOCK;
	requests_words(words, sizeof(words), &host, &steps[0], 10 * MS, 20 * MS);
	assert_string_equal(words, "2 block requests on 254:0, 8.0 KiB: worst 2.5 ms in the device, 1.0 ms queued");
	requests_words(words, sizeof(words), &host, &steps[0], 10 * MS, 20 * MS + 500001);
	assert_non_null(strstr(words, "; throttled above the device"));
	requests_words(words, sizeof(words), &host, &steps[0], 15 * MS, 16 * MS);
	assert_non_null(strstr(words, "no block request"));
	host.n_requests = 0;
	host.probes.watched = 0;
}

/* The n-th allocation from now fails; 0: none does. */
static long fail_at;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

void *__wrap_malloc(size_t n)
{
	return fail_at > 0 && --fail_at == 0 ? NULL : __real_malloc(n);
}

/* Wherever memory ends, a link is whole or there is none. */
static void test_links_without_memory(void **state)
{
	struct gap_cause c = { .end_ns = MS };
	struct finding f = { .cause = CAUSE_input_storage, .n_chain = 1, .way = &segment };
	size_t failed = 0, left = 0;
	bool ok = false;

	(void)state;
	begin();
	file_step(WORKER, CHAIN_FILE_READ, "/data/of/some/length/that/takes/room", EXT4);
	for (; !ok; left += 16) {
		struct arena arena = { 0 };

		assert_non_null(arena_alloc(&arena, 16));
		arena.used = arena.size - left;
		fail_at = 1;
		ok = chain_keep_links(&arena, &c, &f, &host);
		failed += !ok;
		if (ok)
			assert_string_equal(c.chain[0].file, "/data/of/some/length/that/takes/room");
		arena_free(&arena);
	}
	fail_at = 0;
	assert_true(failed > 8);
}

static void test_links_and_evidence_of_a_read(void **state)
{
	struct gap_cause c = { .begin_ns = 12 * MS, .end_ns = 14 * MS };
	struct finding f = { .cause = CAUSE_input_storage, .n_chain = 3, .pid = 9, .tid = 9, .way = &segment };
	struct arena arena = { 0 };

	(void)state;
	begin();
	step(MAIN, CHAIN_LOCK)->syscall = 202;
	end_step(PIN, CHAIN_PIPE_READ, "pipe:[5]", GST_FD_PIPE);
	waits[1].what.syscall = 0;
	file_step(WORKER, CHAIN_FILE_READ, "/data/a\tb", EXT4);
	waits[2].what.syscall = 17;
	steps[0].by = steps[1].by = GST_WOKEN_TASK;
	steps[2].by = GST_WOKEN_INTERRUPT;
	host.header.machine = GST_MACHINE_X86_64;
	assert_true(chain_keep_links(&arena, &c, &f, &host));
	assert_true(chain_keep_evidence(&arena, &c, &f, &host));
	assert_int_equal(c.n_chain, 3);
	assert_int_equal(c.chain[0].pid, 9); /* as its own trace has it */
	assert_int_equal(c.chain[2].tid, 2);
	assert_string_equal(c.chain[0].state, "futex");
	assert_string_equal(c.chain[0].woken_by, "pin[11]");
	assert_string_equal(c.chain[1].state, "read pipe:[5]");
	assert_string_equal(c.chain[1].woken_by, "pt_data_worker[2]");
	assert_string_equal(c.chain[2].state, "pread64 /data/a?b");
	assert_string_equal(c.chain[2].woken_by, "interrupt");
	assert_string_equal(c.chain[2].file, "/data/a?b");
	assert_int_equal(c.chain[2].offset, 4096);
	assert_int_equal(c.chain[2].begin_ns, 12 * MS);
	assert_int_equal(c.n_evidence, 1);
	assert_string_equal(
		c.evidence[0],
		"path=/data/a?b offset=4096 bytes=1000: pt_data_worker[2] in pread64, 10.0 ms (run.host.gst byte 4176)");
	assert_true(chain_same_way(&segment, &segment));
	host.probes.watched = 1u << GST_PROBE_BLOCK;
	assert_true(chain_keep_evidence(&arena, &c, &f, &host)); /* what is said already is not said again */
	assert_int_equal(c.n_evidence, 2);
	assert_non_null(strstr(c.evidence[1], "no block request"));
	waits[2].what.fs = NFS;
	c.n_evidence = 0;
	assert_true(chain_keep_evidence(&arena, &c, &f, &host)); /* another machine's disk */
	assert_int_equal(c.n_evidence, 1);
	host.probes.watched = 0;
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_by_what_is_read),
		cmocka_unit_test(test_code_thrown_out_for_want_of_memory),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_a_write_that_is_flushed_later_is_part_of_saving),
		cmocka_unit_test(test_descriptors_whose_other_end_is_not_on_record),
		cmocka_unit_test(test_a_waker_of_whom_nothing_is_known),
		cmocka_unit_test(test_states_of_one_thread),
		cmocka_unit_test(test_who_computes),
		cmocka_unit_test(test_sockets_by_who_is_at_the_other_end),
		cmocka_unit_test(test_what_a_socket_proves),
		cmocka_unit_test(test_what_a_file_proves),
		cmocka_unit_test(test_what_another_s_computing_proves),
		cmocka_unit_test(test_what_a_sum_of_short_waits_proves),
		cmocka_unit_test(test_what_is_saved_of_a_copy),
		cmocka_unit_test(test_a_thread_that_carries_data),
		cmocka_unit_test(test_what_lies_between_two_waits_for_one_thing),
		cmocka_unit_test(test_making_a_file_that_is_saved),
		cmocka_unit_test(test_requests_of_a_wait),
		cmocka_unit_test(test_links_without_memory),
		cmocka_unit_test(test_links_and_evidence_of_a_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
