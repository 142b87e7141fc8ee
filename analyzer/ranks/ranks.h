/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks.h: the ranks of a run beside each other.
 *
 *   ranks_parts     which work of a device is which NCCL call's
 *   ranks_counted   … where calls carry no numbers: their order, if all ranks have the same
 *   ranks_match     … and of all ranks: the same collective, by communicator and number
 *   ranks_hosts     which clocks there are, and which of them are one: containers of one machine
 *   ranks_clock     the clocks of different hosts, aligned on the ends of collectives: there all ranks are done at once
 *   ranks_split     exposed communication: waiting for the last rank to come, then transfer
 *   ranks_straggler who comes last, what that costs the others, and what it does meanwhile
 *
 * A device's own figures stay on its own clock, and exact. Alignment serves comparison only. */
#pragma once

#include "cause/cause.h"
#include "chain/threads.h"
#include "timeline/timeline.h"

struct rank_clock { /* of the processes of one host name and one boot */
	const struct gst_file_header *header; /* of its first process; the host's name in it is untrusted text */
	bool reference;
	bool aligned;     /* the reference is; the others where they are one with it (same_clock.h), or have enough in common with it */
	int64_t at_ns;    /* at this time of its own */
	int64_t offset_ns; /* … so much is added to be on the reference's clock, */
	double drift;      /* and so much more for each nanosecond after */
	uint64_t matches;    /* ends of collectives that are known well enough, here and on another rank */
	int64_t residual_p99_ns; /* 99 % of them are that near to the others' (the median), once aligned */
	uint64_t violations;     /* … end before the last of the others began: that cannot be */
};

struct rank_member { /* a process's work on a device */
	const struct trace *trace;
	uint32_t device; /* index in timeline.devices */
	uint32_t ordinal; /* as the process numbers it */
	uint32_t clock;  /* index in ranks.clocks */
	uint32_t rank;   /* in its largest communicator, GST_NONE not known */
	uint64_t operations;  /* kernels of collectives and messages */
	uint64_t collectives; /* … of collectives that are matched with all other ranks' */
	uint64_t timed;       /* … of which it is known who came last, */
	uint64_t last;        /* and it did */
	int64_t cost_ns;      /* how long the others waited, exposed, where it came last */
};

/* One rank's share in one collective. All times on its own clock. */
struct rank_part {
	const struct op *op;
	int64_t begin_low_ns, begin_high_ns, end_low_ns, end_high_ns; /* it began, and ended, within these */
	int64_t error_ns;   /* of both, if they were measured */
	int64_t wait_ns;    /* its duration less the shortest of all; -1 not known */
	int64_t exposed_wait_ns;
	uint64_t hash;
	uint32_t seq, piece; /* of the first call of its kernel; more than one kernel for a group: 0, 1, … */
	uint32_t member;     /* index in ranks.members */
	uint32_t comm;       /* index in the trace's comms */
	uint16_t kinds;      /* 1 << enum gst_nccl_kind of each of its calls */
};

struct rank_collective { /* parts with one hash, seq and piece, by rank */
	size_t first, n; /* in ranks.parts */
	bool whole;      /* each rank once */
	bool together;   /* all ranks are done at once: all-reduce, all-gather, reduce-scatter */
	bool timed;      /* the durations of all are known */
	uint32_t last;   /* the part that came last; GST_NONE not known, or several */
};

#define RANK_COMPUTE CAUSE_COUNT /* beside the causes of idle time: what else a rank does before it comes */
#define RANK_COPY (CAUSE_COUNT + 1)
#define RANK_COMM (CAUSE_COUNT + 2)
#define RANK_DOINGS (CAUSE_COUNT + 3)

/* A rank that the others wait for. */
struct straggler {
	uint32_t member;
	size_t waiters;     /* other members that waited, exposed, where it came last: they share its cost_ns */
	int doing;          /* a cause of idle time, or RANK_…: what it does longer than the median rank before it comes */
	int64_t excess_ns;  /* … by so much, over all collectives looked at; 0: nothing stands out */
	int64_t late_ns;    /* how much longer than the median rank it takes between two collectives, over the same */
	size_t looked_at;   /* collectives */
	int64_t own_ns, median_ns; /* what it spends with that, and the median rank, over the same */
	const char *kernel;  /* computing: the one with most time of it, NULL none is known; untrusted text */
	const char *kernel_title; /* … as people write it */
	int64_t kernel_ns;
	const struct gap_story *gap;    /* the longest that its cause owns, NULL none; */
	const struct gap_cause *owned;  /* and that piece of it */
	size_t gap_number;   /* of its device */
};

struct rank_device { /* like timeline.devices */
	struct intervals comm, copy; /* exposed; none where no rank is known */
	struct intervals wait, transfer; /* of comm; the rest is not split */
	int64_t wait_ns, transfer_ns, unsplit_ns; /* sums to comm_ns exactly */
	uint32_t rank; /* GST_NONE: the run has communicators, and none is known of its processes */
};

struct ranks {
	const struct timeline *timeline; /* borrowed */
	struct rank_clock *clocks;     size_t n_clocks;
	uint32_t *clock_of; /* like run->traces */
	struct rank_member *members;   size_t n_members; /* device by device */
	struct rank_part *parts;       size_t n_parts;   /* collective by collective */
	struct rank_collective *collectives; size_t n_collectives;
	struct straggler *stragglers;  size_t n_stragglers; /* the most expensive first */
	struct rank_device *devices;   size_t n_devices;
	bool aligned; /* all clocks are on which ranks communicate */
	uint64_t whole; /* collectives of which all ranks are there */
	uint64_t groups_apart; /* communicators whose calls carry no numbers, and of which ranks have different ones on record */
};

/* attributions: like tl->devices. */
enum err_kind ranks_build(struct ranks *out, const struct timeline *tl, const struct threads *threads,
			  const struct attribution *const attributions[], struct error *e);
void ranks_free(struct ranks *r);

/* A time of that clock on the reference's. */
int64_t rank_clock_reference(const struct rank_clock *c, int64_t ns);
/* The same for who draws all hosts in one picture: a clock that is not aligned goes by its host's wall clock, some milliseconds off. */
int64_t ranks_drawn_ns(const struct ranks *r, uint32_t clock, int64_t ns);

/* The clock of a device: of the first process that has work on it; those of one device are on one host. */
uint32_t ranks_device_clock(const struct ranks *r, size_t device);

/* A process on a device that has a number in some communicator, or communicates. */
static inline bool rank_is_one(const struct rank_member *m)
{
	return m->rank != GST_NONE || m->operations > 0;
}

/* "host-sleep", "compute", … */
const char *rank_doing_name(int doing);
