/* SPDX-License-Identifier: BSD-2-Clause */
#include "values.h"

#include <stdlib.h>

#include "tools/alloc.h"
#include "trace/trace_rare.h"

#define LOOK_BACK 64 /* writes of one value: the last ones matter */

static bool is_wait(const struct call *c)
{
	return c->family == GST_FAMILY_MEMOP && c->result == 0 && !(c->flags & GST_CAPTURED);
}

static bool is_write(const struct call *c)
{
	return c->family == GST_FAMILY_WRITE_VALUE && c->result == 0 && !(c->flags & GST_CAPTURED) &&
	       (c->detail & GST_VALUE_KIND) == GST_VALUE_WRITTEN && c->stream != GST_NONE;
}

static int by_call(const struct call *x, const struct call *y)
{
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x > y) - (x < y);
}

static int by_stream(const void *a, const void *b)
{
	const struct call *x = *(const struct call *const *)a, *y = *(const struct call *const *)b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return by_call(x, y);
}

/* What is written or waited for. */
static int by_place(const struct call *x, const struct call *y)
{
	int sx = (x->detail & GST_VALUE_SEMAPHORE) != 0, sy = (y->detail & GST_VALUE_SEMAPHORE) != 0;

	if (sx != sy)
		return sx - sy;
	return (x->args[0] > y->args[0]) - (x->args[0] < y->args[0]);
}

static int by_place_and_begin(const void *a, const void *b)
{
	const struct call *x = *(const struct call *const *)a, *y = *(const struct call *const *)b;
	int place = by_place(x, y);

	return place ? place : by_call(x, y);
}

bool values_build(struct values *v, const struct trace *t)
{
	size_t waits = 0, writes = 0;

	*v = (struct values){ .trace = t };
	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1)) {
		waits += is_wait(&t->calls[i]);
		writes += is_write(&t->calls[i]);
	}
	v->waits = array_new(waits, sizeof(*v->waits));
	v->writes = array_new(writes, sizeof(*v->writes));
	if (!v->waits || !v->writes) {
		values_free(v);
		return false;
	}
	for (size_t i = trace_rare(t, 0); waits && i < t->n_calls; i = trace_rare(t, i + 1)) {
		if (is_wait(&t->calls[i]))
			v->waits[v->n_waits++] = &t->calls[i];
		if (is_write(&t->calls[i]))
			v->writes[v->n_writes++] = &t->calls[i];
	}
	array_sort(v->waits, v->n_waits, sizeof(*v->waits), by_stream);
	array_sort(v->writes, v->n_writes, sizeof(*v->writes), by_place_and_begin);
	return true;
}

void values_free(struct values *v)
{
	free(v->waits);
	free(v->writes);
	*v = (struct values){ 0 };
}

bool values_anywhere(const struct values *v)
{
	return v->n_waits && v->waits[v->n_waits - 1]->stream == GST_NONE;
}

struct moment {
	const struct call *wait; /* of a place */
	uint32_t stream;         /* or of a stream */
	int64_t time_ns;
};

static bool waits_by(const void *element, const void *key)
{
	const struct call *c = *(const struct call *const *)element;
	const struct moment *m = key;

	return c->stream != m->stream ? c->stream < m->stream : c->begin_ns < m->time_ns;
}

size_t values_waits_before(const struct values *v, uint32_t stream, int64_t time_ns)
{
	const struct moment m = { .stream = stream, .time_ns = time_ns };

	return array_first(v->waits, v->n_waits, sizeof(*v->waits), waits_by, &m);
}

static bool written_by(const void *element, const void *key)
{
	const struct call *c = *(const struct call *const *)element;
	const struct moment *m = key;
	int place = by_place(c, m->wait);

	return place ? place < 0 : c->begin_ns < m->time_ns;
}

/* CU_STREAM_WAIT_VALUE_*, of as many bits as the wait looks at. */
static bool holds(const struct call *wait, const struct call *write)
{
	uint64_t mask = wait->detail & GST_VALUE_64 ? UINT64_MAX : UINT32_MAX;
	uint64_t there = write->args[1] & mask, value = wait->args[1] & mask;

	switch (wait->detail & GST_VALUE_KIND) {
	case GST_VALUE_GEQ: /* cyclic */
		return ((there - value) & mask) <= mask >> 1;
	case GST_VALUE_EQ:
		return there == value;
	case GST_VALUE_AND:
		return (there & value) != 0;
	case GST_VALUE_NOR:
		return (~(there | value) & mask) != 0;
	default:
		return false;
	}
}

const struct call *values_producer(const struct values *v, const struct call *wait, int64_t time_ns)
{
	const struct moment m = { .wait = wait, .time_ns = time_ns };
	size_t n = array_first(v->writes, v->n_writes, sizeof(*v->writes), written_by, &m);
	const struct call *producer = NULL;

	for (size_t back = 0; back < LOOK_BACK && n-- > 0; back++) {
		if (by_place(v->writes[n], wait) || !holds(wait, v->writes[n]))
			break;
		producer = v->writes[n];
	}
	return producer;
}
