/* SPDX-License-Identifier: BSD-2-Clause */
/* Places in the file that were claimed in vain are had again, whoever claimed others behind them. */
#include "shim_trace.h"

#include <pthread.h>
#include <sys/resource.h>

#define SEGMENTS 16u
#define THREADS 3
#define TRIES 500

static void *claim_in_vain(void *unused)
{
	struct segment s;

	(void)unused;
	for (int i = 0; i < TRIES; i++)
		assert_int_not_equal(segment_claim(&s, NULL), 0);
	return NULL;
}

static void no_place_is_lost_where_descriptors_were_short(void **state)
{
	struct rlimit limit, none;
	pthread_t threads[THREADS];
	struct segment s;
	bool had[SEGMENTS] = { false };
	unsigned n = 0;

	(void)state;
	settings.limit_bytes = GST_SEGMENTS_OFFSET + SEGMENTS * GST_SEGMENT_BYTES;
	getrlimit(RLIMIT_NOFILE, &limit);
	none = (struct rlimit){ 0, limit.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, claim_in_vain, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	setrlimit(RLIMIT_NOFILE, &limit);
	for (; segment_claim(&s, NULL) == 0; n++) {
		assert_true(s.index < SEGMENTS);
		assert_false(had[s.index]);
		had[s.index] = true;
	}
	assert_int_equal(n, SEGMENTS - 1); /* one is the keeper's */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_place_is_lost_where_descriptors_were_short, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
