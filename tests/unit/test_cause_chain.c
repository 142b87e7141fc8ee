/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a chain → its cause: on hand-made chains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "chain_by_hand.h"

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

/* Of no known file. kind: what looks say of it, of how the task is watched. */
static enum cause_id of_fault(uint8_t kind, uint32_t how)
{
	struct host_what *w;
	enum cause_id cause;

	begin();
	w = step(MAIN, CHAIN_FAULT);
	w->flags = GST_WAIT_FAULT;
	w->fd_kind = kind;
	host.probes.how = how;
	cause = cause_of(false);
	host.probes.how = 0;
	return cause;
}

static void test_faults_of_no_known_file(void **state)
{
	struct host_pressure p = { 0,          100 * MS,   UINT32_MAX, 20000,     UINT32_MAX,
				   UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };

	(void)state;
	assert_int_equal(of_fault(GST_FD_NONE, GST_PROBES_EBPF), CAUSE_input_storage);
	assert_int_equal(of_fault(GST_FD_NONE, GST_PROBES_PROC), CAUSE_unexplained);
	assert_int_equal(of_fault(GST_FD_FILE, GST_PROBES_PROC), CAUSE_input_storage);
	host.pressure = &p; /* the machine's: somebody is short of memory */
	host.n_pressure = 1;
	assert_int_equal(of_fault(GST_FD_NONE, GST_PROBES_EBPF), CAUSE_memory_stall);
	assert_int_equal(of_fault(GST_FD_NONE, GST_PROBES_PROC), CAUSE_memory_stall);
	assert_int_equal(of_fault(GST_FD_FILE, GST_PROBES_PROC), CAUSE_input_storage);
	host.n_pressure = 0;
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

/* Of one of the walk. */
static enum cause_id ask_in(enum cause_id (*ask)(const struct chain_segment *s, const struct chain_about *about),
			    const struct chain_segment *s, struct chain_about *about)
{
	struct chain_seen seen = { 0 };
	struct chain_saved saved = { 0 };
	enum cause_id cause;

	assert_true(chain_seen_set(&seen, about->whole));
	assert_true(chain_saved_set(&saved, about->whole, about->copied_out_ns));
	about->seen = &seen;
	about->saved = &saved;
	cause = ask(s, about);
	about->seen = NULL;
	about->saved = NULL;
	chain_seen_free(&seen);
	chain_saved_free(&saved);
	return cause;
}

static enum cause_id cause_in(const struct chain_segment *s, struct chain_about *about)
{
	return ask_in(chain_cause, s, about);
}

static enum cause_id between_in(const struct chain_segment *s, struct chain_about *about)
{
	return ask_in(chain_between, s, about);
}

/* However far away in the walk it was seen. */
static void test_what_was_seen_far_away(void **state)
{
	enum { FAR = 10000 };
	static struct chain_step leaves[FAR], carry[3];
	static struct chain_segment at[FAR];
	static struct host_wait write = {
		.what = { .file = "/out/x", .inode = 5, .dev = 1, .bytes = 100, .syscall = -2 }
	};
	static struct host_wait flush = { .what = { .inode = 5, .dev = 1, .syscall = -2 } };
	struct chain whole = { .at = at, .n = FAR };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	for (int i = 0; i < FAR; i++) {
		leaves[i] = (struct chain_step){ .task = &tasks[MAIN], .state = i % 2 ? CHAIN_SWAP : CHAIN_ON_CPU };
		at[i] = (struct chain_segment){ .begin_ns = i, .end_ns = i + 1, .steps = &leaves[i], .n_steps = 1 };
	}
	leaves[0] = (struct chain_step){ .task = &tasks[MAIN], .state = CHAIN_FILE_WRITE, .wait = &write };
	assert_int_equal(cause_in(&at[0], &about), CAUSE_output_io);
	leaves[FAR - 1] = (struct chain_step){ .task = &tasks[MAIN], .state = CHAIN_FLUSH, .wait = &flush };
	assert_int_equal(cause_in(&at[0], &about), CAUSE_checkpoint);
	flush.what.dev = 2;
	assert_int_equal(cause_in(&at[0], &about), CAUSE_output_io);
	write.what.inode = 0;
	assert_int_equal(cause_in(&at[0], &about), CAUSE_checkpoint); /* any, where it is not known which */
	leaves[FAR - 1].task = &tasks[PIN];
	assert_int_equal(cause_in(&at[0], &about), CAUSE_output_io);
	carry[0] = (struct chain_step){ .task = &tasks[MAIN], .state = CHAIN_LOCK };
	carry[1] = (struct chain_step){ .task = &tasks[PIN], .state = CHAIN_ON_CPU };
	at[0] = (struct chain_segment){ .end_ns = 1, .steps = carry, .n_steps = 2 };
	assert_int_equal(cause_in(&at[0], &about), CAUSE_host_lock);
	leaves[FAR - 1].state = CHAIN_ON_CPU;
	at[FAR - 1].steps =
		(const struct chain_step[]){ carry[0], { .task = &tasks[PIN], .state = CHAIN_POLL }, leaves[1] };
	at[FAR - 1].n_steps = 3;
	assert_int_equal(cause_in(&at[0], &about), CAUSE_input_preprocess);
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
	assert_int_equal(cause_in(&two[0], &about), CAUSE_checkpoint);
	both[1].what.inode = 6;
	assert_int_equal(cause_in(&two[0], &about), CAUSE_output_io);
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
	step(STRANGER, CHAIN_SLEEP);
	assert_int_equal(cause_of(false), CAUSE_input_network);
	begin();
	step(MAIN, CHAIN_LOCK);
	file_step(WORKER, CHAIN_FILE_READ, "/data/a", EXT4);
	assert_int_equal(cause_of(false), CAUSE_input_storage);
}

/* Of one of them it was not learnt where it lives; a later process has the number of an earlier one. */
static void test_threads_of_one_process(void **state)
{
	(void)state;
	begin();
	step(MAIN, CHAIN_LOCK);
	step(PIN, CHAIN_ON_CPU);
	tasks[MAIN].pid_ns = 7;
	assert_int_equal(cause_of(false), CAUSE_host_lock);
	tasks[PIN].leader = 5;
	assert_int_equal(cause_of(false), CAUSE_input_preprocess);
	tasks[PIN].leader = HOST_NOBODY;
	assert_int_equal(cause_of(false), CAUSE_host_lock);
	tasks[PIN].leader = 0;
	tasks[MAIN].pid_ns = 0;
}

/* The last two: addresses that the machine itself has, on other interfaces. */
static void test_sockets_by_who_is_at_the_other_end(void **state)
{
	static const char *const by_address[] = { "tcp:127.0.0.1:80", "udp:[::1]:53", "tcp:[::ffff:127.0.0.1]:80",
						  "tcp:10.0.0.5:80", "tcp:[::1234]:80" };

	(void)state;
	for (size_t i = 0; i < sizeof(by_address) / sizeof(by_address[0]); i++) {
		for (int polls = 0; polls < 2; polls++) {
			enum chain_state link = polls ? CHAIN_POLL : CHAIN_SOCKET_READ;

			assert_int_equal(over_link(link, by_address[i], WORKER, CHAIN_SLEEP), CAUSE_host_sleep);
			assert_int_equal(over_link(link, by_address[i], WORKER, CHAIN_ON_CPU), CAUSE_input_preprocess);
			assert_int_equal(over_link(link, by_address[i], WORKER, CHAIN_UNKNOWN), CAUSE_input_wait);
			assert_int_equal(over_link(link, by_address[i], STRANGER, CHAIN_SLEEP), CAUSE_input_network);
			assert_int_equal(over_link(link, by_address[i], STRANGER, CHAIN_ON_CPU), CAUSE_input_network);
			assert_int_equal(over_link(link, by_address[i], STRANGER, CHAIN_UNKNOWN), CAUSE_input_network);
		}
	}
	/* of a service's CPU nothing is said, of one's own worker's it is */
	assert_int_equal(over("tcp:127.0.0.1:80", STRANGER, CHAIN_QUEUED), CAUSE_input_network);
	assert_int_equal(over("tcp:127.0.0.1:80", WORKER, CHAIN_QUEUED), CAUSE_cpu_contention);
	assert_int_equal(over("unix:[5]:[6]", STRANGER, CHAIN_SLEEP), CAUSE_host_sleep);
	assert_int_equal(over("socket:[5]", STRANGER, CHAIN_SLEEP), CAUSE_input_network);
	assert_int_equal(over_link(CHAIN_POLL, "unix:[5]:[6]", STRANGER, CHAIN_ON_CPU), CAUSE_input_preprocess);
	assert_int_equal(of_end(CHAIN_SOCKET_READ, "netlink:[5]", GST_FD_SOCKET), CAUSE_unexplained);
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
		all[i] = (struct host_wait){ .what = { .syscall = 1,
						       .file = "/out/x",
						       .inode = 5,
						       .bytes = 1 << 19,
						       .offset = (uint64_t)i << 19 } };
		leaves[i] = (struct chain_step){ .task = &tasks[MAIN], .state = CHAIN_FILE_WRITE, .wait = &all[i] };
		three[i] = (struct chain_segment){ .begin_ns = i, .end_ns = i + 1, .steps = &leaves[i], .n_steps = 1 };
	}
	assert_int_equal(cause_in(&three[0], &about), CAUSE_output_io);
	assert_int_equal(cause_in(&three[1], &about), CAUSE_checkpoint);
	assert_int_equal(cause_in(&three[2], &about), CAUSE_checkpoint);
	all[2].what.bytes--;
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
	all[2].what.bytes++;
	leaves[2].wait = &all[1]; /* one write in two segments counts once */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
	leaves[2].wait = &all[2];
	all[2].what.offset = all[1].what.offset; /* two waits of one write, too */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
	all[1].what.offset = all[2].what.offset = UINT64_MAX; /* where that is not known, they may be two */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_checkpoint);
	all[1].what.offset = 1 << 19;
	all[2].what.offset = 2 << 19;
	all[2].what.inode = 6; /* another file */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
	all[2].what.inode = 5;
	leaves[2].task = &tasks[PIN]; /* another thread */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_checkpoint);
	leaves[2].task = &tasks[WORKER]; /* another process */
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
	about.copied_out_ns = INT64_MAX;
	leaves[2].task = &tasks[MAIN];
	assert_int_equal(cause_in(&three[1], &about), CAUSE_output_io);
}

/* Five segments behind a copy at 10, of two sums of short waits in turn: each counts once, with what one call may have written. */
static void test_sums_of_what_is_saved_of_a_copy(void **state)
{
	struct host_stalls sums[2];
	struct chain_step leaves[5];
	struct chain_segment at[5];
	struct chain whole = { .at = at, .n = 5 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = 10 };

	(void)state;
	for (int i = 0; i < 2; i++)
		sums[i] = (struct host_stalls){
			.begin_ns = 10,
			.end_ns = 20,
			.count = 4,
			.last_offset = 3 << 17,
			.what = { .syscall = 1, .file = "/out/x", .inode = 5, .bytes = 1 << 19 }
		};
	for (int i = 0; i < 5; i++) {
		leaves[i] =
			(struct chain_step){ .task = &tasks[MAIN], .state = CHAIN_FILE_WRITE, .stalls = &sums[i % 2] };
		at[i] = (struct chain_segment){
			.begin_ns = 10 + i, .end_ns = 11 + i, .steps = &leaves[i], .n_steps = 1
		};
	}
	assert_int_equal(cause_in(&at[4], &about), CAUSE_checkpoint);
	sums[1].what.bytes--; /* 1 MiB is not reached, though A stands there three times */
	sums[1].last_offset--;
	assert_int_equal(cause_in(&at[4], &about), CAUSE_output_io);
	sums[1].what.bytes++;
	sums[1].last_offset++;
	sums[1].begin_ns = 9; /* how much of it came before the copy is not known */
	assert_int_equal(cause_in(&at[4], &about), CAUSE_output_io);
	sums[1].begin_ns = 10;
	sums[1].last_offset = 0; /* one call's four waits */
	assert_int_equal(cause_in(&at[4], &about), CAUSE_output_io);
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
	assert_int_equal(cause_in(&two[1], &about), CAUSE_input_preprocess);
	carry[1].state = CHAIN_LOCK;
	assert_int_equal(cause_in(&two[1], &about), CAUSE_host_lock);
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
	assert_int_equal(between_in(&at[1], &about), CAUSE_memory_stall);
	at[1].end_ns = at[1].begin_ns + 200001;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	at[1].end_ns = at[1].begin_ns + 100000;
	leaves[0].state = CHAIN_FILE_READ;
	leaves[0].wait = &wait;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	leaves[3].state = CHAIN_FILE_READ; /* decoding between two reads is decoding */
	leaves[3].wait = &wait;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	leaves[3].state = CHAIN_FLUSH;
	leaves[0].state = CHAIN_FILE_WRITE;
	assert_int_equal(between_in(&at[1], &about), CAUSE_checkpoint);
	at[1].end_ns++;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	at[1].end_ns--;
	leaves[3].task = &tasks[PIN];
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	assert_int_equal(between_in(&at[0], &about), CAUSE_unexplained); /* the first, and the last */
	assert_int_equal(between_in(&at[3], &about), CAUSE_unexplained);
}

/* 50 us of computing between two writes into a pipe: before the first of them went on it had a reader to wait for, 20 us of that at its end. */
static void test_what_lies_between_two_waits_for_a_reader(void **state)
{
	struct chain_step first[2] = {
		{ .task = &tasks[MAIN], .state = CHAIN_PIPE_WRITE, .begin_ns = 10000, .end_ns = 50000 },
		{ .task = &tasks[PIN], .state = CHAIN_ON_CPU, .begin_ns = 30000, .end_ns = 50000 }
	};
	struct chain_step computes = { .task = &tasks[MAIN], .state = CHAIN_ON_CPU },
			  last = { .task = &tasks[MAIN], .state = CHAIN_PIPE_WRITE };
	struct chain_segment at[] = { { .begin_ns = 30000, .end_ns = 50000, .steps = first, .n_steps = 2 },
				      { .begin_ns = 50000, .end_ns = 100000, .steps = &computes, .n_steps = 1 },
				      { .begin_ns = 100000, .end_ns = 110000, .steps = &last, .n_steps = 1 } };
	struct chain whole = { .at = at, .n = 3 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	assert_int_equal(between_in(&at[1], &about), CAUSE_output_io);
	at[1].end_ns++;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	at[1].end_ns--;
	first[0].task = &tasks[PIN]; /* another thread's wait */
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
	first[0].task = &tasks[MAIN];
	first[0].state = CHAIN_PIPE_READ;
	assert_int_equal(between_in(&at[1], &about), CAUSE_unexplained);
}

/* 0.1 ms of computing, and 0.2 ms in a flush of file 7, which writes so many bytes; 0: no request is on record. */
static enum cause_id before_a_flush(uint32_t bytes, int64_t copied_out_ns)
{
	struct host_wait flush = { .what = { .syscall = 74, .offset = UINT64_MAX, .inode = 7 } };
	struct host_request request = { .done_ns = 250000, .inode = 7, .task = HOST_NOBODY, .bytes = bytes };
	struct host_trace disk = host;
	struct chain_step leaves[2] = { { .task = &tasks[MAIN], .state = CHAIN_ON_CPU },
					{ .task = &tasks[MAIN], .state = CHAIN_FLUSH, .wait = &flush } };
	struct chain_segment at[2] = { { .end_ns = 100000, .steps = &leaves[0], .n_steps = 1 },
				       { .begin_ns = 100000, .end_ns = 300000, .steps = &leaves[1], .n_steps = 1 } };
	struct chain whole = { .at = at, .n = 2 };
	struct chain_about about = { .host = &disk, .whole = &whole, .copied_out_ns = copied_out_ns };

	disk.requests = &request;
	disk.n_requests = bytes > 0;
	return between_in(&at[0], &about);
}

static void test_what_is_computed_before_a_flush_is_writing_as_far_as_that_was_much(void **state)
{
	(void)state;
	assert_int_equal(before_a_flush(1 << 20, INT64_MAX), CAUSE_checkpoint);
	assert_int_equal(before_a_flush(50000, INT64_MAX), CAUSE_checkpoint); /* 2 ns for a byte */
	assert_int_equal(before_a_flush(49999, INT64_MAX), CAUSE_unexplained);
	assert_int_equal(before_a_flush(4096, 0), CAUSE_unexplained); /* a line of a log, whatever was copied */
	assert_int_equal(before_a_flush(0, INT64_MAX), CAUSE_unexplained);
	assert_int_equal(before_a_flush(0, 0), CAUSE_checkpoint); /* nobody knows how much: it had something to save */
}

/* On a CPU in write: saving, where it is much or is flushed; else computing. What comes before that is computing. */
static void test_filling_pages_of_a_file(void **state)
{
	struct host_written written = { .what = { .syscall = -2, .offset = UINT64_MAX, .inode = 7, .bytes = 1 << 20 } };
	struct host_wait flush = { .what = { .syscall = -2, .offset = UINT64_MAX, .inode = 7 } };
	struct chain_step leaves[3] = {
		{ .task = &tasks[MAIN], .state = CHAIN_ON_CPU },
		{ .task = &tasks[MAIN], .state = CHAIN_FILE_WRITE, .written = &written },
		{ .task = &tasks[MAIN], .state = CHAIN_ON_CPU },
	};
	struct chain_segment at[3];
	struct chain whole = { .at = at, .n = 3 };
	struct chain_about about = { .host = &host, .whole = &whole, .copied_out_ns = INT64_MAX };

	(void)state;
	for (int i = 0; i < 3; i++)
		at[i] = (struct chain_segment){
			.begin_ns = i * MS, .end_ns = (i + 1) * MS, .steps = &leaves[i], .n_steps = 1
		};
	assert_int_equal(cause_in(&at[1], &about), CAUSE_checkpoint);
	written.what.bytes--;
	assert_int_equal(cause_in(&at[1], &about), CAUSE_host_compute);
	leaves[2].state = CHAIN_FLUSH;
	leaves[2].wait = &flush;
	assert_int_equal(cause_in(&at[1], &about), CAUSE_checkpoint);
	assert_int_equal(between_in(&at[0], &about), CAUSE_unexplained);
	assert_int_equal(cause_in(&at[0], &about), CAUSE_host_compute);
	flush.what.inode = 8; /* another file's */
	assert_int_equal(cause_in(&at[1], &about), CAUSE_host_compute);
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
	assert_int_equal(cause_in(&at[0], &about), CAUSE_checkpoint);
	leaves[1].task = &tasks[PIN];
	assert_int_equal(cause_in(&at[0], &about), CAUSE_input_storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_by_what_is_read),
		cmocka_unit_test(test_code_thrown_out_for_want_of_memory),
		cmocka_unit_test(test_faults_of_no_known_file),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_what_was_seen_far_away),
		cmocka_unit_test(test_a_write_that_is_flushed_later_is_part_of_saving),
		cmocka_unit_test(test_descriptors_whose_other_end_is_not_on_record),
		cmocka_unit_test(test_a_waker_of_whom_nothing_is_known),
		cmocka_unit_test(test_states_of_one_thread),
		cmocka_unit_test(test_who_computes),
		cmocka_unit_test(test_threads_of_one_process),
		cmocka_unit_test(test_sockets_by_who_is_at_the_other_end),
		cmocka_unit_test(test_what_is_saved_of_a_copy),
		cmocka_unit_test(test_sums_of_what_is_saved_of_a_copy),
		cmocka_unit_test(test_a_thread_that_carries_data),
		cmocka_unit_test(test_what_lies_between_two_waits_for_one_thing),
		cmocka_unit_test(test_what_lies_between_two_waits_for_a_reader),
		cmocka_unit_test(test_what_is_computed_before_a_flush_is_writing_as_far_as_that_was_much),
		cmocka_unit_test(test_filling_pages_of_a_file),
		cmocka_unit_test(test_making_a_file_that_is_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
