/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting and transfer against a model that looks at each nanosecond: random kernels of random ranks, one over the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "ranks_world.h"
#include "tests/unit/fewer.h"

#define KERNELS 24
#define LENGTH 400 /* ns */
#define RANKS 3
#define LAST_SEED FEWER(4000)

struct kernel {
	int64_t begin, end;
	uint32_t seq; /* 0: it computes */
	int64_t wait; /* -1 not known */
	bool vague;   /* its begin is known to no better than 9 us */
};

struct model {
	struct kernel at[RANKS][KERNELS];
	size_t n[RANKS], ranks;
};

static struct world w;

static int by_begin(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

static void draw(struct model *m)
{
	memset(m, 0, sizeof(*m));
	m->ranks = 2 + (size_t)below(RANKS - 1);
	for (size_t r = 0; r < m->ranks; r++) {
		uint32_t seq = 0;

		m->n[r] = 1 + (size_t)below(KERNELS);
		for (size_t i = 0; i < m->n[r]; i++) {
			m->at[r][i].begin = 100 + below(LENGTH);
			m->at[r][i].end = m->at[r][i].begin + below(60);
		}
		qsort(m->at[r], m->n[r], sizeof(m->at[r][0]), by_begin);
		for (size_t i = 0; i < m->n[r]; i++) {
			m->at[r][i].seq = below(3) ? ++seq : 0;
			m->at[r][i].vague = !below(40);
			seq += !below(12); /* one that ran nothing here */
			if (!below(20) && m->at[r][i].seq > 1)
				seq = --m->at[r][i].seq; /* one that is there twice */
		}
	}
}

/* The kernel that this rank has for the collective; NULL: none, or not one alone. */
static const struct kernel *only(const struct model *m, size_t rank, uint32_t seq)
{
	const struct kernel *found = NULL;

	for (size_t i = 0; i < m->n[rank]; i++) {
		if (m->at[rank][i].seq != seq)
			continue;
		if (found)
			return NULL;
		found = &m->at[rank][i];
	}
	return found;
}

/* How long it waits; -1 where some rank's kernel is not there, or not known. Of one that is there twice on all ranks each is matched
 * with its like, so none of the model's draws has that. */
static int64_t wait_of(const struct model *m, const struct kernel *k)
{
	int64_t shortest = INT64_MAX;

	for (size_t r = 0; r < m->ranks; r++) {
		const struct kernel *other = only(m, r, k->seq);

		if (!other || other->vague)
			return -1;
		shortest = other->end - other->begin < shortest ? other->end - other->begin : shortest;
	}
	return k->end - k->begin - shortest;
}

static bool twice_everywhere(const struct model *m)
{
	for (uint32_t seq = 1; seq <= KERNELS * 2; seq++) {
		bool all = true, any = false;

		for (size_t r = 0; r < m->ranks; r++) {
			size_t n = 0;

			for (size_t i = 0; i < m->n[r]; i++)
				n += m->at[r][i].seq == seq;
			all &= n > 0;
			any |= n > 1;
		}
		if (all && any)
			return true;
	}
	return false;
}

static void build(struct model *m)
{
	static struct op_more more[RANKS][KERNELS];

	world_begin(&w, m->ranks, KERNELS);
	for (size_t r = 0; r < m->ranks; r++) {
		w.ranks[r].offset_ns = below(1000000);
		for (size_t i = 0; i < m->n[r]; i++) {
			struct kernel *k = &m->at[r][i];
			struct op *op = world_kernel(&w, r, 0, k->seq, k->begin, k->end);

			k->wait = k->seq ? wait_of(m, k) : -1;
			if (k->vague) {
				op->stretch_begin_ns -= 9000;
				more[r][i] = (struct op_more){ op->begin_ns + 9000, op->end_ns, 0 };
				w.ranks[r].of[i].more = &more[r][i];
			}
		}
	}
	assert_int_equal(world_compare(&w), ERR_NONE);
}

/* What each nanosecond of the rank is. */
static struct rank_device look(const struct model *m, size_t r)
{
	struct rank_device d = { 0 };

	for (int64_t ns = 0; ns < 100 + LENGTH + 60; ns++) {
		size_t compute = 0, wait = 0, transfer = 0, unknown = 0;

		for (size_t i = 0; i < m->n[r]; i++) {
			const struct kernel *k = &m->at[r][i];

			if (ns < k->begin || ns >= k->end)
				continue;
			compute += !k->seq;
			wait += k->seq && k->wait >= 0 && ns < k->begin + k->wait;
			transfer += k->seq && k->wait >= 0 && ns >= k->begin + k->wait;
			unknown += k->seq && k->wait < 0;
		}
		if (compute || wait + transfer + unknown == 0)
			continue;
		d.transfer_ns += transfer > 0;
		d.wait_ns += !transfer && !unknown;
		d.unsplit_ns += !transfer && unknown;
	}
	return d;
}

static void each_nanosecond(void **state)
{
	int64_t waits = 0, transfers = 0, unsplit = 0;
	static struct model m;

	(void)state;
	for (uint64_t seed = 1; seed <= LAST_SEED; seed++) {
		world_seed = seed;
		do {
			draw(&m);
		} while (twice_everywhere(&m));
		build(&m);
		for (size_t r = 0; r < m.ranks; r++) {
			struct rank_device want = look(&m, r);
			const struct rank_device *have = &w.got.devices[r];

			if (have->wait_ns != want.wait_ns || have->transfer_ns != want.transfer_ns ||
			    have->unsplit_ns != want.unsplit_ns)
				fail_msg("seed %llu, rank %zu: %lld %lld %lld, not %lld %lld %lld",
					 (unsigned long long)seed, r, (long long)have->wait_ns,
					 (long long)have->transfer_ns, (long long)have->unsplit_ns,
					 (long long)want.wait_ns, (long long)want.transfer_ns,
					 (long long)want.unsplit_ns);
			waits += want.wait_ns;
			transfers += want.transfer_ns;
			unsplit += want.unsplit_ns;
		}
		for (size_t r = 0; r < m.ranks; r++) { /* each nanosecond of waiting is one kernel's */
			int64_t sum = 0;

			for (size_t i = 0; i < w.got.n_parts; i++)
				sum += w.got.members[w.got.parts[i].member].device == r ? w.got.parts[i].exposed_wait_ns
											: 0;
			assert_int_equal(sum, w.got.devices[r].wait_ns);
		}
		world_end(&w);
	}
	assert_true(waits > 1000 && transfers > 1000 && unsplit > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_nanosecond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
