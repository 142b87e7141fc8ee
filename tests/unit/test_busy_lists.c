/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of busy streams, against asking each list in turn; and many of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "trace/busy_lists.h"

#define STREAMS 6
#define LISTS 8

static int64_t naive(const struct trace *t, uint32_t stream, int64_t from_ns, bool destroyed)
{
	for (size_t i = 0; i < t->n_busy; i++) {
		const struct busy_list *list = &t->busy[i];
		bool named = false;

		for (size_t k = 0; k < list->n; k++)
			named |= t->busy_streams[list->first + k] == stream;
		if (list->time_ns >= from_ns && !list->open && !(list->left && destroyed) && !named)
			return list->time_ns;
	}
	return INT64_MAX;
}

static void each_stream_as_when_asked_one_by_one(void **state)
{
	struct busy_list lists[LISTS];
	uint32_t streams[LISTS * STREAMS];
	struct trace t = { .busy = lists, .busy_streams = streams };
	struct busy_lists b;

	(void)state;
	srand(1);
	for (int round = 0; round < 20000; round++) {
		t.n_busy = t.n_busy_streams = 0;
		for (size_t i = 0; i < (size_t)round % (LISTS + 1); i++) {
			struct busy_list *list = &lists[t.n_busy++];

			*list = (struct busy_list){ .time_ns = (int64_t)i / 2 * 10,
						    .first = t.n_busy_streams,
						    .open = rand() % 4 == 0,
						    .left = rand() % 4 == 0 };
			for (; rand() % 4 && list->n < STREAMS; list->n++)
				streams[t.n_busy_streams++] =
					rand() % 8 ? (uint32_t)rand() % STREAMS : GST_NONE; /* twice the same, too */
		}
		assert_true(busy_lists_new(&b, &t));
		for (uint32_t s = 0; s < STREAMS; s++)
			for (int64_t from_ns = 0; from_ns <= LISTS * 5; from_ns += 5)
				for (int destroyed = 0; destroyed < 2; destroyed++)
					assert_int_equal(busy_lists_idle(&b, s, from_ns, destroyed),
							 naive(&t, s, from_ns, destroyed));
		busy_lists_free(&b);
	}
}

/* A list for each stream would take minutes. */
static void many_lists_and_streams_take_no_time(void **state)
{
	const uint32_t n = 300000;
	struct trace t = { .busy = calloc(n, sizeof(*t.busy)), .busy_streams = calloc(n, 4), .n_busy = n };
	struct busy_lists b;

	(void)state;
	t.n_busy_streams = n;
	for (uint32_t i = 0; i < n; i++) {
		t.busy_streams[i] = i;
		t.busy[i] = (struct busy_list){ .time_ns = i, .first = i, .n = 1, .open = i % 3 == 0, .left = i > 2 };
	}
	assert_true(busy_lists_new(&b, &t));
	for (uint32_t s = 0; s < n; s++) {
		assert_int_equal(busy_lists_idle(&b, s, 0, false), s == 1 ? 2 : 1);
		assert_int_equal(busy_lists_idle(&b, s, 3, true), INT64_MAX);
	}
	busy_lists_free(&b);
	free(t.busy);
	free(t.busy_streams);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stream_as_when_asked_one_by_one),
		cmocka_unit_test(many_lists_and_streams_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
