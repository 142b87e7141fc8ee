/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a chain → its cause: on hand-made chains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/chain_asked.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_by_what_is_read),
		cmocka_unit_test(test_code_thrown_out_for_want_of_memory),
		cmocka_unit_test(test_faults_of_no_known_file),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_what_was_seen_far_away),
		cmocka_unit_test(test_descriptors_whose_other_end_is_not_on_record),
		cmocka_unit_test(test_a_waker_of_whom_nothing_is_known),
		cmocka_unit_test(test_states_of_one_thread),
		cmocka_unit_test(test_who_computes),
		cmocka_unit_test(test_threads_of_one_process),
		cmocka_unit_test(test_sockets_by_who_is_at_the_other_end),
		cmocka_unit_test(test_a_thread_that_carries_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
