/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_sides.h: runs to be compared, made of simulated steps (diff_simulated.h): each device has kinds of steps, one behind the other in turn. */
#pragma once

#include <stdio.h>

#include "diff/diff.h"
#include "diff/diff_keep.h"
#include "tests/unit/diff_simulated.h"

#define SIDE_RUNS 6
#define SIDE_KINDS 4
#define SIDE_KERNELS 8
#define SIDE_MS 1e6

struct side_kind {
	uint64_t key;
	struct simulated_program of; /* steps: of the kind */
};

struct side_device {
	uint32_t number, rank;
	const char *uuid, *step_name; /* step_name NULL: launches tell steps */
	const char *kernels[SIDE_KERNELS]; /* 10 of each in a step, 1 ms; NULL ends them */
	struct side_kind kinds[SIDE_KINDS]; size_t n_kinds;
};

/* One step of each kind in turn, until all have been. */
static inline void side_mix(struct diff_series *all, const struct diff_series *kinds, size_t n)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += kinds[i].n;
	*all = (struct diff_series){ .n = total };
	for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++) {
		size_t at = 0;

		all->leaf[leaf] = calloc(total + 1, sizeof(int64_t));
		for (size_t step = 0; at < total; step++)
			for (size_t i = 0; i < n; i++)
				if (step < kinds[i].n)
					all->leaf[leaf][at++] = kinds[i].leaf[leaf] ? kinds[i].leaf[leaf][step] : 0;
	}
}

static inline void side_kernels(struct diff_run *run, struct diff_run_device *d, const struct side_device *made)
{
	struct diff_kernel kernels[SIDE_KERNELS];

	for (size_t i = 0; i < SIDE_KERNELS && made->kernels[i]; i++)
		kernels[d->n_kernels++] = (struct diff_kernel){ .name = made->kernels[i], .per_step = 10, .ns_per_step = 1000000, .has_ns = true };
	d->kernels = diff_keep_list(&run->texts, kernels, d->n_kernels, sizeof(*kernels));
}

static inline void side_device(struct diff_run *run, struct diff_run_device *d, const struct side_device *made)
{
	struct diff_series kinds[SIDE_KINDS], all;
	struct diff_class classes[SIDE_KINDS];
	size_t n = 0;

	*d = (struct diff_run_device){ .number = made->number, .rank = made->rank, .name = "GPU", .uuid = made->uuid ? made->uuid : "",
				       .by_ranges = made->step_name != NULL, .step_name = made->step_name ? made->step_name : "" };
	for (size_t i = 0; i < made->n_kinds; i++) {
		if (!made->kinds[i].of.steps)
			continue;
		simulated_run(&kinds[n], &made->kinds[i].of);
		classes[n] = (struct diff_class){ .key = made->kinds[i].key, .words = "launches" };
		assert_true(diff_typical_of(&classes[n].typical, &kinds[n], 1));
		n++;
	}
	side_mix(&all, kinds, n);
	d->n_steps = all.n;
	assert_true(diff_typical_of(&d->typical, &all, 1));
	d->classes = diff_keep_list(&run->texts, classes, n, sizeof(*classes));
	d->n_classes = n;
	diff_series_free(&all);
	for (size_t i = 0; i < n; i++)
		diff_series_free(&kinds[i]);
	side_kernels(run, d, made);
}

static inline void side_run(struct diff_run *run, const struct side_device *devices, size_t n)
{
	*run = (struct diff_run){ .path = "run", .kind = "gpushim", .timing = "edges", .probes = "ebpf", .count = 1, .n_devices = n };
	run->devices = arena_alloc(&run->texts, n * sizeof(*run->devices) + 1);
	for (size_t i = 0; i < n; i++)
		side_device(run, &run->devices[i], &devices[i]);
}

/* Compute, a cause, another one. */
static inline struct side_device side_usual(double compute_ms, double wait_ms, double sync_ms, size_t steps)
{
	struct side_device d = { .number = 0, .rank = GST_NONE, .kernels = { "gemm", "softmax", "norm", "copy" }, .n_kinds = 1 };

	d.kinds[0] = (struct side_kind){ .key = 7, .of = { .variation = 0.05, .run_to_run = 0.003, .steps = steps } };
	d.kinds[0].of.leaf_ns[LEAF_COMPUTE] = compute_ms * SIDE_MS;
	d.kinds[0].of.leaf_ns[LEAF_CAUSES + CAUSE_input_storage] = wait_ms * SIDE_MS;
	d.kinds[0].of.leaf_ns[LEAF_CAUSES + CAUSE_sync_bubble] = sync_ms * SIDE_MS;
	return d;
}
