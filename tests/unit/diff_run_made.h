/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_run_made.h: runs as a comparison sees them, made up: at random, or by hand. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff_keep.h"
#include "diff/diff_run.h"

static uint64_t made_rng = 88172645463325252u;

static inline uint64_t made_random(uint64_t below)
{
	made_rng ^= made_rng << 13;
	made_rng ^= made_rng >> 7;
	made_rng ^= made_rng << 17;
	return (made_rng >> 11) % below;
}

static inline double made_amount(void)
{
	return made_random(4) ? (double)made_random(1000000007) / (double)(1 + made_random(1000003)) : 0;
}

static inline void *made_list(struct diff_run *r, size_t n, size_t size)
{
	void *list = arena_alloc(&r->texts, n * size + 1);

	assert_non_null(list);
	memset(list, 0, n * size);
	return list;
}

static inline const char *made_text(struct diff_run *r)
{
	static const char *const parts[] = { "gemm", " \"x\"\\", "\n", "\xc3\xa9", "void f<int>(a, b)", "/", "\x01", "" };
	char text[200] = "";

	for (uint64_t n = made_random(6); n > 0; n--)
		strcat(text, parts[made_random(8)]);
	return diff_keep_text(&r->texts, text);
}

static inline int64_t made_causes(int64_t causes[CAUSE_COUNT])
{
	int64_t sum = 0;

	for (int i = 0; i < CAUSE_COUNT; i++) {
		causes[i] = made_random(3) ? 0 : (int64_t)made_random(1u << 30);
		sum += causes[i];
	}
	return sum;
}

static inline struct diff_typical made_typical(void)
{
	struct diff_typical t = { .n = made_random(5000), .blocks = made_random(100), .tail_ns = (int64_t)made_random(2000) - 1000, .tail_error_ns = made_amount() };

	for (size_t i = ROW_LEAVES; i < DIFF_ROWS; i++) {
		t.row_ns[i] = made_random(3) ? 0 : (int64_t)made_random((uint64_t)1 << 40);
		t.row_ns[ROW_STEP] += t.row_ns[i];
		t.row_ns[ROW_IDLE] += i >= ROW_LEAVES + LEAF_CAUSES ? t.row_ns[i] : 0;
	}
	for (size_t i = 0; i < DIFF_ROWS; i++)
		t.error_ns[i] = made_amount();
	return t;
}

static inline void made_parts(struct diff_run *r, struct diff_run_device *d)
{
	d->classes = made_list(r, d->n_classes, sizeof(*d->classes));
	for (size_t i = 0; i < d->n_classes; i++) {
		d->classes[i] = (struct diff_class){ made_random(UINT64_MAX), made_text(r), made_typical() };
		d->n_steps += d->classes[i].typical.n;
	}
	d->kernels = made_list(r, d->n_kernels, sizeof(*d->kernels));
	for (size_t i = 0; i < d->n_kernels; i++)
		d->kernels[i] = (struct diff_kernel){ made_text(r), made_amount(), (int64_t)made_random(1u << 31),
						      made_random(2) != 0, made_amount() };
	d->sites = made_list(r, d->n_sites, sizeof(*d->sites));
	for (size_t i = 0; i < d->n_sites; i++) {
		d->sites[i] = (struct diff_site){ .where = made_text(r), .gaps = made_amount() };
		d->sites[i].idle_ns = made_causes(d->sites[i].causes);
	}
	d->gaps = made_list(r, d->n_gaps, sizeof(*d->gaps));
	for (size_t i = 0; i < d->n_gaps; i++) {
		struct diff_gap *g = &d->gaps[i];

		*g = (struct diff_gap){ .before = made_text(r), .after = made_text(r), .key = made_random(UINT64_MAX) * 2 + 1,
					.per_step = made_amount(), .number = made_random(1u << 30), .longest_ns = (int64_t)made_random(1u << 30) };
		g->ns_per_step = made_causes(g->causes);
		for (g->n_lines = 0; g->n_lines < made_random(DIFF_LINES + 1); g->n_lines++)
			g->lines[g->n_lines] = made_text(r);
	}
}

static inline struct diff_run made_run(void)
{
	struct diff_run r = { .index = (int)made_random(3), .count = 3, .n_facts = made_random(6), .n_devices = made_random(4) };

	r.path = made_text(&r);
	r.kind = made_text(&r);
	r.timing = made_text(&r);
	r.probes = made_text(&r);
	r.cut = made_random(2) ? made_text(&r) : NULL;
	r.facts = made_list(&r, r.n_facts, sizeof(*r.facts));
	for (size_t i = 0; i < r.n_facts; i++)
		r.facts[i] = (struct diff_fact){ made_text(&r), made_text(&r) };
	r.devices = made_list(&r, r.n_devices, sizeof(*r.devices));
	for (size_t i = 0; i < r.n_devices; i++) {
		struct diff_run_device *d = &r.devices[i];

		*d = (struct diff_run_device){ .number = (uint32_t)i, .rank = made_random(2) ? UINT32_MAX : (uint32_t)i,
					       .name = made_text(&r), .uuid = made_text(&r), .n_steps = 1 + made_random(1000),
					       .n_warm_up = made_random(5), .by_ranges = made_random(2) != 0, .step_name = made_text(&r),
					       .typical = made_typical(), .blurred_ns = (int64_t)made_random(1000),
					       .unresolved_ns = (int64_t)made_random(1000), .n_classes = made_random(4),
					       .n_kernels = made_random(20), .n_sites = made_random(6), .n_gaps = made_random(5) };
		if (made_random(2))
			d->memory = (struct diff_memory){ true, made_random((uint64_t)1 << 40), made_random((uint64_t)1 << 40),
							  (double)made_random(1000) / 1000, made_random(3), made_random(2) != 0 };
		made_parts(&r, d);
	}
	return r;
}
