/* SPDX-License-Identifier: BSD-2-Clause */
/* gap_view.h: everything a rule may look at: the gap, and what the thread that submits the next work did during it. */
#pragma once

#include "chain/chain.h"
#include "chain/threads.h"
#include "findings.h"
#include "host/host_match.h"
#include "timeline/timeline.h"
#include "tools/syscall_names.h"

/* What of the process was in the swap when the thread was found in page faults. */
struct swapped {
	size_t looks;
	uint64_t most_bytes, last_bytes;
	uint64_t fell_bytes; /* from one look to the next, all of these: so much was brought back */
};

/* What a thread was at in a whole silence, by another tool's word. */
struct silence_ops {
	size_t n;                     /* pieces of one innermost op each, and of none */
	int64_t longest_ns;           /* the longest, */
	const struct op_piece *piece; /* … and of those with an op: NULL none */
	int64_t piece_ns;
	bool passes;                  /* it only went from call to call: in short steps, none of them one that loads data or waits for it */
};

/* Between two driver calls of the submitting thread. */
struct silence {
	int64_t begin_ns, end_ns;           /* whole, may reach beyond the gap */
	bool begin_known;                   /* false: no earlier call is on record, begin is the gap's */
	const struct usage *before, *after; /* the thread's accounts around it, NULL none */
	struct swapped swapped;             /* within the gap */
	struct silence_ops ops;             /* … of another tool's trace, else zero */
};

enum doing { DOING_OTHER, DOING_CPU, DOING_READ, DOING_WRITE, DOING_FLUSH, DOING_SLEEP, DOING_LOCK, DOING_FAULT };

/* Samples in a row that found the thread in one place. Each sample stands for the time halfway to its neighbours. */
struct activity {
	int64_t begin_ns, end_ns;
	enum doing doing;
	enum gst_fd_kind fd_kind;
	size_t n_samples;
	const char *syscall; /* NULL: on a CPU, or a call we have no name for */
	int32_t number;
	const char *file;    /* NULL none */
	const struct host_op *op; /* no samples: the very call, which another tool saw; else NULL */
	/* What the process's other threads did at those looks, of a futex. How often the one that has the lock was on a CPU; how often one waited for data
	 * of a pipe or a socket, and none was on a CPU; how often one was, of whom nothing says that it has the lock. And which, the last one seen. */
	size_t n_held, n_fed, n_beside;
	uint32_t holder, fed, beside;
};

struct call_row { /* the calls of a thread that submits without pause: one right after the other, measured by what a submission costs it */
	size_t n;                  /* from the submission in or before the gap's begin to the one that ends the gap */
	int64_t begin_ns, end_ns;  /* … the first one's entry, the last one's return */
	int64_t cost_ns, longest_silence_ns;
};

struct gap_view {
	const struct gap *gap;
	const struct device_timeline *device;
	const struct trace *trace;    /* of the process that submits the next work */
	const struct memory *memory;  /* of the run; NULL not known */
	const struct run *run;
	const struct call *submit;    /* the call that ends the gap, NULL unknown */
	uint32_t tid;                 /* the submitting thread, 0 unknown */
	bool proven;                  /* errors of its ends taken off, something is left */
	bool ready;                   /* submit had returned before the gap began: only device-* causes apply */
	int64_t submit_begin_ns;      /* entry of submit within the gap; the gap's end if unknown */
	const struct call *blocking;  /* the thread sat in this call, which waits, when the gap began; NULL none */
	const struct process_records *process; /* of trace, NULL unknown */
	const struct thread_records *records; /* all of the thread; NULL unknown */
	struct call_row row; bool in_a_row; /* the gap lies wholly within a row of submissions */
	const struct call *const *calls; size_t n_calls; /* the thread's, by begin: those around the gap's begin, those up to submit */
	struct call_place last_call;  /* … in records->calls: calls[n_calls - 1] */
	struct silence *silences;     size_t n_silences; /* those that reach into the gap before submit_begin_ns, in their order */
	struct activity *activities;  size_t n_activities; /* within silences and the gap */
	struct stretch *stretches;    size_t n_stretches;  /* of another tool's trace: what it was at, before submit_begin_ns (gap_view_ops.h) */
	struct host_match host;       /* the submitting thread, as the host probes know it */
	struct chain *chains; size_t n_chains; /* one for each silence: what it waited for within the gap; none where nobody watched */
	struct chain in_calls;        /* … and in the driver calls between them, submit the last */
	const struct thread_records *last_records; size_t near_call; /* of the gap before: this one's calls are mostly not far behind */
	size_t looked;                /* by the walks of all gaps so far (chain.h) */
	struct unfolded { struct call *calls; const struct call **list; struct call_place *places; size_t n, cap_calls, cap_list, cap_places, near; } unfolded; /* calls point
		there where one of them is folded */
	size_t cap_silences, cap_activities, cap_stretches, cap_chains;
};

/* v is zeroed or was set before (its arrays are used again). False: no memory. */
bool gap_view_set(struct gap_view *v, const struct device_timeline *d, const struct gap *gap, const struct threads *threads);
void gap_view_free(struct gap_view *v);
/* Part of gap_view_set: the calls, in gap_view_calls.c; row, when these are known. */
bool gap_view_set_calls(struct gap_view *v, const struct thread_records *r);
void gap_view_set_row(struct gap_view *v);
/* … : what its samples say, of one silence after another. False: no memory. */
bool gap_view_add_activities(struct gap_view *v, const struct thread_records *r, struct silence *s);

/* Those that reach into [begin, end); they are in the order of time. NULL none. */
const struct activity *gap_view_activities(const struct gap_view *v, int64_t begin_ns, int64_t end_ns, size_t *n);
const struct silence *gap_view_silences(const struct gap_view *v, int64_t begin_ns, int64_t end_ns, size_t *n);

/* From when on the device could have started the next work: it was submitted, and what it is known to have waited for was over. */
int64_t gap_view_ready_ns(const struct gap_view *v);

/* … and at the latest, with what nobody knows exactly of those ends. */
int64_t gap_view_ready_by_ns(const struct gap_view *v);

/* What is still the device's own latency: LATENCY_TIMES what it takes in this run, or the allowance where that is not known. */
int64_t gap_view_latency_ns(const struct gap_view *v);

/* What such work takes, where the next one seems to have taken far longer because another process had the device (held_up.h); 0: it does not. */
int64_t gap_view_held_up_ns(const struct gap_view *v);

/* From when on the thread had something to save: its first copy from the device in the gap had returned, or such a copy was the device's last work
 * before it. INT64_MAX: neither. */
int64_t gap_view_copied_out_ns(const struct gap_view *v);

/* The submitting thread's first NCCL call that may have held it up (cause_comm_host.c), of those that end after that and begin before until_ns and
 * the submission; NULL none. */
const struct nccl_call *gap_view_comm(const struct gap_view *v, int64_t after_ns, int64_t until_ns);

/* The submitting thread went on to make a communicator: what it waited for until then on a socket was the other ranks, or likely so. */
bool gap_view_meets_ranks(const struct gap_view *v, int64_t ns);

/* Is it its kernel's first launch? */
bool gap_view_first_launch(const struct gap_view *v, const struct call *c);

/* A silence that is no code of the program's own. Behind a blocking call: coming back from it and going into the next one takes it, the recorder's
 * work around calls included; no longer than BRIEF_NS, or than twice what a submission costs this thread. Or one in a row of submissions. */
#define BRIEF_NS 50000
bool gap_view_is_brief(const struct gap_view *v, const struct silence *s);

/* Does the call return only when the device has done what it was about? */
bool call_blocks(const struct call *c);
/* … a query, answered by "not yet"? */
bool call_asked_in_vain(const struct call *c);

/* Nobody watched it but the recorder itself: samples and accounts are all that there is. */
bool gap_view_unwatched(const struct gap_view *v);

/* Its accounts prove that it computed through the silence (cause_host_compute.c). */
bool silence_computed(const struct silence *s);

/* Its accounts are about it, and not mainly about a call before it, in which the thread may have waited. */
static inline bool silence_accounted(const struct silence *s)
{
	return s->before && s->after && s->after->cpu_ns >= s->before->cpu_ns && s->after->time_ns > s->before->time_ns &&
	       s->after->time_ns - s->before->time_ns <= (s->end_ns - s->begin_ns) / 4 * 5;
}

/* For how long it had no CPU, by its accounts, if it never blocked (no_cpu.c); 0 not, or too little to tell. */
int64_t silence_without_cpu(const struct silence *s);

/* For evidence: "cuMemAlloc_v2 took 3.1 ms (host-12.gst byte 4176)". */
void evidence_call(char *buf, size_t size, const struct trace *t, const struct call *c);
/* "12 samples: read, pipe:[123]", "read took 3.1 ms (row 12 of OSRT_API)" */
void evidence_activity(char *buf, size_t size, const struct trace *t, const struct activity *a);
/* The thread's own accounts of the longest silence that reaches into [begin, end): "thread 12 was switched out 3 times in 1.1 ms,
 * 2 of them to wait", behind prefix; "" where there are none. No proof of a cause, but worth saying. */
void evidence_accounts(char *buf, size_t size, const char *prefix, const struct gap_view *v, int64_t begin_ns, int64_t end_ns);
/* The name of the driver call; untrusted text. */
const char *call_name(const struct trace *t, const struct call *c);

/* The submitting thread's place in the chain, as printf would write it. */
void chain_submitter(struct finding *f, const struct gap_view *v, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* … : what, and where. */
void chain_submitter_in(struct finding *f, const struct gap_view *v, const char *what, const char *where);
