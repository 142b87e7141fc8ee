/* SPDX-License-Identifier: BSD-2-Clause */
/* summary.h: the answer. The one structure that is printed, exported and compared; every number that users see is in it. */
#pragma once

#include "cause/cause.h"
#include "memory/memory.h"
#include "ranks/ranks.h"
#include "steps/phases.h"
#include "steps/self.h"
#include "timeline/timeline.h"

struct summary_device {
	const struct device_timeline *timeline; /* borrowed */
	struct attribution attribution;
	int64_t unresolved_causes[CAUSE_COUNT]; /* of the estimate; sums to timeline->estimate.unresolved.ns */
	uint32_t number;   /* "device" in every listing: its ordinal, or its place in the list where ordinals clash */
	uint32_t rank;     /* GST_NONE not known, 0 where there are no communicators */
	char name[64];     /* clean */
	char uuid[48];     /* "GPU-…" as nvidia-smi writes it */
	int64_t span_ns, before_ns, copy_exposed_ns; /* memsets are copies here */
	int64_t h2d_pageable_ns, h2d_pinned_ns, d2h_ns, d2d_ns, peer_ns, memset_ns; /* sum to copy_exposed_ns */
	int64_t comm_wait_ns, comm_transfer_ns, comm_unsplit_ns; /* sum to timeline->comm_ns */
	int64_t startup_ns, shutdown_ns;
	struct device_phases phases;
	size_t first_gap;  /* number of its first gap, counted over all devices */
	const struct memory_device *memory; /* NULL: none of its memory is on record */
};

struct summary_count {
	const char *name; /* of a driver or NCCL call; borrowed from a trace; untrusted text */
	uint64_t n;
};

struct summary {
	const struct run *run;           /* borrowed */
	const struct timeline *timeline; /* borrowed */
	struct threads threads;
	struct memory memory;
	struct steps steps;
	struct range_stacks ranges;
	struct ranks ranks;
	struct summary_device *devices; size_t n_devices;
	size_t n_gaps;
	const char *source;        /* where imported: the tool whose traces these are, "kineto", "nsys" */
	const char *device_timing; /* "edges"; the coarsest of the processes; "imported" */
	uint64_t imported;         /* processes of other tools' traces: all or none */
	uint64_t imported_lost, imported_left_out, without_work; /* as struct imported has them */
	const char *host_probes;   /* "ebpf"; what watched them best */
	size_t running, cut, unknown; /* processes, by how they ended (enum life); the others did regularly */
	uint64_t records_dropped, operations_unlinked, entry_points_unknown; /* losses; host_lost is among the first */
	uint64_t host_lost, host_tasks_lost; /* of host probes: records; tasks that were not followed */
	uint64_t activities, activities_bad, activities_dropped; /* measured work; left out as its times cannot be; without room */
	uint64_t operations_lost, measured_unlinked; /* as in the timeline */
	uint64_t streams_untracked, edges_skipped, names_missing, unfinished;
	size_t recycled; /* processes whose oldest records were given up, or left out because another's were */
	uint64_t segments_recycled, records_recycled, calls_recycled, definitions_lost;
	int64_t begins_late_ns; /* how much of the longest such process is missing */
	struct summary_count *calls; size_t n_calls;       /* by name */
	struct summary_count *injected; size_t n_injected; /* by name */
	struct self_cost self;
};

enum err_kind summary_build(struct summary *out, const struct timeline *tl, struct error *e);
/* The timeline too: what of the summary does not need it is made at the same time. Both are the caller's where there is no error. */
enum err_kind summary_of_run(struct summary *out, struct timeline *tl, const struct run *run, struct error *e);
void summary_free(struct summary *s);

/* Gap by the number that listings use; NULL beyond the last. */
const struct gap_story *summary_gap(const struct summary *s, size_t number, const struct summary_device **device);

/* The numbers of the n longest gaps, longest first, into an array that the caller frees. *n becomes smaller where there are fewer.
 * NULL: no memory. */
size_t *summary_longest(const struct summary *s, size_t *n);
