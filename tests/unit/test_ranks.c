/* SPDX-License-Identifier: BSD-2-Clause */
/* Many ranks with clocks of their own, whose ends are late or lost, and records that make no sense: what is said of them is right, or nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "ranks/ranks_steps.h"
#include "ranks_world.h"
#include "tests/support/failing_alloc.h"

#define MS 1000000
#define STEP (10 * MS)

static struct world w;

struct noise {
	int64_t end_ns;    /* each end is late by up to so much, */
	unsigned far;      /* one in so many by a millisecond; 0 none */
	unsigned lost;     /* one in so many is not on record; 0 all are */
	int64_t arrive_ns; /* the ranks come within so much */
};

/* steps all-reduces of all ranks, 0.2 ms after the last has come. The ranks from `late` on come 3 ms later. */
static void train(size_t ranks, uint32_t steps, struct noise noise, size_t late)
{
	world_begin(&w, ranks, 2 * (size_t)steps);
	for (size_t i = 0; i < ranks; i++) {
		w.ranks[i].offset_ns = i * 3600000ll * MS + below(10 * MS) - 5 * MS;
		w.ranks[i].ppm = (double)below(30000) / 1000 - 15;
	}
	for (uint32_t k = 0; k < steps; k++) {
		int64_t last = 0, begins[64];

		for (size_t i = 0; i < ranks; i++) {
			begins[i] = k * (int64_t)STEP + MS + below(noise.arrive_ns + 1) + (i >= late ? 3 * MS : 0);
			last = begins[i] > last ? begins[i] : last;
		}
		for (size_t i = 0; i < ranks; i++) {
			int64_t end =
				last + MS / 5 + below(noise.end_ns + 1) + (noise.far && !below(noise.far) ? MS : 0);

			if (noise.lost && !below(noise.lost))
				continue;
			world_kernel(&w, i, 0, 0, k * (int64_t)STEP, k * (int64_t)STEP + MS / 2);
			world_kernel(&w, i, 0, k + 1, begins[i], end);
		}
	}
	assert_int_equal(world_compare(&w), ERR_NONE);
}

/* How far the clocks are from the truth, at the worst, over so many steps. */
static int64_t misalignment(uint32_t steps)
{
	const struct world_rank *reference = NULL;
	int64_t worst = 0;

	for (size_t i = 0; i < w.got.n_clocks; i++)
		reference = w.got.clocks[i].reference ? &w.ranks[i] : reference;
	assert_non_null(reference);
	for (size_t i = 0; i < w.got.n_clocks; i++) {
		assert_true(w.got.clocks[i].aligned);
		for (uint32_t k = 0; k < steps; k++) {
			int64_t ns = WORLD_EPOCH + k * (int64_t)STEP;
			int64_t off = llabs(rank_clock_reference(&w.got.clocks[i], world_own(&w.ranks[i], ns)) -
					    world_own(reference, ns));

			worst = off > worst ? off : worst;
		}
	}
	return worst;
}

static void sixty_four_clocks(void **state)
{
	(void)state;
	world_seed = 64;
	train(64, 300, (struct noise){ .end_ns = 5000, .far = 20, .lost = 10, .arrive_ns = MS }, 64);
	assert_int_equal(w.got.n_clocks, 64);
	assert_true(w.got.aligned);
	assert_true(misalignment(300) <= 5000);
	for (size_t i = 0; i < w.got.n_clocks; i++) {
		assert_true(w.got.clocks[i].matches > 200);
		assert_true(w.got.clocks[i].residual_p99_ns <= 2 * MS);
		assert_int_equal(w.got.clocks[i].violations, 0);
	}
	assert_int_equal(w.got.whole, 0); /* of each some rank's is lost */
	assert_int_equal(w.got.n_stragglers, 0);
	world_end(&w);
}

static void eight_clocks_exactly(void **state)
{
	(void)state;
	for (world_seed = 1; world_seed < 4;) {
		train(8, 100, (struct noise){ .arrive_ns = MS }, 8);
		assert_true(misalignment(100) <= 20);
		assert_int_equal(w.got.whole, 100);
		for (size_t i = 0; i < 8; i++) {
			assert_int_equal(w.got.members[i].rank, i);
			assert_int_equal(w.got.members[i].timed, 100);
			assert_true(w.got.clocks[i].residual_p99_ns <= 20);
		}
		world_end(&w);
		world_seed = world_seed % 7 + 2;
	}
}

/* Who comes last by chance is no straggler; who always does is one, with what it does longer. */
static void the_late_rank(void **state)
{
	(void)state;
	world_seed = 8;
	train(8, 100, (struct noise){ .end_ns = 1000, .arrive_ns = MS / 10 }, 8);
	assert_int_equal(w.got.n_stragglers, 0);
	world_end(&w);
	train(8, 100, (struct noise){ .end_ns = 1000, .arrive_ns = MS / 10 }, 7);
	assert_int_equal(w.got.n_stragglers, 1);
	assert_int_equal(w.got.members[w.got.stragglers[0].member].rank, 7);
	assert_int_equal(w.got.members[w.got.stragglers[0].member].last, 100);
	assert_int_equal(w.got.stragglers[0].looked_at, 99);
	assert_true(llabs(w.got.stragglers[0].late_ns - 99ll * 3 * MS) < 99 * MS / 10);
	world_end(&w);
	train(8, 7, (struct noise){ .arrive_ns = MS / 10 }, 7);
	assert_int_equal(w.got.n_stragglers, 0); /* seven times say nothing */
	world_end(&w);
}

/* Each rank with the next alone: a chain of clocks. */
static void chain(size_t ranks, uint32_t steps)
{
	world_begin(&w, ranks, 2 * (size_t)steps);
	for (size_t i = 0; i < ranks; i++) {
		struct world_rank *r = &w.ranks[i];

		r->offset_ns = below(1000 * MS);
		r->trace.n_comms = 2;
		for (size_t k = 0; k < 2; k++) /* [0] with the one before, [1] with the next */
			r->comms[k] = (struct comm){ .hash = i + k,
						     .id = (uint32_t)k + 1,
						     .rank = k ? 0 : 1,
						     .size = 2,
						     .device = (uint16_t)i };
	}
	for (uint32_t k = 0; k < 2 * steps; k++) /* by time: now the even ones with their next, now the odd ones */
		for (size_t i = k % 2; i + 1 < ranks; i += 2) {
			world_kernel(&w, i, 1, k / 2 + 1, k * (int64_t)MS, k * (int64_t)MS + MS / 2);
			world_kernel(&w, i + 1, 0, k / 2 + 1, k * (int64_t)MS, k * (int64_t)MS + MS / 2);
		}
	assert_int_equal(world_compare(&w), ERR_NONE);
}

static void clocks_in_turns(void **state)
{
	(void)state;
	world_seed = 5;
	chain(9, 20);
	assert_true(w.got.aligned);
	assert_true(misalignment(20) <= 50);
	world_end(&w);
	chain(64, 20);
	assert_false(w.got.aligned); /* too far from each other: that is said, and no more */
	assert_true(w.got.clocks[1].aligned && !w.got.clocks[63].aligned);
	world_end(&w);
	chain(3, 7);
	assert_false(w.got.aligned);
	world_end(&w);
}

/* As of one boot, or of machines that were started within 4 ms: hosts of other names, which began to count this much apart. */
static void alike(size_t hosts, uint32_t steps, int64_t apart_ns, struct noise noise)
{
	world_begin(&w, hosts, (size_t)steps);
	for (size_t i = 0; i < hosts; i++) {
		struct gst_file_header *h = &w.ranks[i].trace.header;

		w.ranks[i].offset_ns = (int64_t)i * apart_ns;
		h->start_mono_ns = (uint64_t)(WORLD_EPOCH + w.ranks[i].offset_ns);
		h->start_real_ns = 1700000000000000000u;
	}
	for (uint32_t k = 0; k < steps; k++)
		for (size_t i = 0; i < hosts; i++)
			world_kernel(&w, i, 0, k + 1, k * (int64_t)STEP,
				     k * (int64_t)STEP + MS + below(noise.end_ns + 1));
	assert_int_equal(world_compare(&w), ERR_NONE);
}

/* Containers of one machine: their clock is one, however few collectives they have in common, and exactly so. */
static void containers_have_one_clock(void **state)
{
	(void)state;
	world_seed = 11;
	for (uint32_t steps = 3; steps <= 300; steps *= 10) {
		alike(8, steps, 0, (struct noise){ .end_ns = 900 });
		assert_int_equal(w.got.n_clocks, 8);
		assert_true(w.got.aligned);
		for (size_t i = 0; i < 8; i++) {
			assert_true(w.got.clocks[i].aligned);
			assert_int_equal(w.got.clocks[i].offset_ns, 0);
			assert_true(w.got.clocks[i].drift == 0);
		}
		world_end(&w);
	}
}

/* Machines that were started together look like containers: what their collectives say is believed. */
static void machines_that_were_started_together(void **state)
{
	(void)state;
	alike(8, 100, 400000, (struct noise){ .end_ns = 0 });
	assert_true(w.got.aligned);
	assert_true(misalignment(100) <= 20);
	world_end(&w);
	alike(2, 3, 400 * MS, (struct noise){ .end_ns = 0 }); /* two boots, and too little to tell */
	assert_false(w.got.aligned);
	world_end(&w);
}

/* Pairs of ranks, of which one rank comes half a millisecond late in each step. */
static void one_of_many_pairs(void **state)
{
	(void)state;
	world_begin(&w, 16, 100);
	for (size_t i = 0; i < 16; i++)
		w.ranks[i].comms[0] = (struct comm){
			.hash = i / 2 + 1, .id = 1, .rank = (uint32_t)i % 2, .size = 2, .device = (uint16_t)i
		};
	for (uint32_t k = 0; k < 100; k++)
		for (size_t i = 0; i < 16; i++)
			world_kernel(&w, i, 0, k + 1, k * (int64_t)STEP + (i ? 0 : MS / 2), k * (int64_t)STEP + MS);
	assert_int_equal(world_compare(&w), ERR_NONE);
	assert_int_equal(w.got.n_stragglers, 1); /* a twentieth of its partner's time; of all ranks' it is little */
	assert_int_equal(w.got.members[w.got.stragglers[0].member].device, 0);
	assert_int_equal(w.got.stragglers[0].waiters, 1);
	assert_int_equal(w.got.members[w.got.stragglers[0].member].cost_ns, 100 * MS / 2);
	world_end(&w);
	train(8, 100, (struct noise){ .arrive_ns = 0 }, 7);
	assert_int_equal(w.got.stragglers[0].waiters, 7);
	world_end(&w);
}

/* When the second rank began is not known within a millisecond: nor is who came last. */
static void last_where_all_are_known(void **state)
{
	(void)state;
	world_begin(&w, 2, 1);
	world_kernel(&w, 0, 0, 1, 0, MS);
	world_kernel(&w, 1, 0, 1, MS / 4, MS)->stretch_begin_ns -= MS;
	assert_int_equal(world_compare(&w), ERR_NONE);
	assert_int_equal(w.got.whole, 1);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(w.got.members[i].timed, 0);
		assert_int_equal(w.got.members[i].last, 0);
	}
	world_end(&w);
}

static void a_clock_that_cannot_be(void **state)
{
	(void)state;
	world_seed = 6;
	world_begin(&w, 2, 80);
	for (uint32_t k = 0; k < 40; k++) { /* from the twentieth on the second rank's clock has jumped by 2 ms */
		world_kernel(&w, 0, 0, k + 1, k * (int64_t)STEP, k * (int64_t)STEP + MS);
		world_kernel(&w, 1, 0, k + 1, k * (int64_t)STEP - (k >= 20 ? 2 * MS : 0),
			     k * (int64_t)STEP + MS - (k >= 20 ? 2 * MS : 0));
	}
	assert_int_equal(world_compare(&w), ERR_NONE);
	assert_true(w.got.clocks[0].violations + w.got.clocks[1].violations > 0 ||
		    w.got.clocks[1].residual_p99_ns > MS / 4);
	world_end(&w);
}

static void twice_the_same_rank(void **state)
{
	(void)state;
	world_begin(&w, 3, 40);
	w.ranks[2].comms[0].rank = 1;
	for (uint32_t k = 0; k < 20; k++)
		for (size_t i = 0; i < 3; i++)
			world_kernel(&w, i, 0, k + 1, k * (int64_t)STEP, k * (int64_t)STEP + MS);
	assert_int_equal(world_compare(&w), ERR_NONE);
	assert_int_equal(w.got.whole, 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(w.got.devices[i].unsplit_ns, w.timeline.devices[i].comm_ns);
	world_end(&w);
}

/* Anything in the records of the calls. */
static void any_calls(void **state)
{
	(void)state;
	for (world_seed = 1; world_seed < 200000;) {
		uint64_t seed = world_seed;
		size_t ranks = 1 + (size_t)below(5);

		world_begin(&w, ranks, 64);
		for (size_t i = 0; i < ranks; i++) {
			struct world_rank *r = &w.ranks[i];

			r->trace.n_comms = 1 + (size_t)below(4);
			for (size_t k = 0; k < r->trace.n_comms; k++)
				r->comms[k] = (struct comm){ .hash = (uint64_t)below(3),
							     .also = (uint64_t)below(3),
							     .id = (uint32_t)k + 1,
							     .rank = below(9) ? (uint32_t)below(4) : GST_NONE,
							     .size = below(9) ? (uint32_t)below(5) : GST_NONE,
							     .device = (uint16_t)below(3) };
			for (int k = 0; k < 60; k++) {
				int64_t at = below(100) * 1000;

				world_kernel(&w, i, (uint32_t)below((int64_t)r->trace.n_comms), (uint32_t)below(9), at,
					     at + below(9000));
				if (!r->trace.n_nccl)
					continue;
				r->nccl[r->trace.n_nccl - 1].kind = (uint8_t)below(34);
				r->nccl[r->trace.n_nccl - 1].group = (uint32_t)below(4);
				r->nccl[r->trace.n_nccl - 1].stream = (uint32_t)below(2);
				r->nccl[r->trace.n_nccl - 1].end_ns += below(2) * 100000;
			}
		}
		assert_int_equal(world_compare(&w), ERR_NONE);
		for (size_t i = 0; i < ranks; i++) {
			const struct rank_device *d = &w.got.devices[i];

			assert_true(d->wait_ns >= 0 && d->transfer_ns >= 0 && d->unsplit_ns >= 0);
			assert_int_equal(d->wait_ns + d->transfer_ns + d->unsplit_ns, w.timeline.devices[i].comm_ns);
		}
		world_end(&w);
		world_seed = seed + 499;
	}
}

static void no_memory(void **state)
{
	enum err_kind kind = ERR_SYSTEM;
	unsigned refused = 0;

	(void)state;
	for (long n = 1; kind == ERR_SYSTEM; n++, refused++) {
		world_seed = 9;
		world_begin(&w, 3, 40);
		for (uint32_t k = 0; k < 20; k++)
			for (size_t i = 0; i < 3; i++)
				world_kernel(&w, i, 0, k + 1, k * (int64_t)STEP + (i ? 0 : 3 * MS),
					     k * (int64_t)STEP + 4 * MS);
		for (size_t i = 0; i < 3; i++)
			world_device(&w, i);
		fail_at = n;
		kind = world_compare(&w);
		fail_at = 0;
		assert_true(kind == ERR_NONE || kind == ERR_SYSTEM);
		if (kind == ERR_NONE)
			assert_int_equal(w.got.n_stragglers, 1);
		world_end(&w);
	}
	assert_true(refused > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sixty_four_clocks),
		cmocka_unit_test(eight_clocks_exactly),
		cmocka_unit_test(the_late_rank),
		cmocka_unit_test(clocks_in_turns),
		cmocka_unit_test(containers_have_one_clock),
		cmocka_unit_test(machines_that_were_started_together),
		cmocka_unit_test(one_of_many_pairs),
		cmocka_unit_test(last_where_all_are_known),
		cmocka_unit_test(a_clock_that_cannot_be),
		cmocka_unit_test(twice_the_same_rank),
		cmocka_unit_test(any_calls),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
