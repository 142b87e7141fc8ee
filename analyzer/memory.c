/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory.h"

#include <stdlib.h>

#include "alloc.h"

#define OUT_OF_MEMORY 2 /* CUDA_ERROR_OUT_OF_MEMORY */

struct pointer_event {
	uint64_t pointer;
	size_t order; /* index of the call: time order */
	const struct call *call;
};

bool memory_refused(const struct call *c)
{
	return c->result == OUT_OF_MEMORY &&
	       (c->family == GST_FAMILY_ALLOC || c->family == GST_FAMILY_POOL || c->family == GST_FAMILY_VMM);
}

static bool counts(const struct call *c)
{
	return !c->result && c->args[0] &&
	       (c->family == GST_FAMILY_FREE || (c->family == GST_FAMILY_ALLOC && c->args[1]));
}

static int by_pointer(const void *a, const void *b)
{
	const struct pointer_event *x = a, *y = b;

	if (x->pointer != y->pointer)
		return x->pointer < y->pointer ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static int by_time(const void *a, const void *b)
{
	const struct memory_change *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* what is given back at the same instant comes first */
}

static bool add(struct memory_changes *m, int64_t time_ns, int64_t bytes, uint16_t device)
{
	if (!array_room(m->at, m->n, m->cap))
		return false;
	m->at[m->n++] = (struct memory_change){ time_ns, bytes, device };
	return true;
}

/* An allocation and the free that follows it at the same pointer. */
static bool match(struct memory_changes *out, const struct pointer_event *events, size_t n)
{
	const struct call *live = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct call *c = events[i].call;
		bool other = i == 0 || events[i].pointer != events[i - 1].pointer;

		if (other)
			live = NULL;
		if (c->family == GST_FAMILY_ALLOC) {
			/* Bytes beyond any real device come from a damaged record. */
			int64_t bytes = c->args[1] > (uint64_t)1 << 50 ? 0 : (int64_t)c->args[1];

			if (!add(out, c->end_ns, bytes, c->device))
				return false;
			if (live &&
			    !add(out, c->begin_ns, -(int64_t)live->args[1], live->device)) /* its free was not seen */
				return false;
			live = bytes ? c : NULL;
		} else if (live) {
			if (!add(out, c->begin_ns, -(int64_t)live->args[1], live->device))
				return false;
			live = NULL;
		}
	}
	return true;
}

enum err_kind memory_add(struct memory_changes *out, const struct trace *t, struct error *e)
{
	struct pointer_event *events;
	size_t n = 0;
	bool ok;

	for (size_t i = 0; i < t->n_calls; i++)
		n += counts(&t->calls[i]);
	events = array_new(n, sizeof(*events));
	n = 0;
	for (size_t i = 0; events && i < t->n_calls; i++) {
		if (counts(&t->calls[i]))
			events[n++] = (struct pointer_event){ t->calls[i].args[0], i, &t->calls[i] };
	}
	if (events)
		array_sort(events, n, sizeof(*events), by_pointer);
	ok = events && match(out, events, n);
	free(events);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}

void memory_sort(struct memory_changes *m)
{
	array_sort(m->at, m->n, sizeof(*m->at), by_time);
}

void memory_free(struct memory_changes *m)
{
	free(m->at);
	*m = (struct memory_changes){ 0 };
}
