/* SPDX-License-Identifier: BSD-2-Clause */
/* Which communicators of several processes are one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run/comm_hashes.h"
#include "tests/support/failing_alloc.h"

struct ranks {
	struct comm comms[3][2];
	struct trace traces[3];
	struct trace *order[3];
	struct run run;
};

static void begin(struct ranks *r)
{
	*r = (struct ranks){ .run = { .traces = r->order, .n_traces = 3 } };
	for (size_t i = 0; i < 3; i++) {
		r->traces[i] = (struct trace){ .comms = r->comms[i], .n_comms = 2 };
		r->order[i] = &r->traces[i];
		r->comms[i][0].hash = 1;
		r->comms[i][1].hash = 2;
	}
}

static uint64_t stands_for(const struct ranks *r, uint64_t hash)
{
	struct comm_hashes h;
	uint64_t got;

	assert_true(comm_hashes_build(&h, &r->run));
	got = comm_hash_of(&h, hash);
	comm_hashes_free(&h);
	return got;
}

static void each_its_own(void **state)
{
	struct ranks r;

	(void)state;
	begin(&r);
	assert_int_equal(stands_for(&r, 1), 1);
	assert_int_equal(stands_for(&r, 2), 2);
	assert_int_equal(stands_for(&r, 77), 77);
	r.run.n_traces = 0;
	assert_int_equal(stands_for(&r, 1), 1);
}

/* The ranks that join know it by another hash than those that were there; the first says both. */
static void one_that_was_grown(void **state)
{
	struct ranks r;

	(void)state;
	begin(&r);
	r.comms[0][1].also = 9;
	r.comms[2][1].hash = 9;
	assert_int_equal(stands_for(&r, 9), 2);
	assert_int_equal(stands_for(&r, 2), 2);
	assert_int_equal(stands_for(&r, 1), 1);
	assert_int_equal(stands_for(&r, 8), 8);
	r.comms[1][0].also = UINT64_MAX; /* another one */
	assert_int_equal(stands_for(&r, UINT64_MAX), 1);
	assert_int_equal(stands_for(&r, 9), 2);
}

/* Two that say something else of one hash: the same is believed in whatever order the files come. */
static void two_that_contradict(void **state)
{
	struct ranks r;

	(void)state;
	begin(&r);
	r.comms[0][1].also = 9;
	r.comms[1][0].also = 9;
	assert_int_equal(stands_for(&r, 9), 1);
	r.order[0] = &r.traces[1];
	r.order[1] = &r.traces[0];
	assert_int_equal(stands_for(&r, 9), 1);
}

static void no_memory(void **state)
{
	struct comm_hashes h;
	struct ranks r;

	(void)state;
	begin(&r);
	fail_at = 1;
	assert_false(comm_hashes_build(&h, &r.run));
	comm_hashes_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_its_own),
		cmocka_unit_test(one_that_was_grown),
		cmocka_unit_test(two_that_contradict),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
