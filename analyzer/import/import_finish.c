/* SPDX-License-Identifier: BSD-2-Clause */
/* import_finish.c: what came in becomes traces as trace.c makes them of our own recordings: sorted, linked, with a lifetime and a header. */
#include "import_build.h"

#include "tools/alloc.h"
#include "tools/fnv.h"
#include "trace/comm_kernels.h"
#include "trace/same_clock.h"
#include "trace/trace_decode.h"
#include "trace/trace_measured.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY_WITHOUT_WORK \
	100 /* one launch of so many without its work: what the tool saw of the device is not all of it */

static enum err_kind no_memory(const struct import_build *b, struct error *e)
{
	return err_set(e, ERR_SYSTEM, b->path, ERR_NO_BYTE, "out of memory");
}

/* ---- order ------------------------------------------------------------------------------------------------ */

static int range_by_time(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static int op_by_thread(const void *a, const void *b)
{
	const struct host_op *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->byte > y->byte) - (x->byte < y->byte);
}

static int device_by_ordinal(const void *a, const void *b)
{
	const struct device *x = a, *y = b;

	return (x->device > y->device) - (x->device < y->device);
}

/* ---- damage ----------------------------------------------------------------------------------------------- */

/* Calls and work may stand in parts of the file of their own: what is known of both ends with the one that ends first. */
static int64_t cut_of(const struct import_build *b, const struct import_process *p)
{
	const struct trace *t = p->t;
	int64_t last_call_ns = INT64_MIN, last_work_ns = INT64_MIN;

	for (size_t i = 0; i < t->n_calls; i++)
		last_call_ns = t->calls[i].begin_ns > last_call_ns ? t->calls[i].begin_ns : last_call_ns;
	for (size_t i = 0; i < t->n_measured; i++)
		last_work_ns = t->measured[i].end_ns > last_work_ns ? t->measured[i].end_ns : last_work_ns;
	if (!t->n_calls || !t->n_measured)
		last_call_ns = last_work_ns = t->n_calls ? last_call_ns : t->n_measured ? last_work_ns : p->last_ns;
	last_work_ns = b->cut_ns < last_work_ns ? b->cut_ns : last_work_ns;
	last_work_ns = last_call_ns < last_work_ns ? last_call_ns : last_work_ns;
	return last_work_ns > p->first_ns ? last_work_ns : p->first_ns;
}

static void cut_host_ops(struct trace *t)
{
	struct host_ops *ops = &t->host_ops;
	size_t kept = 0;

	for (size_t i = 0; i < ops->n; i++)
		if (ops->at[i].begin_ns <= t->cut_ns)
			ops->at[kept++] = ops->at[i];
	ops->n = kept;
}

/* ---- one process ------------------------------------------------------------------------------------------ */

/* Times of one file are on one clock. Those of two are where both say the same host and the same time of day, else nobody knows. */
static uint64_t clock_of(const struct import_build *b)
{
	const char *host = b->names.at[b->host].text;
	uint64_t h = FNV_BEGIN;

	if (!b->epoch_ns || !*host)
		return fnv1a(h, b->path, strlen(b->path) + 1);
	h = fnv1a(h, host, strlen(host) + 1);
	return fnv1a(h, &b->epoch_ns, sizeof(b->epoch_ns));
}

static void make_header(const struct import_build *b, const struct import_process *p)
{
	struct gst_file_header *h = &p->t->header;

	h->clock = CLOCK_OF_IMPORT;
	h->pid_ns = clock_of(b);
	h->device_level = GST_LEVEL_CUPTI;
	h->kind = GST_FILE_PROCESS;
	h->pid = p->number;
	h->start_mono_ns = (uint64_t)p->first_ns;
	h->start_real_ns = b->epoch_ns ? (uint64_t)(b->epoch_ns + p->first_ns) : 0;
	snprintf(h->host, sizeof(h->host), "%s", b->names.at[b->host].text);
	snprintf(h->cmdline, sizeof(h->cmdline), "%s", b->names.at[p->command].text);
}

static bool make_imported(struct import_build *b, struct import_process *p, bool first)
{
	struct imported *i = calloc(1, sizeof(*i));

	p->t->imported = i;
	if (!i)
		return false;
	i->tool = b->tool;
	i->rank = p->rank;
	i->ranks = p->ranks;
	i->incomplete = b->lost > 0 || b->work_left_out > 0;
	if (!first)
		return true;
	i->lost = b->lost;
	i->left_out = b->left_out;
	i->warnings_left_out = b->warnings_left_out;
	i->warnings = array_new(b->n_warnings, sizeof(*i->warnings));
	if (!i->warnings)
		return false;
	memcpy(i->warnings, b->warnings, b->n_warnings * sizeof(*i->warnings));
	i->n_warnings = b->n_warnings;
	b->n_warnings = 0;
	return true;
}

/* Launches without work, of those whose work would have begun while the tool looked at this process or, where it has none, at any. */
static bool misses_work(const struct import_build *b, const struct trace *t)
{
	uint64_t launches = 0, without = 0;
	int64_t last_ns = t->n_measured ? t->measured[t->n_measured - 1].begin_ns : b->last_work_ns;

	for (size_t i = 0; i < t->n_calls && t->calls[i].begin_ns < last_ns; i++) {
		const struct call *c = &t->calls[i];

		if ((c->family != GST_FAMILY_LAUNCH && c->family != GST_FAMILY_GRAPH_LAUNCH) || c->result ||
		    (c->flags & GST_CAPTURED))
			continue;
		launches++;
		without += !(c->flags & GST_SUBMISSION);
	}
	return without * MANY_WITHOUT_WORK > launches;
}

static void set_times(struct import_process *p, const struct error *damage)
{
	struct trace *t = p->t;

	t->begin_ns = t->process_start_ns = p->first_ns;
	t->ns_per_tick = 1;
	t->life = LIFE_ENDED;
	t->seen_ns = INT64_MAX;
	t->cut_ns = INT64_MAX;
	t->measured_from_ns = INT64_MIN;
	t->measured_until_ns = INT64_MAX;
	measured_settle(t, p->last_ns);
	if (!damage || !damage->kind)
		return;
	t->damage = *damage;
	t->imported->incomplete = true;
}

static bool finish(struct import_build *b, struct import_process *p, bool first, const struct error *damage)
{
	struct trace *t = p->t;

	t->path = strdup(b->path);
	t->graphs = array_new(1, sizeof(*t->graphs)); /* of the launches' nothing is known */
	if (!t->path || !t->graphs || !make_imported(b, p, first))
		return false;
	t->n_graphs = 1;
	make_header(b, p);
	set_times(p, damage);
	if (!import_link(b, p) || !import_collectives(b, p) || !import_publish(b, p))
		return false;
	t->imported->incomplete |= misses_work(b, t);
	if (t->damage.kind)
		t->cut_ns = cut_of(b, p);
	array_sort(t->ranges, t->n_ranges, sizeof(*t->ranges), range_by_time);
	array_sort(t->host_ops.at, t->host_ops.n, sizeof(*t->host_ops.at), op_by_thread);
	array_sort(t->devices, t->n_devices, sizeof(*t->devices), device_by_ordinal);
	trace_sort(t);
	trace_memory_sort(&t->memory);
	trace_cut(t);
	cut_host_ops(t);
	measured_settle(t, p->last_ns);
	t->end_ns = p->last_ns < t->cut_ns ? p->last_ns : t->cut_ns;
	t->end_ns = t->end_ns > t->begin_ns ? t->end_ns : t->begin_ns;
	t->records = t->n_calls + t->n_measured + t->n_ranges + t->host_ops.n + t->memory.n_blocks;
	return comm_launches_mark(t);
}

/* ---- all of them ------------------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
	const struct import_process *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* A negative one is of 32 bits as well. */
static bool is_pid(uint64_t pid)
{
	return pid <= UINT32_MAX || pid >= (uint64_t)INT32_MIN;
}

static bool is_taken(const struct import_build *b, uint32_t number)
{
	const uint64_t pids[] = { number, (uint64_t)(int64_t)(int32_t)number };
	uint32_t i;

	for (size_t k = 0; k < 2; k++)
		for (size_t at = 0; (i = hash_next(&b->by_pid, import_hash(pids[k], 0), &at)) != HASH_NONE;)
			if (b->processes[i].pid == pids[k])
				return true;
	return false;
}

/* Where the file has a name, or more bits, in place of a pid, the process gets a number that is free. Before they are sorted. */
static void number_processes(struct import_build *b)
{
	uint32_t next = 1;
	size_t given = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct import_process *p = &b->processes[i];

		p->number = (uint32_t)p->pid;
		if (is_pid(p->pid))
			continue;
		while (is_taken(b, next))
			next++;
		p->number = next++;
		given += p->first_ns <= p->last_ns;
	}
	if (given)
		import_warn(b, "%zu %s no pid of 32 bits: numbered from 1 on", given,
			    given == 1 ? "process has" : "processes have");
}

/* When the last work of all began; INT64_MAX: there is none. */
static int64_t last_work(const struct import_build *b)
{
	int64_t last_ns = INT64_MIN;

	for (size_t i = 0; i < b->n; i++) {
		const struct trace *t = b->processes[i].t;

		for (size_t k = 0; t && k < t->n_measured; k++)
			last_ns = t->measured[k].begin_ns > last_ns ? t->measured[k].begin_ns : last_ns;
	}
	return last_ns == INT64_MIN ? INT64_MAX : last_ns;
}

enum err_kind import_build_finish(struct trace ***out, size_t *n, struct import_build *b, const struct error *damage,
				  struct error *e)
{
	struct trace **traces;
	size_t made = 0;

	*out = NULL;
	*n = 0;
	if (b->too_many)
		return err_set(e, ERR_FORMAT, b->path, ERR_NO_BYTE, "more than %u processes", IMPORT_PROCESSES_MAX);
	traces = b->no_memory ? NULL : array_new(b->n, sizeof(struct trace *));
	if (!traces)
		return no_memory(b, e);
	number_processes(b);
	b->last_work_ns = last_work(b);
	array_sort(b->processes, b->n, sizeof(*b->processes), by_number);
	for (size_t i = 0; i < b->n; i++) {
		struct import_process *p = &b->processes[i];

		if (p->first_ns > p->last_ns)
			continue;
		if (b->no_memory || !finish(b, p, made == 0, damage))
			break;
		traces[made++] = p->t;
		p->t = NULL;
	}
	for (size_t i = 0; i < b->n && !b->no_memory; i++)
		b->no_memory = b->processes[i].t && b->processes[i].first_ns <= b->processes[i].last_ns;
	if (!b->no_memory) {
		*out = traces;
		*n = made;
		return ERR_NONE;
	}
	while (made > 0)
		trace_free(traces[--made]);
	free(traces);
	return no_memory(b, e);
}
