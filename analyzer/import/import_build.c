/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_build.h"

#include "tools/alloc.h"
#include "tools/spill.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMES_END (INT64_MAX / 2) /* as trace_measured.c has it: sums of two do not overflow */
#define NONE_YET UINT32_MAX

struct import_build *import_build_new(const char *path, const char *tool)
{
	struct import_build *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->tool = tool;
	b->cut_ns = INT64_MAX;
	b->path = strdup(path);
	if (b->path && import_names_new(&b->names))
		return b;
	import_build_free(b);
	return NULL;
}

void import_build_free(struct import_build *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n; i++) {
		trace_free(b->processes[i].t);
		free(b->processes[i].said);
		spill_free(b->processes[i].collectives);
		free(b->processes[i].nccl_names);
		hash_free(&b->processes[i].by_said);
		hash_free(&b->processes[i].by_stream);
		hash_free(&b->processes[i].by_device);
		hash_free(&b->processes[i].by_thread);
	}
	for (size_t i = 0; i < b->n_warnings; i++)
		free(b->warnings[i]);
	free(b->processes);
	hash_free(&b->by_pid);
	import_names_free(&b->names);
	free(b->used);
	free(b->path);
	free(b);
}

bool import_failed(const struct import_build *b)
{
	return b->no_memory || b->too_many;
}

/* ---- what facts are about ------------------------------------------------------------------------------- */

/* Numbers that count up differ in their low bits only. */
uint64_t import_hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u ^ (b + 0x94d049bb133111ebu) * 0x9e3779b97f4a7c15u;

	return (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
}

uint32_t import_process(struct import_build *b, uint64_t pid)
{
	struct import_process *p;
	uint32_t number;

	if (b->n && b->processes[b->n - 1].pid == pid)
		return (uint32_t)b->n - 1;
	for (size_t at = 0; (number = hash_next(&b->by_pid, import_hash(pid, 0), &at)) != HASH_NONE;)
		if (b->processes[number].pid == pid)
			return number;
	if (b->n == IMPORT_PROCESSES_MAX) {
		b->too_many = true;
		return UINT32_MAX;
	}
	p = array_room(b->processes, b->n, b->cap) ? &b->processes[b->n] : NULL;
	if (p)
		*p = (struct import_process){ .pid = pid,
					      .t = calloc(1, sizeof(struct trace)),
					      .last_thread = NONE_YET,
					      .last_stream = NONE_YET,
					      .first_ns = INT64_MAX,
					      .last_ns = INT64_MIN,
					      .rank = GST_NONE,
					      .ranks = GST_NONE };
	if (!p || !p->t || !hash_add(&b->by_pid, import_hash(pid, 0), (uint32_t)b->n)) {
		if (p)
			free(p->t);
		b->no_memory = true;
		return UINT32_MAX;
	}
	return (uint32_t)b->n++;
}

/* What could be no part of a trace. */
static void leave_out(struct import_build *b, bool work)
{
	b->left_out += !b->no_memory;
	b->work_left_out += work && !b->no_memory;
}

/* NULL: there is none, or no memory any more: nothing is to be added. */
static struct import_process *process_of(struct import_build *b, uint32_t number)
{
	return number < b->n && !b->no_memory ? &b->processes[number] : NULL;
}

uint32_t import_name(struct import_build *b, struct import_text text)
{
	return import_names_number(&b->names, text, &b->no_memory);
}

uint8_t import_family(struct import_build *b, uint32_t name)
{
	return import_names_call(&b->names, name)->family;
}

uint32_t import_thread_index(struct import_build *b, struct import_process *p, uint32_t tid)
{
	struct trace *t = p->t;
	uint32_t number;

	if (p->last_thread != NONE_YET && t->threads[p->last_thread].tid == tid)
		return p->last_thread;
	for (size_t at = 0; (number = hash_next(&p->by_thread, import_hash(tid, 1), &at)) != HASH_NONE;)
		if (t->threads[number].tid == tid)
			return p->last_thread = number;
	if (t->n_threads >= NONE_YET - 1 || !array_room(t->threads, t->n_threads, p->threads) ||
	    !hash_add(&p->by_thread, import_hash(tid, 1), (uint32_t)t->n_threads)) {
		b->no_memory = true;
		return NONE_YET;
	}
	t->threads[t->n_threads] = (struct thread){ .tid = tid };
	return p->last_thread = (uint32_t)t->n_threads++;
}

/* NULL: no memory, or there are too many. */
static struct device *device_of(struct import_build *b, struct import_process *p, uint32_t ordinal)
{
	struct trace *t = p->t;
	uint32_t number;

	for (size_t at = 0; (number = hash_next(&p->by_device, import_hash(ordinal, 2), &at)) != HASH_NONE;)
		if (t->devices[number].device == ordinal)
			return &t->devices[number];
	if (b->n_devices == IMPORT_DEVICES_MAX) {
		if (!b->too_many_devices)
			import_warn(b, "more than %u devices: what is about others is left out", IMPORT_DEVICES_MAX);
		b->too_many_devices = true;
		return NULL;
	}
	if (!array_room(t->devices, t->n_devices, p->devices) ||
	    !hash_add(&p->by_device, import_hash(ordinal, 2), (uint32_t)t->n_devices)) {
		b->no_memory = true;
		return NULL;
	}
	b->n_devices++;
	t->devices[t->n_devices] = (struct device){ .device = ordinal };
	return &t->devices[t->n_devices++];
}

static uint32_t stream_of(struct import_build *b, struct import_process *p, const struct import_work *w)
{
	struct trace *t = p->t;
	uint64_t context = w->context ? w->context : IMPORT_MADE_UP + w->device;
	uint64_t hash = import_hash(w->stream, import_hash(context, w->device));
	uint32_t number = p->last_stream;

	if (w->stream == IMPORT_NO_STREAM)
		return GST_NONE;
	if (number != NONE_YET && t->streams[number].handle == w->stream && t->streams[number].context == context &&
	    t->streams[number].device == w->device)
		return number;
	for (size_t at = 0; (number = hash_next(&p->by_stream, hash, &at)) != HASH_NONE;)
		if (t->streams[number].handle == w->stream && t->streams[number].context == context &&
		    t->streams[number].device == w->device)
			return p->last_stream = number;
	if (t->n_streams >= NONE_YET - 1 || !array_room(t->streams, t->n_streams, p->streams) ||
	    !hash_add(&p->by_stream, hash, (uint32_t)t->n_streams) || !device_of(b, p, w->device)) {
		b->no_memory = true;
		return GST_NONE;
	}
	t->streams[t->n_streams] = (struct stream){ .handle = w->stream,
						    .context = context,
						    .id = (uint32_t)t->n_streams + 1,
						    .flags = 1, /* nothing is claimed of the legacy stream's order */
						    .device = (uint16_t)w->device };
	return p->last_stream = (uint32_t)t->n_streams++;
}

static uint32_t said_of(struct import_build *b, struct import_process *p, const struct import_call *c)
{
	uint64_t hash = import_hash(c->stream, import_hash(c->context, import_hash(c->device, 3)));
	uint32_t number;

	if (c->stream == IMPORT_NO_STREAM)
		return GST_NONE;
	for (size_t at = 0; (number = hash_next(&p->by_said, hash, &at)) != HASH_NONE;)
		if (p->said[number].stream == c->stream && p->said[number].context == c->context &&
		    p->said[number].device == c->device)
			return number;
	if (p->n_said >= NONE_YET - 1 || !array_room(p->said, p->n_said, p->cap_said) ||
	    !hash_add(&p->by_said, hash, (uint32_t)p->n_said)) {
		b->no_memory = true;
		return GST_NONE;
	}
	p->said[p->n_said] = (struct import_said){ c->stream, c->context, c->device };
	return (uint32_t)p->n_said++;
}

void import_thread(struct import_build *b, uint32_t process, uint32_t tid, struct import_text name)
{
	struct import_process *p = process_of(b, process);
	uint32_t thread = p ? import_thread_index(b, p, tid) : NONE_YET;
	struct thread *t = thread == NONE_YET ? NULL : &p->t->threads[thread];
	size_t n = name.bytes < sizeof(t->name) ? name.bytes : sizeof(t->name) - 1;

	if (!t || !n)
		return;
	memset(t->name, 0, sizeof(t->name));
	memcpy(t->name, name.at, n);
}

void import_device(struct import_build *b, const struct import_device *d)
{
	struct import_process *p = process_of(b, d->process);
	struct device *device;
	size_t n = d->name.bytes < sizeof(device->name) ? d->name.bytes : sizeof(device->name) - 1;

	device = p && d->device < UINT16_MAX ? device_of(b, p, d->device) : NULL;
	if (!device) {
		leave_out(b, false);
		return;
	}
	memset(device->name, 0, sizeof(device->name));
	if (n)
		memcpy(device->name, d->name.at, n);
	device->memory_bytes = d->memory_bytes;
	memcpy(device->uuid, d->uuid, sizeof(device->uuid));
}

void import_rank(struct import_build *b, uint32_t process, uint32_t rank, uint32_t ranks)
{
	struct import_process *p = process_of(b, process);

	if (!p || (ranks && rank >= ranks))
		return;
	p->rank = rank;
	p->ranks = ranks;
}

void import_host(struct import_build *b, struct import_text name)
{
	b->host = import_name(b, name);
}

void import_command(struct import_build *b, uint32_t process, struct import_text command)
{
	struct import_process *p = process_of(b, process);

	if (p)
		p->command = import_name(b, command);
}

void import_epoch(struct import_build *b, int64_t real_ns)
{
	b->epoch_ns = real_ns > 0 && real_ns < TIMES_END ? real_ns : 0;
}

void import_cut(struct import_build *b, int64_t ns)
{
	b->cut_ns = ns < b->cut_ns ? ns : b->cut_ns;
}

void import_lost(struct import_build *b, uint64_t records)
{
	if (__builtin_add_overflow(b->lost, records, &b->lost))
		b->lost = UINT64_MAX;
}

void import_left_out(struct import_build *b, uint64_t records, uint64_t work)
{
	b->left_out += records;
	b->work_left_out += work;
}

void import_warn(struct import_build *b, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (size_t i = 0; i < b->n_warnings; i++)
		if (strcmp(b->warnings[i], text) == 0)
			return;
	if (b->n_warnings == IMPORT_WARNINGS) {
		b->warnings_left_out++;
		return;
	}
	b->warnings[b->n_warnings] = strdup(text);
	if (b->warnings[b->n_warnings])
		b->n_warnings++;
	else
		b->no_memory = true;
}

/* ---- what happened ---------------------------------------------------------------------------------------- */

/* The process, where the fact can be. */
static struct import_process *take(struct import_build *b, uint32_t process, int64_t begin_ns, int64_t end_ns)
{
	struct import_process *p = process_of(b, process);

	if (!p || begin_ns < 0 || end_ns < begin_ns || end_ns > TIMES_END)
		return NULL;
	p->first_ns = begin_ns < p->first_ns ? begin_ns : p->first_ns;
	p->last_ns = end_ns > p->last_ns ? end_ns : p->last_ns;
	return p;
}

/* By its own word; of calls about a device's memory it is one of the process's devices, of which there may not be too many. */
static uint16_t named_device(struct import_build *b, struct import_process *p, const struct import_call *c,
			     uint8_t family)
{
	bool host = family == GST_FAMILY_HOST_ALLOC || family == GST_FAMILY_HOST_FREE;
	bool memory = family == GST_FAMILY_ALLOC || family == GST_FAMILY_FREE || family == GST_FAMILY_POOL ||
		      family == GST_FAMILY_VMM;

	if (host || c->device >= UINT16_MAX || (memory && !device_of(b, p, c->device)))
		return UINT16_MAX;
	return (uint16_t)c->device;
}

void import_call(struct import_build *b, const struct import_call *c)
{
	struct import_process *p = take(b, c->process, c->begin_ns, c->end_ns);
	const struct import_named *name;
	struct trace *t;

	if (!p) {
		leave_out(b, false);
		return;
	}
	t = p->t;
	import_thread_index(b, p, c->tid);
	if (!spill_room(t->calls, t->n_calls, p->calls)) {
		b->no_memory = true;
		return;
	}
	name = import_names_call(&b->names, c->name);
	t->calls[t->n_calls++] = (struct call){ .begin_ns = c->begin_ns,
						.end_ns = c->end_ns,
						.seq = c->correlation,
						.stream = said_of(b, p, c),
						.tid = c->tid,
						.result = c->result,
						.hook = name->hook,
						.device = named_device(b, p, c, name->family),
						.family = name->family,
						.detail = name->ways, /* until it is linked */
						.args = { c->address, c->bytes },
						.byte = c->place };
}

void import_work(struct import_build *b, const struct import_work *w)
{
	struct import_process *p = NULL;
	struct trace *t;

	if (w->device < UINT16_MAX && w->kind >= GST_ACTIVITY_KERNEL && w->kind <= GST_ACTIVITY_GRAPH &&
	    w->copy <= GST_COPY_H2H && w->name < b->names.n)
		p = take(b, w->process, w->begin_ns, w->end_ns);
	if (!p || !device_of(b, p, w->device)) {
		leave_out(b, true);
		return;
	}
	t = p->t;
	if (!spill_room(t->measured, t->n_measured, p->measured)) {
		b->no_memory = true;
		return;
	}
	t->measured[t->n_measured++] = (struct measured){ .begin_ns = w->begin_ns,
							  .end_ns = w->end_ns,
							  .seq = w->correlation,
							  .node = w->node,
							  .bytes = w->bytes,
							  .stream = stream_of(b, p, w),
							  .name = w->name,
							  .device = (uint16_t)w->device,
							  .kind = w->kind,
							  .copy = w->copy };
}

#define DIGITS 9 /* as the recorder's: what fits into 32 bits whatever it is */

/* "step 12" is "step " and 12; leading zeros are of the text. */
static uint32_t without_number(struct import_build *b, uint32_t name, uint32_t *number, bool *numbered)
{
	const struct import_named *n = &b->names.at[name];
	uint32_t digits = 0, unit = 1;

	*number = 0;
	while (digits < n->bytes && digits < DIGITS && n->text[n->bytes - 1 - digits] >= '0' &&
	       n->text[n->bytes - 1 - digits] <= '9')
		digits++;
	while (digits > 1 && n->text[n->bytes - digits] == '0')
		digits--;
	for (uint32_t i = 0; i < digits; i++, unit *= 10)
		*number += unit * (uint32_t)(n->text[n->bytes - 1 - i] - '0');
	*numbered = digits > 0;
	return digits ? import_name(b, (struct import_text){ n->text, n->bytes - digits }) : name;
}

void import_range(struct import_build *b, const struct import_range *r)
{
	bool open = r->end_ns == INT64_MAX;
	struct import_process *p = NULL;
	struct range *range;
	struct trace *t;

	if (r->name < b->names.n && r->domain < b->names.n)
		p = take(b, r->process, r->begin_ns, open ? r->begin_ns : r->end_ns);
	if (!p) {
		leave_out(b, false);
		return;
	}
	t = p->t;
	if (!spill_room(t->ranges, t->n_ranges, p->ranges)) {
		b->no_memory = true;
		return;
	}
	range = &t->ranges[t->n_ranges++];
	*range = (struct range){ .begin_ns = r->begin_ns,
				 .end_ns = r->end_ns,
				 .payload = r->domain,
				 .tid = r->tid,
				 .ended_by = r->tid,
				 .kind = r->started ? GST_RANGE_STARTED : GST_RANGE_PUSHED };
	if (!open && !r->started && r->begin_ns == r->end_ns)
		range->kind = GST_RANGE_MARK;
	range->id = without_number(b, r->name, &range->number, &range->numbered);
}

void import_host_op(struct import_build *b, const struct import_host_op *o)
{
	struct import_process *p = NULL;
	struct host_ops *ops;

	if (o->end_ns == o->begin_ns)
		return; /* it took no time that the file could tell */
	if (o->name < b->names.n)
		p = take(b, o->process, o->begin_ns, o->end_ns);
	if (!p) {
		leave_out(b, false);
		return;
	}
	ops = &p->t->host_ops;
	if (!spill_room(ops->at, ops->n, p->host_ops)) {
		b->no_memory = true;
		return;
	}
	ops->at[ops->n++] = (struct host_op){ .begin_ns = o->begin_ns,
					      .end_ns = o->end_ns,
					      .byte = o->place,
					      .tid = o->tid,
					      .name = o->name,
					      .kind = (uint8_t)o->kind };
}

void import_block(struct import_build *b, const struct import_block *m)
{
	struct import_process *p = NULL;
	struct trace_memory *memory;
	unsigned said = (m->has_allocated ? BLOCK_ALLOCATED : 0) | (m->has_reserved ? BLOCK_RESERVED : 0);

	if (m->device < UINT16_MAX)
		p = take(b, m->process, m->time_ns, m->time_ns);
	if (!p || !device_of(b, p, m->device)) {
		leave_out(b, false);
		return;
	}
	memory = &p->t->memory;
	if (!spill_room(memory->blocks, memory->n_blocks, memory->cap_blocks)) {
		b->no_memory = true;
		return;
	}
	memory->blocks[memory->n_blocks++] = (struct block_event){ .time_ns = m->time_ns,
								   .address = m->address,
								   .bytes = m->bytes,
								   .allocated = m->allocated,
								   .reserved = m->reserved,
								   .byte = m->place,
								   .tid = m->tid,
								   .device = (uint16_t)m->device,
								   .kind = m->freed ? GST_BLOCK_GIVEN : GST_BLOCK_TAKEN,
								   .said = (uint8_t)said };
}
