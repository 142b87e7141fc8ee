/* SPDX-License-Identifier: BSD-2-Clause */
/* What calls and kernels say of collectives becomes communicators and NCCL calls, each once; any allocation may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/failing_alloc.h"
#include "tests/unit/import_built.h"

static uint32_t process;

static void begin(void)
{
	build = import_build_new("t.json", "kineto");
	if (build)
		process = import_process(build, 100);
}

static enum err_kind finish(void)
{
	struct error e = { 0 };

	return import_build_finish(&traces, &n_traces, build, NULL, &e);
}

/* A kernel and its launch of 5 ns, by thread 7. */
static void launch(uint64_t correlation, int64_t at, int64_t begin_ns, int64_t end_ns)
{
	import_call(build, &(struct import_call){ .process = process,
						  .begin_ns = at,
						  .end_ns = at + 5,
						  .tid = 7,
						  .name = import_name(build, T("cudaLaunchKernel")),
						  .correlation = correlation,
						  .stream = IMPORT_NO_STREAM,
						  .device = IMPORT_NO_DEVICE });
	import_work(build,
		    &(struct import_work){ .process = process,
					   .begin_ns = begin_ns,
					   .end_ns = end_ns,
					   .stream = 20,
					   .correlation = correlation,
					   .name = import_name(build, T("ncclDevKernel_AllReduce_Sum_f32_RING_LL")),
					   .kind = GST_ACTIVITY_KERNEL });
}

static struct import_collective of(const char *name, const char *group, const char *ranks, uint64_t seq)
{
	return (struct import_collective){ .process = process,
					   .tid = 7,
					   .name = import_name(build, (struct import_text){ name, strlen(name) }),
					   .group = import_name(build, (struct import_text){ group, strlen(group) }),
					   .ranks = import_name(build, (struct import_text){ ranks, strlen(ranks) }),
					   .dtype = import_name(build, T("BFloat16")),
					   .size = 2,
					   .first = GST_NONE,
					   .stride = GST_NONE,
					   .elements_in = 10,
					   .elements_out = 20,
					   .seq = seq };
}

static void call(struct import_collective c, uint64_t place, int64_t begin_ns, int64_t end_ns)
{
	c.place = place;
	c.begin_ns = begin_ns;
	c.end_ns = end_ns;
	import_collective(build, &c);
}

static void kernel(struct import_collective c, uint64_t place, uint64_t correlation, int64_t begin_ns, int64_t end_ns)
{
	c.correlation = correlation;
	call(c, place, begin_ns, end_ns);
}

/* Two groups; of one collective both its call and its kernel speak, of another the kernel alone. */
static void tell(void)
{
	import_rank(build, process, 4, 8);
	launch(1, 110, 200, 300);
	launch(2, 410, 500, 600);
	launch(3, 710, 800, 900);
	kernel(of("allreduce", "0", "[4, 5]", 8), 31, 2, 500, 600);
	kernel(of("allreduce", "0", "[4, 5]", 7), 30, 1, 200, 300);
	call(of("allreduce", "0", "[4, 5]", 7), 10, 100, 150);
	call(of("wait", "0", "[4, 5]", 7), 11, 160, 170);
	call(of("_reduce_scatter_base", "tp", "[0, 4]", 0), 12, 700, 750);
	kernel(of("_reduce_scatter_base", "tp", "[0, 4]", 0), 32, 3, 800, 900);
	kernel(of("allreduce", "0", "[4, 5]", 9), 33, 99, 1000, 1100); /* nothing launched it */
}

static void expect_call(const struct nccl_call *c, const char *hook, uint64_t place, int64_t begin_ns, int64_t end_ns,
			uint8_t kind, uint32_t seq)
{
	const struct trace *t = traces[0];

	assert_string_equal(t->nccl_hooks[c->hook], hook);
	assert_int_equal(c->byte, place);
	assert_int_equal(c->begin_ns, begin_ns);
	assert_int_equal(c->end_ns, end_ns);
	assert_int_equal(c->kind, kind);
	assert_int_equal(c->seq, seq);
	assert_int_equal(c->tid, 7);
}

static void test_each_collective_once(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	tell();
	assert_int_equal(finish(), ERR_NONE);
	t = traces[0];
	assert_int_equal(t->n_nccl, 3);
	expect_call(&t->nccl[0], "allreduce", 10, 100, 150, GST_NCCL_ALL_REDUCE, 7);
	expect_call(&t->nccl[1], "allreduce", 31, 410, 415, GST_NCCL_ALL_REDUCE, 8);
	expect_call(&t->nccl[2], "_reduce_scatter_base", 12, 700, 750, GST_NCCL_REDUCE_SCATTER, 1);
	assert_int_equal(nccl_bytes(&t->nccl[0]), 20); /* 10 elements go in, */
	assert_int_equal(nccl_bytes(&t->nccl[2]), 40); /* 20 come out */
	assert_string_equal(nccl_datatype_name(t->nccl[2].datatype), "bfloat16");
	for (size_t i = 0; i < t->n_calls; i++)
		assert_int_equal(t->calls[i].detail, 1); /* launched by NCCL */
}

static void test_groups(void **state)
{
	const struct comm *c;

	(void)state;
	begin();
	tell();
	assert_int_equal(finish(), ERR_NONE);
	assert_int_equal(traces[0]->n_comms, 2);
	c = &traces[0]->comms[traces[0]->nccl[0].comm];
	assert_string_equal(c->name, "0");
	assert_int_equal(c->rank, 0);
	assert_int_equal(c->size, 2);
	assert_false(c->counted);
	assert_int_equal(traces[0]->nccl[1].comm, traces[0]->nccl[0].comm);
	c = &traces[0]->comms[traces[0]->nccl[2].comm];
	assert_string_equal(c->name, "tp");
	assert_int_equal(c->rank, 1);
	assert_true(c->counted);
	assert_true(c->hash != traces[0]->comms[traces[0]->nccl[0].comm].hash);
}

/* One of a group without a number: all are counted, in the order of time. Messages are not. */
static void test_counted(void **state)
{
	static const uint32_t seqs[] = { 1, 0, 2, 3 };

	(void)state;
	begin();
	call(of("all_to_allv", "0", "", 0), 4, 400, 410);
	call(of("broadcast", "0", "", 5), 1, 100, 110);
	call(of("send", "0", "", 6), 2, 200, 210);
	call(of("gather", "0", "", 9), 3, 300, 310);
	import_host_op(build, &(struct import_host_op){
				      .process = process, .begin_ns = 1, .end_ns = 900, .kind = HOST_OP_OPERATOR });
	assert_int_equal(finish(), ERR_NONE);
	assert_int_equal(traces[0]->n_nccl, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(traces[0]->nccl[i].byte, i + 1);
		assert_int_equal(traces[0]->nccl[i].seq, seqs[i]);
	}
	assert_int_equal(traces[0]->comms[0].rank, GST_NONE); /* the trace does not say which rank it is of */
}

static void test_the_inner_of_two(void **state)
{
	(void)state;
	begin();
	call(of("barrier", "0", "[0, 1]", 1), 1, 100, 200);
	call(of("allreduce", "0", "[0, 1]", 1), 2, 110, 190);
	call(of("allreduce", "0", "[0, 1]", 2), 3, 210, 290);
	import_host_op(build, &(struct import_host_op){
				      .process = process, .begin_ns = 1, .end_ns = 900, .kind = HOST_OP_OPERATOR });
	assert_int_equal(finish(), ERR_NONE);
	assert_int_equal(traces[0]->n_nccl, 2);
	assert_int_equal(traces[0]->nccl[0].byte, 2);
	assert_int_equal(traces[0]->nccl[1].byte, 3);
}

static void test_each_allocation_may_fail(void **state)
{
	bool whole = false;

	(void)state;
	for (long n = 1; !whole; n++) {
		assert_in_range(n, 1, 1000);
		fail_at = n;
		begin();
		if (build) {
			enum err_kind kind;

			tell();
			kind = finish();
			assert_true(kind == ERR_NONE || kind == ERR_SYSTEM);
			whole = kind == ERR_NONE && fail_at > 0;
			if (kind == ERR_NONE)
				assert_int_equal(traces[0]->n_nccl, 3);
		}
		forget(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_each_collective_once, forget),
		cmocka_unit_test_teardown(test_groups, forget),
		cmocka_unit_test_teardown(test_counted, forget),
		cmocka_unit_test_teardown(test_the_inner_of_two, forget),
		cmocka_unit_test_teardown(test_each_allocation_may_fail, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
