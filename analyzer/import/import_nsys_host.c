/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_host.c: what threads were at: calls of the operating system's libraries, of CUDA's and of MPI, the profiler's own work, and
 * when they had no CPU. Only of processes that use a device: Nsight watches all it can. */
#include "import_nsys_parts.h"
#include "tools/alloc.h"
#include "tools/spill.h"

/* The first columns are those of each table. */
_Static_assert((int)OS_nameId == (int)MPI_P2P_textId && (int)OS_nameId == (int)OVERHEAD_nameId &&
		       (int)OS_globalTid == (int)MPI_WAIT_globalTid &&
		       (int)OVERHEAD_overheadType == (int)CUPTI_OVERHEAD_overheadType,
	       "the columns of host operations");

/* ---- operations ------------------------------------------------------------------------------------------------------------ */

/* CUpti_ActivityOverheadKind, as Nsight numbers them, where no name is given. */
static const char *overhead_words(int64_t type)
{
	static const char *const words[] = {
		[2] = "compiling",           [3] = "buffer flush",   [4] = "instrumentation",
		[5] = "resource management", [6] = "module loading", [7] = "lazy function loading",
		[8] = "command buffer full",
	};

	return type >= 2 && type < (int64_t)(sizeof(words) / sizeof(words[0])) ? words[type] : "overhead";
}

static uint32_t overhead_name(struct nsys *n, const struct nsys_rows *r)
{
	const char *words = overhead_words(nsys_rows_int(r, OVERHEAD_overheadType, 0));
	size_t bytes = 0;

	while (words[bytes])
		bytes++;
	return import_name(n->b, (struct import_text){ words, bytes });
}

static void take(struct nsys *n, const struct nsys_rows *r, enum host_op_kind kind)
{
	struct nsys_process *p = nsys_process(n, nsys_row_pid(n, r, OS_globalTid), false);
	struct import_host_op o = {
		.place = nsys_rows_place(r),
		.begin_ns = nsys_rows_int(r, OS_start, 0),
		.tid = nsys_tid((uint64_t)nsys_rows_int(r, OS_globalTid, 0)),
		.kind = kind,
	};

	o.end_ns = nsys_rows_int(r, OS_end, o.begin_ns);
	if (!p || !p->works || o.end_ns == o.begin_ns) /* "profiling started" … */
		return;
	o.process = p->number;
	o.name = nsys_row_name(n, r, OS_nameId);
	if (!o.name && kind == HOST_OP_OVERHEAD)
		o.name = overhead_name(n, r);
	import_host_op(n->b, &o);
}

void nsys_host_ops(struct nsys *n)
{
	static const struct {
		enum nsys_table table;
		enum host_op_kind kind;
	} kinds[] = {
		{ NSYS_OS, HOST_OP_OS_CALL },
		{ NSYS_CUBLAS, HOST_OP_OPERATOR },
		{ NSYS_CUDNN, HOST_OP_OPERATOR },
		{ NSYS_MPI_P2P, HOST_OP_OPERATOR },
		{ NSYS_MPI_COLLECTIVE, HOST_OP_OPERATOR },
		{ NSYS_MPI_WAIT, HOST_OP_OPERATOR },
		{ NSYS_MPI_OTHER, HOST_OP_OPERATOR },
		{ NSYS_OVERHEAD, HOST_OP_OVERHEAD },
		{ NSYS_CUPTI_OVERHEAD, HOST_OP_OVERHEAD },
	};
	struct nsys_rows r;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!nsys_rows_begin(&r, &n->file, kinds[i].table))
			continue;
		while (nsys_next(n, &r))
			take(n, &r, kinds[i].kind);
		nsys_rows_close(&r);
	}
}

/* ---- the scheduler --------------------------------------------------------------------------------------------------------- */

struct switch_row {      /* a thread was put onto a CPU, or taken off one */
	uint64_t thread; /* its global number */
	int64_t at_ns;
	uint64_t place;
	uint32_t process, name;
	bool in;
};

struct switches {
	struct switch_row *at;
	size_t n, cap;
};

/* Rows come as the CPUs' buffers were read, not as it happened. */
static int by_thread(const void *a, const void *b)
{
	const struct switch_row *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* ENUM_SAMPLING_THREAD_STATE: what it was when it lost its CPU. */
static uint32_t state_name(struct nsys *n, int64_t state)
{
	static const struct import_text words[] = {
		[1] = { "preempted", 9 },
		[2] = { "sleeping", 8 },
		[3] = { "uninterruptible", 15 },
		[4] = { "stopped", 7 },
	};

	return state > 0 && state < (int64_t)(sizeof(words) / sizeof(words[0])) ? import_name(n->b, words[state]) : 0;
}

static void read_switches(struct nsys *n, struct switches *s)
{
	struct nsys_rows r;

	if (!nsys_rows_begin(&r, &n->file, NSYS_SCHED))
		return;
	while (nsys_next(n, &r)) {
		const struct nsys_process *p = nsys_process(n, nsys_row_pid(n, &r, SCHED_globalTid), false);

		if (!p || !p->works)
			continue;
		if (!spill_room(s->at, s->n, s->cap)) {
			n->no_memory = true;
			break;
		}
		s->at[s->n] = (struct switch_row){
			.thread = (uint64_t)nsys_rows_int(&r, SCHED_globalTid, 0),
			.at_ns = nsys_rows_int(&r, SCHED_start, 0),
			.place = nsys_rows_place(&r),
			.process = p->number,
			.in = nsys_rows_int(&r, SCHED_isSchedIn, 0) != 0,
		};
		if (!s->at[s->n].in)
			s->at[s->n].name = state_name(n, nsys_rows_int(&r, SCHED_threadState, 0));
		s->n++;
	}
	nsys_rows_close(&r);
}

/* From where a thread is taken off a CPU to where it is put onto one, next to each other in time. */
void nsys_off_cpu(struct nsys *n)
{
	struct switches s = { 0 };

	read_switches(n, &s);
	array_sort(s.at, s.n, sizeof(*s.at), by_thread);
	for (size_t i = 1; i < s.n && !nsys_over(n); i++) {
		const struct switch_row *out = &s.at[i - 1], *in = &s.at[i];

		if (!out->in && in->in && out->thread == in->thread && out->at_ns < in->at_ns)
			import_host_op(n->b,
				       &(struct import_host_op){ out->place, out->at_ns, in->at_ns, out->process,
								 nsys_tid(out->thread), out->name, HOST_OP_OFF_CPU });
	}
	spill_free(s.at);
}
