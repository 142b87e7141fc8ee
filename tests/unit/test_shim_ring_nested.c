/* SPDX-License-Identifier: BSD-2-Clause */
/* A handler within a handler, at every instruction: the inner one takes the room that the outer one has just seen, while an append has its place
 * in the segment still. Nobody may leave that segment before it is committed. */
#include <signal.h>

#include "late.h"
#include "shim_trace.h"

#define TYPE 77 /* unknown to everybody */

enum { INTERRUPTED = 64, OUTER = 32, ROOM = 48, INNER = ROOM };

static uint8_t words[INTERRUPTED];
static struct ring ring;
static volatile unsigned steps, step_to_take;
static volatile uint32_t before_inner; /* ring.at as the inner one came; 0: it did not */

static void at_each_step(int signal_number)
{
	(void)signal_number;
	if (steps++ != step_to_take)
		return;
	before_inner = ring.at;
	ring_append_here(&ring, TYPE, INNER, words);
}

#if defined(__x86_64__)
#define TRAP_FLAG 0x100ull

static __attribute__((noinline)) void append_step_by_step(void)
{
	steps = before_inner = 0;
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
	ring_append_here(&ring, TYPE, OUTER, words);
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~TRAP_FLAG);
}
#else
static void append_step_by_step(void)
{
	skip(); /* no way to have a signal at each instruction */
}
#endif

/* Full, by a few large records, but for the interrupted one and ROOM. Where that begins. */
static uint32_t almost_full(void)
{
	uint32_t left, size;

	ring_attach(&ring);
	while ((left = GST_SEGMENT_BYTES - INTERRUPTED - ROOM - ring.at) > 0) {
		size = left > 32768 ? 32768 : left;
		ring_commit(ring_reserve(&ring, TYPE, (uint16_t)size));
	}
	return ring.at;
}

static void a_place_is_taken_or_none_is(void **state)
{
	unsigned took_the_room = 0, found_none = 0;
	uint32_t begin;
	uint8_t *segment;

	(void)state;
#if defined(__SANITIZE_THREAD__)
	printf("skip: ThreadSanitizer delivers signals late, not in the middle of an append\n");
	skip();
#endif
	begin = almost_full();
	segment = ring.segment;
	signal(SIGTRAP, at_each_step);
	for (step_to_take = 0;; step_to_take++) {
		void *interrupted;

		memset(segment + begin, 0, GST_SEGMENT_BYTES - begin);
		ring.at = begin;
		interrupted = ring_reserve(&ring, TYPE, INTERRUPTED);
		assert_ptr_equal(interrupted, segment + begin);
		append_step_by_step();
		if (!before_inner)
			break;
		if (before_inner + INNER <= GST_SEGMENT_BYTES)
			took_the_room++;
		else
			found_none++;
		assert_true(ring.at <= GST_SEGMENT_BYTES);
		ring_append_here(&ring, TYPE, INNER, words);
		assert_ptr_equal(ring.segment, segment);
		ring_commit(interrupted);
		late_forget();
	}
	signal(SIGTRAP, SIG_DFL);
	assert_true(took_the_room > 5);
	assert_true(found_none > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_place_is_taken_or_none_is, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
