/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_baseline_shape.h"

#include "diff_baseline.h"

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are read as 64 bits");

#define FIELD(type, member, kind)                                        \
	{                                                                \
#member, kind, offsetof(struct type, member), 0, 0, NULL \
	}
#define LIST(type, member, most, shape)                                                                         \
	{                                                                                                       \
#member, BASELINE_LIST, offsetof(struct type, member), offsetof(struct type, n_##member), most, \
			&(shape)                                                                                \
	}
#define ONE(type, member, shape)                                                     \
	{                                                                            \
#member, BASELINE_ONE, offsetof(struct type, member), 0, 0, &(shape) \
	}
#define SHAPE(type, list, check)                                                 \
	{                                                                        \
		sizeof(struct type), list, sizeof(list) / sizeof(list[0]), check \
	}

/* Of numbers that are within BASELINE_NUMBER: no sum of these overflows. */
static bool sums(int64_t whole, const int64_t *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		whole -= parts[i];
	return whole == 0;
}

/* ---- the typical step ---- */

static const struct baseline_field typical_fields[] = {
	{ "step", BASELINE_INT64, offsetof(struct diff_typical, row_ns[ROW_STEP]), 0, 0, NULL },
	{ "idle", BASELINE_INT64, offsetof(struct diff_typical, row_ns[ROW_IDLE]), 0, 0, NULL },
	{ "leaves", BASELINE_LEAVES, offsetof(struct diff_typical, row_ns), 0, 0, NULL },
	{ "errors", BASELINE_ERRORS, offsetof(struct diff_typical, error_ns), 0, 0, NULL },
	FIELD(diff_typical, tail_ns, BASELINE_INT64),
	FIELD(diff_typical, tail_error_ns, BASELINE_DOUBLE),
	FIELD(diff_typical, n, BASELINE_AMOUNT),
	FIELD(diff_typical, blocks, BASELINE_AMOUNT),
};

static const char *typical_wrong(const void *of)
{
	const int64_t *row = ((const struct diff_typical *)of)->row_ns;

	if (!sums(row[ROW_STEP], row + ROW_LEAVES, DIFF_LEAVES))
		return "a step's leaves do not sum to the step";
	return sums(row[ROW_IDLE], row + ROW_LEAVES + LEAF_CAUSES, CAUSE_COUNT)
		       ? NULL
		       : "a step's causes do not sum to its idle time";
}

static const struct baseline_shape typical = SHAPE(diff_typical, typical_fields, typical_wrong);

static const struct baseline_field class_fields[] = {
	FIELD(diff_class, key, BASELINE_UINT64),
	FIELD(diff_class, words, BASELINE_WORDS),
	ONE(diff_class, typical, typical),
};

static const struct baseline_shape class = SHAPE(diff_class, class_fields, NULL);

/* ---- what a step has ---- */

static const struct baseline_field kernel_fields[] = {
	FIELD(diff_kernel, name, BASELINE_WORDS),
	FIELD(diff_kernel, per_step, BASELINE_DOUBLE),
	FIELD(diff_kernel, ns_per_step, BASELINE_INT64),
	FIELD(diff_kernel, has_ns, BASELINE_BOOL),
	FIELD(diff_kernel, bytes_per_step, BASELINE_DOUBLE),
};

static const struct baseline_shape kernel = SHAPE(diff_kernel, kernel_fields, NULL);

static const struct baseline_field site_fields[] = {
	FIELD(diff_site, where, BASELINE_WORDS),
	FIELD(diff_site, idle_ns, BASELINE_INT64),
	FIELD(diff_site, gaps, BASELINE_DOUBLE),
	FIELD(diff_site, causes, BASELINE_CAUSES),
};

static const char *site_wrong(const void *of)
{
	const struct diff_site *s = of;

	return sums(s->idle_ns, s->causes, CAUSE_COUNT) ? NULL : "a site's causes do not sum to its idle time";
}

static const struct baseline_shape site = SHAPE(diff_site, site_fields, site_wrong);

static const struct baseline_field gap_fields[] = {
	FIELD(diff_gap, before, BASELINE_WORDS),
	FIELD(diff_gap, after, BASELINE_WORDS),
	FIELD(diff_gap, key, BASELINE_UINT64),
	FIELD(diff_gap, per_step, BASELINE_DOUBLE),
	FIELD(diff_gap, ns_per_step, BASELINE_INT64),
	FIELD(diff_gap, causes, BASELINE_CAUSES),
	FIELD(diff_gap, number, BASELINE_AMOUNT),
	FIELD(diff_gap, longest_ns, BASELINE_INT64),
	{ "lines", BASELINE_LINES, offsetof(struct diff_gap, lines), offsetof(struct diff_gap, n_lines), DIFF_LINES,
	  NULL },
};

static const char *gap_wrong(const void *of)
{
	const struct diff_gap *g = of;

	return sums(g->ns_per_step, g->causes, CAUSE_COUNT) ? NULL : "a gap's causes do not sum to it";
}

static const struct baseline_shape gap = SHAPE(diff_gap, gap_fields, gap_wrong);

/* ---- devices and runs ---- */

static const struct baseline_field memory_fields[] = {
	FIELD(diff_memory, known, BASELINE_BOOL),           FIELD(diff_memory, peak_allocated, BASELINE_AMOUNT),
	FIELD(diff_memory, peak_reserved, BASELINE_AMOUNT), FIELD(diff_memory, fragmentation, BASELINE_DOUBLE),
	FIELD(diff_memory, out_of_memory, BASELINE_AMOUNT), FIELD(diff_memory, told, BASELINE_BOOL),
};

static const struct baseline_shape memory = SHAPE(diff_memory, memory_fields, NULL);

static const struct baseline_field device_fields[] = {
	FIELD(diff_run_device, number, BASELINE_UINT32),
	FIELD(diff_run_device, rank, BASELINE_UINT32),
	FIELD(diff_run_device, name, BASELINE_WORDS),
	FIELD(diff_run_device, uuid, BASELINE_WORDS),
	FIELD(diff_run_device, n_steps, BASELINE_AMOUNT),
	FIELD(diff_run_device, n_warm_up, BASELINE_AMOUNT),
	FIELD(diff_run_device, by_ranges, BASELINE_BOOL),
	FIELD(diff_run_device, step_name, BASELINE_WORDS),
	ONE(diff_run_device, typical, typical),
	FIELD(diff_run_device, blurred_ns, BASELINE_INT64),
	FIELD(diff_run_device, unresolved_ns, BASELINE_INT64),
	ONE(diff_run_device, memory, memory),
	LIST(diff_run_device, classes, DIFF_CLASSES + 1, class),
	LIST(diff_run_device, kernels, DIFF_KERNELS, kernel),
	FIELD(diff_run_device, has_comms, BASELINE_BOOL),
	LIST(diff_run_device, comms, DIFF_KERNELS, kernel),
	LIST(diff_run_device, sites, DIFF_SITES, site),
	LIST(diff_run_device, gaps, DIFF_GAPS, gap),
};

/* What share of the steps a kind has is asked. */
static const char *device_wrong(const void *of)
{
	const struct diff_run_device *d = of;
	size_t left = d->n_steps;

	for (size_t i = 0; i < d->n_classes; i++) {
		if (!d->n_steps || d->classes[i].typical.n > left)
			return "its kinds of steps have more steps than there are";
		left -= d->classes[i].typical.n;
	}
	return NULL;
}

static const struct baseline_shape device = SHAPE(diff_run_device, device_fields, device_wrong);

static const struct baseline_field fact_fields[] = {
	FIELD(diff_fact, name, BASELINE_WORDS),
	FIELD(diff_fact, value, BASELINE_WORDS),
};

static const struct baseline_shape fact = SHAPE(diff_fact, fact_fields, NULL);

static const struct baseline_field run_fields[] = {
	FIELD(diff_run, path, BASELINE_WORDS),
	FIELD(diff_run, kind, BASELINE_WORDS),
	FIELD(diff_run, timing, BASELINE_WORDS),
	FIELD(diff_run, probes, BASELINE_WORDS),
	FIELD(diff_run, cut, BASELINE_MAYBE),
	FIELD(diff_run, index, BASELINE_INT),
	FIELD(diff_run, count, BASELINE_INT),
	LIST(diff_run, facts, BASELINE_FACTS, fact),
	LIST(diff_run, devices, BASELINE_DEVICES, device),
};

const struct baseline_shape baseline_run = SHAPE(diff_run, run_fields, NULL);
