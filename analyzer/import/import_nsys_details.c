/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_details.c: what other tables know of a call: which stream and which event it was about, what it allocated or freed. They name it by its
 * process and its correlation, so they are read first and looked up as the calls come. */
#include "import_nsys_parts.h"
#include "tools/alloc.h"
#include "tools/spill.h"

#define SYNC_EVENT 1 /* CUpti_ActivitySynchronizationType: the host waits for an event */

static int by_call(const void *a, const void *b)
{
	const struct nsys_detail *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static bool same_call(const struct nsys_detail *a, const struct nsys_detail *b)
{
	return a->pid == b->pid && a->correlation == b->correlation;
}

static int by_event(const void *a, const void *b)
{
	const struct nsys_event *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->context != y->context)
		return x->context < y->context ? -1 : 1;
	return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static bool event_before(const void *element, const void *key)
{
	return by_event(element, key) < 0;
}

static bool detail_before(const void *element, const void *key)
{
	return by_call(element, key) < 0;
}

static void add(struct nsys *n, const struct nsys_detail *d)
{
	if (!d->correlation)
		return;
	if (!spill_room(n->details, n->n_details, n->cap_details)) {
		n->no_memory = true;
		return;
	}
	n->details[n->n_details] = *d;
	n->details[n->n_details].order = n->n_details < UINT32_MAX ? 1 + (uint32_t)n->n_details : UINT32_MAX;
	n->n_details++;
}

/* One that is recorded in two contexts is two. */
static void find_several(struct nsys *n)
{
	for (size_t i = 0, end; i < n->n_events; i = end) {
		bool several = false;

		for (end = i + 1; end < n->n_events && n->events[end].pid == n->events[i].pid &&
				  n->events[end].event == n->events[i].event;
		     end++)
			several |= n->events[end].context != n->events[i].context;
		for (size_t k = i; k < end; k++)
			n->events[k].several = several;
	}
}

/* Its number, where it is known which event that is; else 0. */
static uint64_t event_number(const struct nsys_event *v)
{
	return v && v->event && v->event < UINT32_MAX && !v->several ? v->event : 0;
}

/* Where events were recorded: the recording call's stream, and of those who wait for them. */
static void read_events(struct nsys *n)
{
	struct nsys_rows r;

	if (!nsys_rows_begin(&r, &n->file, NSYS_EVENT))
		return;
	while (nsys_next(n, &r)) {
		struct nsys_event v = {
			.pid = nsys_row_pid(n, &r, EVENT_globalPid),
			.event = (uint64_t)nsys_rows_int(&r, EVENT_eventId, 0),
			.correlation = (uint64_t)nsys_rows_int(&r, EVENT_correlationId, 0),
			.stream = nsys_stream(&r, EVENT_streamId),
			.context = nsys_context(&r, EVENT_contextId),
			.device = nsys_device(&r, EVENT_deviceId),
		};

		if (!spill_room(n->events, n->n_events, n->cap_events)) {
			n->no_memory = true;
			break;
		}
		n->events[n->n_events++] = v;
	}
	nsys_rows_close(&r);
	array_sort(n->events, n->n_events, sizeof(*n->events), by_event);
	find_several(n);
	for (size_t i = 0; i < n->n_events && !n->no_memory; i++) {
		const struct nsys_event *v = &n->events[i];

		add(n, &(struct nsys_detail){ .pid = v->pid,
					      .correlation = v->correlation,
					      .stream = v->stream,
					      .address = event_number(v),
					      .context = v->context,
					      .device = v->device });
	}
}

static bool same_event(const struct nsys_event *a, const struct nsys_event *b)
{
	return a->pid == b->pid && a->event == b->event;
}

/* The first record of the event, in order of the contexts; NULL: there is none. */
static const struct nsys_event *first_of(const struct nsys *n, const struct nsys_event *key)
{
	size_t i = array_first(n->events, n->n_events, sizeof(*n->events), event_before, key);

	return i < n->n_events && same_event(&n->events[i], key) ? &n->events[i] : NULL;
}

/* The last record of the event before the wait for it: calls are numbered as they are made. The host's wait names the event's own context, a
 * stream's that of the stream: it may wait for an event of another. */
static const struct nsys_event *recorded(const struct nsys *n, const struct nsys_detail *wait, uint64_t event,
					 bool host)
{
	struct nsys_event key = { .pid = wait->pid, .event = event };
	const struct nsys_event *first = first_of(n, &key);
	size_t i;

	if (!first || (first->several && !(host && wait->context)))
		return NULL;
	key.context = host && wait->context && (first->several || first->context) ? wait->context : first->context;
	key.correlation = wait->correlation;
	i = array_first(n->events, n->n_events, sizeof(*n->events), event_before, &key);
	return i && same_event(&n->events[i - 1], &key) && n->events[i - 1].context == key.context ? &n->events[i - 1]
												   : NULL;
}

static void read_syncs(struct nsys *n)
{
	struct nsys_rows r;

	if (!nsys_rows_begin(&r, &n->file, NSYS_SYNC))
		return;
	while (nsys_next(n, &r)) {
		struct nsys_detail d = {
			.pid = nsys_row_pid(n, &r, SYNC_globalPid),
			.correlation = (uint64_t)nsys_rows_int(&r, SYNC_correlationId, 0),
			.stream = nsys_stream(&r, SYNC_streamId),
			.context = nsys_context(&r, SYNC_contextId),
			.device = nsys_device(&r, SYNC_deviceId),
		};
		/* What waits for an event has its own stream only if it is one that waits; old versions number the types otherwise. */
		bool host = nsys_rows_int(&r, SYNC_syncType, 0) == SYNC_EVENT || d.stream == IMPORT_NO_STREAM;
		const struct nsys_event *v = recorded(n, &d, (uint64_t)nsys_rows_int(&r, SYNC_eventId, 0), host);

		if (host) {
			d.stream = v ? v->stream : IMPORT_NO_STREAM;
			d.context = v && v->context ? v->context : d.context;
			d.device = v ? v->device : d.device;
		}
		d.address = event_number(v);
		add(n, &d);
	}
	nsys_rows_close(&r);
}

static void read_memory(struct nsys *n)
{
	struct nsys_rows r;

	if (!nsys_rows_begin(&r, &n->file, NSYS_MEMORY))
		return;
	while (nsys_next(n, &r))
		add(n, &(struct nsys_detail){
			       .pid = nsys_row_pid(n, &r, MEMORY_globalPid),
			       .correlation = (uint64_t)nsys_rows_int(&r, MEMORY_correlationId, 0),
			       .stream = IMPORT_NO_STREAM,
			       .bytes = (uint64_t)nsys_rows_int(&r, MEMORY_bytes, 0),
			       .address = (uint64_t)nsys_rows_int(&r, MEMORY_address, 0),
			       .context = nsys_context(&r, MEMORY_contextId),
			       .device = nsys_device(&r, MEMORY_deviceId),
		       });
	nsys_rows_close(&r);
}

/* What one row does not say another one may: the first that says it counts. */
static void complete(struct nsys_detail *d, const struct nsys_detail *other)
{
	if (!d->context || (d->stream == IMPORT_NO_STREAM && other->stream != IMPORT_NO_STREAM))
		d->context = other->context;
	if (d->stream == IMPORT_NO_STREAM)
		d->stream = other->stream;
	if (d->device == IMPORT_NO_DEVICE)
		d->device = other->device;
	if (!d->address) {
		d->address = other->address;
		d->bytes = other->bytes;
	}
}

/* However many rows have one number, a call of that number finds one detail. */
static void join(struct nsys *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->n_details; i++)
		if (kept && same_call(&n->details[kept - 1], &n->details[i]))
			complete(&n->details[kept - 1], &n->details[i]);
		else
			n->details[kept++] = n->details[i];
	for (size_t i = 0; i < kept; i++)
		n->details[i].order = 0; /* of a key: before all */
	n->n_details = kept;
}

void nsys_details(struct nsys *n)
{
	read_events(n);
	read_syncs(n);
	read_memory(n);
	array_sort(n->details, n->n_details, sizeof(*n->details), by_call);
	join(n);
}

/* Calls come in their order, too, or nearly: the next detail is looked at first. */
void nsys_detail_find(struct nsys *n, uint64_t pid, struct import_call *c)
{
	struct nsys_detail key = { .pid = pid, .correlation = c->correlation };
	size_t i = n->detail;

	if (!n->n_details || !c->correlation)
		return;
	if ((i < n->n_details && by_call(&n->details[i], &key) < 0) || (i && by_call(&n->details[i - 1], &key) >= 0))
		i = array_first(n->details, n->n_details, sizeof(*n->details), detail_before, &key);
	n->detail = i;
	if (i == n->n_details || !same_call(&n->details[i], &key))
		return;
	c->stream = n->details[i].stream;
	c->context = n->details[i].context;
	c->device = nsys_context_device(n, pid, c->context, n->details[i].device);
	c->address = n->details[i].address;
	c->bytes = n->details[i].bytes;
	n->detail++;
}
