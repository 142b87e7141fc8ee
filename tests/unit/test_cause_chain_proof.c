/* SPDX-License-Identifier: BSD-2-Clause */
/* What the end of a chain and its links prove, and what is only likely: on hand-made chains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "chain_by_hand.h"

static bool is_proven(enum cause_id cause)
{
	struct chain whole = { .at = &segment, .n = 1 };
	struct chain_about about = { .host = &host,
				     .whole = &whole,
				     .copied_out_ns = INT64_MAX,
				     .asked_begin_ns = segment.begin_ns,
				     .asked_end_ns = segment.end_ns };

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

/* What main reads from that address comes from a process of this machine, which was in that. */
static bool proven_behind(enum chain_state link, const char *address, int task, enum chain_state state,
			  enum cause_id cause)
{
	begin();
	end_step(MAIN, link, address, GST_FD_SOCKET);
	if (state == CHAIN_FILE_READ)
		file_step(task, state, "/data/a", EXT4);
	else
		step(task, state);
	return is_proven(cause);
}

static void test_what_a_socket_to_this_machine_proves(void **state)
{
	static const enum chain_state links[] = { CHAIN_SOCKET_READ, CHAIN_POLL };
	static const char *const addresses[] = { "tcp:127.0.0.1:6379", "tcp:10.0.0.5:6379" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		enum chain_state link = links[i % 2];
		const char *address = addresses[i / 2];

		assert_false(proven_behind(link, address, STRANGER, CHAIN_FILE_READ, CAUSE_input_network));
		assert_false(proven_behind(link, address, STRANGER, CHAIN_ON_CPU, CAUSE_input_network));
		assert_true(proven_behind(link, address, WORKER, CHAIN_FILE_READ, CAUSE_input_storage));
		assert_true(proven_behind(link, address, WORKER, CHAIN_ON_CPU, CAUSE_input_preprocess));
	}
	begin(); /* a worker of the program's own reads from afar */
	end_step(MAIN, CHAIN_SOCKET_READ, "tcp:10.0.0.5:5000", GST_FD_SOCKET);
	end_step(WORKER, CHAIN_SOCKET_READ, "tcp:10.0.0.1:443", GST_FD_SOCKET);
	assert_true(is_proven(CAUSE_input_network));
	waits[1].what.file = "tcp:127.0.0.1:443";
	assert_false(is_proven(CAUSE_input_network));
	begin();
	end_step(MAIN, CHAIN_POLL, "unix:[5]:[6]", GST_FD_SOCKET);
	file_step(WORKER, CHAIN_FILE_READ, "/nfs/a", NFS);
	assert_true(is_proven(CAUSE_input_network));
	of_end(CHAIN_SOCKET_READ, "tcp:10.0.0.1:443", GST_FD_SOCKET); /* a stranger of whom nothing more is known */
	steps[0].by = GST_WOKEN_TASK;
	waits[0].waker = STRANGER;
	assert_false(is_proven(CAUSE_input_network));
	waits[0].waker = KWORKER; /* it carries what comes over the wire */
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

/* Whose work it is that another thread does is no better known for its writing. */
static void test_what_writing_on_a_cpu_proves(void **state)
{
	struct host_written written = { .what = { .syscall = 1, .inode = 7, .bytes = 1 << 20 } };

	(void)state;
	computed_behind(CHAIN_OTHER, PIN);
	steps[1].state = CHAIN_FILE_WRITE;
	steps[1].wait = NULL;
	steps[1].written = &written;
	assert_true(is_proven(CAUSE_checkpoint));
	written.what.inode = 0;
	assert_false(is_proven(CAUSE_checkpoint));
	written.what.bytes = 65536;
	assert_false(is_proven(CAUSE_host_compute));
	steps[1].written = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_socket_proves),
		cmocka_unit_test(test_what_a_socket_to_this_machine_proves),
		cmocka_unit_test(test_what_a_file_proves),
		cmocka_unit_test(test_what_another_s_computing_proves),
		cmocka_unit_test(test_what_a_sum_of_short_waits_proves),
		cmocka_unit_test(test_what_writing_on_a_cpu_proves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
