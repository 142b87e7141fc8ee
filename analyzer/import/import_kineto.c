/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto.c: each event of the trace -> what it says (import_facts.h). */
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "import_kineto_parts.h"
#include "tools/spill.h"

static bool begins(struct import_text text, const char *with)
{
	size_t n = strlen(with);

	return text.bytes >= n && memcmp(text.at, with, n) == 0;
}

static uint64_t hash_of(uint64_t id)
{
	return (id ^ id >> 29) * 0x9e3779b97f4a7c15u;
}

/* text: what stands there instead of a number; "" none. */
static uint32_t process_by_id(struct kineto *k, uint64_t id, struct import_text text)
{
	struct import_text name = { "", 0 };
	uint32_t i;

	for (size_t at = 0; (i = hash_next(&k->process_index, hash_of(id), &at)) != HASH_NONE;)
		if (k->processes[i].id == id)
			return i;
	if (id >> 62 == 1 && text.bytes && !kineto_keep(k, &name, text))
		return KINETO_NO_PROCESS;
	if (!array_room(k->processes, k->n_processes, k->processes_cap) ||
	    !hash_add(&k->process_index, hash_of(id), (uint32_t)k->n_processes))
		return KINETO_NO_PROCESS;
	k->processes[k->n_processes] = (struct kineto_process){
		.id = id, .number = KINETO_NO_PROCESS, .device = IMPORT_NO_DEVICE, .text = name
	};
	return (uint32_t)k->n_processes++;
}

uint32_t kineto_process(struct kineto *k, const struct kineto_event *e)
{
	uint64_t id = e->said & KINETO_SAID(PID) ? kineto_number(e, KINETO_FIELD_PID) : 0;

	if (!k->n_processes || k->processes[k->last_process].id != id) {
		uint32_t i = process_by_id(k, id, e->pid);

		if (i == KINETO_NO_PROCESS)
			return i;
		k->last_process = i;
	}
	return k->last_process;
}

uint32_t kineto_process_number(struct kineto *k, uint32_t process)
{
	struct kineto_process *p = &k->processes[process];

	if (p->number == KINETO_NO_PROCESS)
		p->number = import_process(k->b, p->id);
	return p->number;
}

/* A pthread's own number has 64 bits, and a name that stands for one as well. */
uint32_t kineto_tid(const struct kineto_event *e)
{
	uint64_t tid = e->said & KINETO_SAID(TID) ? kineto_number(e, KINETO_FIELD_TID) : 0;

	if (tid <= UINT32_MAX || tid >= (uint64_t)INT32_MIN)
		return (uint32_t)tid;
	return (uint32_t)(hash_of(tid) >> 32) | 1u << 31;
}

struct kineto_name kineto_name(struct kineto *k, const struct kineto_event *e)
{
	struct kineto_name name = { 0 };

	if (e->class == KINETO_COPY)
		name.copy = (uint8_t)kineto_copy_kind(e->name);
	else if (e->class != KINETO_MEMSET)
		name.number = import_name(k->b, e->name);
	if (e->class == KINETO_OPERATOR)
		name.marks = begins(e->name, "ProfilerStep#") || begins(e->name, "Optimizer.");
	if (e->class == KINETO_ANNOTATION)
		name.loads = begins(e->name, "enumerate(DataLoader)");
	return name;
}

static bool call(struct kineto *k, const struct kineto_event *e, struct kineto_name name, int64_t begin_ns,
		 int64_t end_ns)
{
	uint32_t process = kineto_process(k, e);
	struct import_call c = {
		.place = e->place,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.tid = kineto_tid(e),
		.name = name.number,
		.stream = IMPORT_NO_STREAM,
		.device = IMPORT_NO_DEVICE,
	};

	if (process == KINETO_NO_PROCESS)
		return false;
	k->processes[process].calls++;
	c.process = kineto_process_number(k, process);
	if (e->said & KINETO_SAID(BYTES))
		c.bytes = kineto_number(e, KINETO_FIELD_BYTES);
	if (e->said & KINETO_SAID(ADDRESS))
		c.address = kineto_number(e, KINETO_FIELD_ADDRESS);
	if (e->said & KINETO_SAID(STREAM))
		c.stream = kineto_number(e, KINETO_FIELD_STREAM);
	if (e->said & KINETO_SAID(DEVICE) && kineto_number(e, KINETO_FIELD_DEVICE) < IMPORT_NO_DEVICE)
		c.device = (uint32_t)kineto_number(e, KINETO_FIELD_DEVICE);
	if (e->said & KINETO_SAID(CORRELATION))
		c.correlation = kineto_number(e, KINETO_FIELD_CORRELATION);
	import_call(k->b, &c);
	return kineto_link_call(k, &c, process);
}

static bool overhead(struct kineto *k, uint32_t process, const struct import_host_op *op)
{
	if (!spill_room(k->overheads, k->n_overheads, k->overheads_cap))
		return false;
	k->overheads[k->n_overheads++] = (struct kineto_overhead){ *op, process };
	return true;
}

static bool host_op(struct kineto *k, const struct kineto_event *e, uint32_t name, enum host_op_kind kind,
		    int64_t begin_ns, int64_t end_ns)
{
	uint32_t process = kineto_process(k, e);
	struct import_host_op op = {
		.place = e->place,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.tid = kineto_tid(e),
		.name = name,
		.kind = kind,
	};

	if (process == KINETO_NO_PROCESS)
		return false;
	if (kind == HOST_OP_OVERHEAD) /* the profiler's thread may stand for a process of its own */
		return overhead(k, process, &op);
	k->processes[process].ops++;
	op.process = kineto_process_number(k, process);
	import_host_op(k->b, &op);
	return true;
}

static bool range(struct kineto *k, const struct kineto_event *e, uint32_t name, int64_t begin_ns, int64_t end_ns,
		  bool started)
{
	uint32_t process = kineto_process(k, e);
	struct import_range r = {
		.place = e->place,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.tid = kineto_tid(e),
		.name = name,
		.started = started,
	};

	if (process == KINETO_NO_PROCESS)
		return false;
	k->processes[process].ops++;
	r.process = kineto_process_number(k, process);
	import_range(k->b, &r);
	return true;
}

bool kineto_complete(struct kineto *k, const struct kineto_event *e, struct kineto_name name, int64_t begin_ns,
		     int64_t end_ns, bool started)
{
	switch (e->class) {
	case KINETO_KERNEL:
	case KINETO_COPY:
	case KINETO_MEMSET:
		return kineto_work(k, e, name, begin_ns, end_ns);
	case KINETO_CALL:
		return call(k, e, name, begin_ns, end_ns);
	case KINETO_OPERATOR:
		return host_op(k, e, name.number, HOST_OP_OPERATOR, begin_ns, end_ns) &&
		       (!name.marks || range(k, e, name.number, begin_ns, end_ns, started));
	case KINETO_ANNOTATION:
		return range(k, e, name.number, begin_ns, end_ns, started) &&
		       (!name.loads || end_ns == INT64_MAX ||
			host_op(k, e, name.number, HOST_OP_OPERATOR, begin_ns, end_ns));
	case KINETO_PYTHON:
		return host_op(k, e, name.number, HOST_OP_PYTHON, begin_ns, end_ns);
	case KINETO_OVERHEAD:
		return host_op(k, e, name.number, HOST_OP_OVERHEAD, begin_ns, end_ns);
	default:
		return true;
	}
}

bool kineto_is_left_out(enum kineto_class class)
{
	return class == KINETO_LEFT_OUT || class == KINETO_FLOW;
}

static bool complete(struct kineto *k, const struct kineto_event *e)
{
	int64_t begin_ns, end_ns;

	if (kineto_is_left_out(e->class))
		return true;
	if (e->class == KINETO_UNKNOWN) {
		kineto_other(k, e);
		return true;
	}
	if (~e->said & (KINETO_SAID(BEGIN) | KINETO_SAID(DURATION)) || e->duration.ns < 0) {
		kineto_lacks(k, e);
		return true;
	}
	begin_ns = import_us_ns(e->begin);
	end_ns = import_us_ns(import_us_add(e->begin, e->duration));
	return kineto_complete(k, e, kineto_name(k, e), begin_ns, end_ns, false) &&
	       (~e->said & KINETO_SAID(COLLECTIVE) || kineto_collective(k, e, begin_ns, end_ns));
}

/* What an allocator has in all: less than nothing says nothing. */
static bool total(uint64_t *out, const struct kineto_event *e, uint64_t said, enum kineto_field field)
{
	uint64_t bytes = e->said & said ? kineto_number(e, field) : UINT64_MAX;

	*out = bytes <= INT64_MAX ? bytes : 0;
	return bytes <= INT64_MAX;
}

/* An allocator says "[memory]": "Bytes" less than none are given back. Device type 0 is the host's memory. */
static bool block(struct kineto *k, const struct kineto_event *e)
{
	int64_t bytes = (int64_t)kineto_number(e, KINETO_FIELD_BYTES);
	uint64_t device = kineto_number(e, KINETO_FIELD_DEVICE);
	uint32_t process;
	struct import_block m = { .place = e->place, .time_ns = import_us_ns(e->begin), .tid = kineto_tid(e) };

	if (~e->said & (KINETO_SAID(BYTES) | KINETO_SAID(DEVICE) | KINETO_SAID(BEGIN)) || bytes == INT64_MIN) {
		k->lacking++;
		return true;
	}
	if (device >= IMPORT_NO_DEVICE ||
	    (e->said & KINETO_SAID(DEVICE_TYPE) && kineto_number(e, KINETO_FIELD_DEVICE_TYPE) == 0))
		return true;
	if (~e->said & KINETO_SAID(ADDRESS)) {
		k->no_addresses++;
		return true;
	}
	process = kineto_process(k, e);
	if (process == KINETO_NO_PROCESS)
		return false;
	k->processes[process].ops++;
	m.process = kineto_process_number(k, process);
	m.device = (uint32_t)device;
	m.address = kineto_number(e, KINETO_FIELD_ADDRESS);
	m.freed = bytes < 0;
	m.bytes = (uint64_t)(bytes < 0 ? -bytes : bytes);
	m.has_allocated = total(&m.allocated, e, KINETO_SAID(ALLOCATED), KINETO_FIELD_ALLOCATED);
	m.has_reserved = total(&m.reserved, e, KINETO_SAID(RESERVED), KINETO_FIELD_RESERVED);
	import_block(k->b, &m);
	return true;
}

static bool is_text(struct import_text text, const char *word)
{
	return text.bytes == strlen(word) && memcmp(text.at, word, text.bytes) == 0;
}

static bool on_event(void *to, const struct kineto_event *e)
{
	struct kineto *k = to;
	bool fine = true;

	switch (e->phase) {
	case 'X':
		fine = complete(k, e);
		break;
	case 'B':
	case 'E':
	case 'b':
	case 'e':
	case 'S':
	case 'F':
		fine = kineto_pair(k, e);
		break;
	case 'M':
		fine = kineto_metadata(k, e);
		break;
	case 'i':
	case 'I':
		fine = !is_text(e->name, "[memory]") || block(k, e);
		break;
	case 0:
		kineto_lacks(k, e);
		break;
	default: /* flows, counters, steps in between */
		break;
	}
	return fine && !import_failed(k->b);
}

bool kineto_keep(struct kineto *k, struct import_text *out, struct import_text text)
{
	char *copy = arena_alloc(&k->texts, text.bytes + 1);

	if (!copy)
		return false;
	if (text.bytes)
		memcpy(copy, text.at, text.bytes);
	*out = (struct import_text){ copy, text.bytes };
	return true;
}

static bool on_device(void *to, uint64_t id, struct import_text name, uint64_t memory_bytes)
{
	struct kineto *k = to;
	struct kineto_device *d;

	if (k->n_devices >= IMPORT_DEVICES_MAX)
		return true;
	if (!array_room(k->devices, k->n_devices, k->devices_cap))
		return false;
	d = &k->devices[k->n_devices++];
	*d = (struct kineto_device){ .id = id, .memory_bytes = memory_bytes };
	return kineto_keep(k, &d->name, name);
}

static bool on_rank(void *to, uint64_t rank, uint64_t ranks)
{
	struct kineto *k = to;

	k->ranked = rank < UINT32_MAX && ranks <= UINT32_MAX;
	k->rank = rank;
	k->ranks = ranks;
	return true;
}

static bool on_host(void *to, struct import_text name)
{
	import_host(((struct kineto *)to)->b, name);
	return true;
}

static bool on_base(void *to, int64_t ns)
{
	import_epoch(((struct kineto *)to)->b, ns);
	return true;
}

static bool on_note(void *to, struct import_text words)
{
	import_warn(((struct kineto *)to)->b, "%.*s", words.bytes < 200 ? (int)words.bytes : 200, words.at);
	return true;
}

static void kineto_free(struct kineto *k)
{
	kineto_pairs_free(k);
	free(k->processes);
	hash_free(&k->process_index);
	spill_free(k->works);
	spill_free(k->links);
	spill_free(k->threads);
	hash_free(&k->thread_index);
	spill_free(k->overheads);
	spill_free(k->collectives);
	free(k->devices);
	arena_free(&k->texts);
}

enum err_kind import_kineto(struct import_build *b, const char *path, struct error *damage, struct error *e)
{
	static const struct kineto_calls calls = { on_event, on_device, on_rank, on_host, on_base, on_note };
	struct kineto k = { .b = b };
	bool events;
	enum err_kind kind = kineto_read(path, &calls, &k, &events, damage, e);

	if (kind == ERR_NONE && !events && damage->kind == ERR_NONE)
		kind = err_set(e, ERR_FORMAT, path, ERR_NO_BYTE, "no list of events (\"traceEvents\") is in it");
	if (kind == ERR_NONE && !kineto_end(&k))
		kind = err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "out of memory");
	kineto_free(&k);
	if (kind == ERR_SYSTEM && import_failed(b)) /* which says why, when it is finished */
		kind = ERR_NONE;
	return kind;
}
