/* SPDX-License-Identifier: BSD-2-Clause */
/* Which stream a call means by a number: by its context where it says it, else by its device, else by the number alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/import_built.h"

static void work_in(uint32_t process, uint64_t stream, uint64_t context, uint32_t device)
{
	static int64_t begin_ns;
	struct import_work w = { .begin_ns = begin_ns += 10,
				 .end_ns = begin_ns + 5,
				 .process = process,
				 .device = device,
				 .context = context,
				 .stream = stream,
				 .kind = GST_ACTIVITY_MEMSET };

	import_work(build, &w);
}

/* Which stream it is: context and device; 0: none is known. */
static void expect(uint64_t stream, uint64_t context, uint32_t device, uint64_t of_context, uint32_t of_device,
		   bool named)
{
	uint32_t p;
	struct import_call c = {
		.begin_ns = 1, .end_ns = 2, .tid = 1, .stream = stream, .context = context, .device = device
	};
	const struct trace *t;
	struct error e;

	build = import_build_new("t.sqlite", "nsys");
	assert_non_null(build);
	p = c.process = import_process(build, 1);
	work_in(p, 7, named ? 1 : 0, 0);
	work_in(p, 7, named ? 2 : 0, 1);
	work_in(p, 7, named ? 3 : 0, 1);
	work_in(p, 9, named ? 2 : 0, 1);
	c.name = import_name(build, T("cudaStreamSynchronize"));
	import_call(build, &c);
	assert_int_equal(import_build_finish(&traces, &n_traces, build, NULL, &e), ERR_NONE);
	t = traces[0];
	assert_int_equal(t->n_calls, 1);
	if (!of_context) {
		assert_int_equal(t->calls[0].stream, GST_NONE);
	} else {
		assert_int_not_equal(t->calls[0].stream, GST_NONE);
		assert_int_equal(t->streams[t->calls[0].stream].handle, stream);
		assert_int_equal(t->streams[t->calls[0].stream].context, of_context);
		assert_int_equal(t->streams[t->calls[0].stream].device, of_device);
	}
	forget(NULL);
}

static void test_by_context(void **state)
{
	(void)state;
	expect(7, 1, 0, 1, 0, true);
	expect(7, 2, 0, 2, 1, true); /* the device is not what Nsight says it is */
	expect(7, 3, IMPORT_NO_DEVICE, 3, 1, true);
	expect(9, 1, 1, 0, 0, true);
	expect(7, 8, 0, 0, 0, true);
}

static void test_by_device(void **state)
{
	(void)state;
	expect(7, 0, 0, 1, 0, true);
	expect(7, 0, 1, 0, 0, true); /* two contexts have one */
	expect(9, 0, 1, 2, 1, true);
	expect(9, 0, 0, 0, 0, true);
}

static void test_by_number(void **state)
{
	(void)state;
	expect(9, 0, IMPORT_NO_DEVICE, 2, 1, true);
	expect(7, 0, IMPORT_NO_DEVICE, 0, 0, true);
}

/* Work of old exports has none: then a call's says nothing either. */
static void test_contexts_that_no_work_has(void **state)
{
	(void)state;
	expect(9, 5, 1, IMPORT_MADE_UP + 1, 1, false);
	expect(7, 5, 0, IMPORT_MADE_UP, 0, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_by_context, forget),
		cmocka_unit_test_teardown(test_by_device, forget),
		cmocka_unit_test_teardown(test_by_number, forget),
		cmocka_unit_test_teardown(test_contexts_that_no_work_has, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
