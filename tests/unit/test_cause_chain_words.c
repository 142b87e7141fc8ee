/* SPDX-License-Identifier: BSD-2-Clause */
/* The words for what a chain proves: links, evidence, block requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cause/cause_chain_evidence.h"
#include "cause/cause_chain_requests.h"
#include "cause/cause_chain_words.h"
#include "chain_by_hand.h"

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
static size_t allocated; /* bytes */

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

void *__wrap_malloc(size_t n)
{
	allocated += n;
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
			assert_string_equal(c.chain[0].file->path, "/data/of/some/length/that/takes/room");
		arena_free(&arena);
	}
	fail_at = 0;
	assert_true(failed >= 4);
}

/* However long a path is, and however many links lead to it, it is kept once: by the trace that has it. */
static void test_links_of_a_long_path(void **state)
{
	struct gap_cause c = { .end_ns = MS };
	struct finding f = { .cause = CAUSE_input_storage, .n_chain = 1, .way = &segment };
	struct arena arena = { 0 };
	char path[4000];

	(void)state;
	memset(path, 'x', sizeof(path));
	memcpy(path, "/data/", 6);
	memcpy(path + sizeof(path) - 12, "/shard\t.tar", 12);
	begin();
	file_step(WORKER, CHAIN_FILE_READ, path, EXT4);
	waits[0].what.syscall = 17;
	host.header.machine = GST_MACHINE_X86_64;
	allocated = 0;
	for (unsigned i = 0; i < 1000; i++)
		assert_true(chain_keep_links(&arena, &c, &f, &host));
	assert_true(allocated < 1 << 20);
	assert_ptr_equal(c.chain[0].file->path, path);
	assert_int_equal(strlen(c.chain[0].state), LINK_WORDS - 1);
	assert_memory_equal(c.chain[0].state, "pread64 ...xx", 13);
	assert_string_equal(c.chain[0].state + LINK_WORDS - 1 - 11, "/shard?.tar");
	arena_free(&arena);
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
	assert_string_equal(c.chain[2].file->path, "/data/a\tb"); /* as the trace has it */
	assert_int_equal(c.chain[2].file->offset, 4096);
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

/* Of a chain's segment from 10 to 20 ms a communicator's call has cut off all but 2 ms; a sum has the bytes of all its waits. */
static void test_evidence_of_a_part_and_of_a_sum(void **state)
{
	struct host_stalls sum = { .count = 4, .blocked_ns = MS, .last_offset = 12288, .end_ns = MS };
	struct gap_cause c = { .begin_ns = 12 * MS, .end_ns = 14 * MS };
	struct finding f = { .cause = CAUSE_host_compute, .begin_ns = 12 * MS, .end_ns = 14 * MS, .way = &segment };
	struct host_on_cpu samples[] = { { .at_ns = 11 * MS }, { .at_ns = 13 * MS } };
	struct arena arena = { 0 };

	(void)state;
	begin();
	step(MAIN, CHAIN_ON_CPU);
	tasks[MAIN].on_cpu = samples;
	tasks[MAIN].n_on_cpu = 2;
	assert_true(chain_keep_evidence(&arena, &c, &f, &host));
	assert_string_equal(c.evidence[0], "python3[10] was on a CPU for 2.0 ms, and 1 sample found it there");
	tasks[MAIN].n_on_cpu = 0;
	begin();
	step(MAIN, CHAIN_QUEUED);
	c.n_evidence = 0;
	assert_true(chain_keep_evidence(&arena, &c, &f, &host));
	assert_string_equal(c.evidence[0],
			    "python3[10] was runnable for 2.0 ms without a CPU (run.host.gst byte 4176)");
	begin();
	file_step(MAIN, CHAIN_FILE_WRITE, "/out/x", EXT4);
	sum.what = waits[0].what;
	sum.what.offset = 0;
	sum.what.bytes = 16384;
	steps[0].wait = NULL;
	steps[0].stalls = &sum;
	c.n_evidence = 0;
	assert_true(chain_keep_evidence(&arena, &c, &f, &host));
	assert_memory_equal(c.evidence[0], "path=/out/x offset=0 bytes=16384: ", 34);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_of_a_wait),
		cmocka_unit_test(test_links_without_memory),
		cmocka_unit_test(test_links_of_a_long_path),
		cmocka_unit_test(test_links_and_evidence_of_a_read),
		cmocka_unit_test(test_evidence_of_a_part_and_of_a_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
