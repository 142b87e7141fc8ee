/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_parse.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_MAX 65536u /* its size is a uint16_t */

struct id { /* at the end of what is no sample: sample_id_all */
	uint32_t pid, tid;
	uint64_t time;
};

struct task_record { /* FORK, EXIT */
	struct perf_event_header header;
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time;
};

struct name_record { /* COMM */
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

struct sample_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time, address, n;
	uint64_t frames[];
};

bool perf_parse_begin(struct perf_parse *p)
{
	p->whole = malloc(RECORD_MAX);
	return p->whole != NULL;
}

void perf_parse_end(struct perf_parse *p)
{
	free(p->whole);
	p->whole = NULL;
}

/* NULL: no memory; counted. */
static struct perf_event *add(struct perf_batch *b)
{
	if (b->n == b->cap) {
		size_t cap = b->cap ? 2 * b->cap : 1024;
		struct perf_event *at = realloc(b->at, cap * sizeof(*at));
		if (!at) {
			b->lost++;
			return NULL;
		}
		b->at = at;
		b->cap = cap;
	}
	memset(&b->at[b->n], 0, sizeof(*b->at));
	return &b->at[b->n++];
}

/* Those of the program: what stands before its marker is the kernel's. */
static void add_frames(struct perf_event *e, const struct sample_record *s)
{
	size_t room = (s->header.size - sizeof(*s)) / 8, n = s->n < room ? s->n : room;
	bool user = false;

	e->frames = malloc(PERF_FRAMES * sizeof(*e->frames));
	for (size_t i = 0; e->frames && i < n && e->n_frames < PERF_FRAMES; i++) {
		if (s->frames[i] >= (uint64_t)PERF_CONTEXT_MAX)
			user = s->frames[i] == (uint64_t)PERF_CONTEXT_USER;
		else if (user)
			e->frames[e->n_frames++] = s->frames[i];
	}
}

static bool add_sample(struct perf_batch *b, const struct sample_record *s)
{
	struct perf_event *e = add(b);

	if (!e)
		return false;
	e->time = s->time;
	e->tid = s->tid;
	e->pid = s->pid;
	e->address = s->address;
	e->kind = s->address ? PERF_FAULT
			     : PERF_SAMPLE; /* the clock's have no address, and at 0 nothing can be read in */
	if (e->kind == PERF_SAMPLE)
		add_frames(e, s);
	return true;
}

static bool add_task(struct perf_batch *b, const struct task_record *r)
{
	struct perf_event *e = add(b);

	if (!e)
		return false;
	e->kind = r->header.type == PERF_RECORD_FORK ? PERF_FORK : PERF_EXIT;
	e->time = r->time;
	e->tid = r->tid;
	e->pid = r->pid;
	e->parent_tid = r->parent_tid;
	return true;
}

static bool add_other(struct perf_batch *b, const struct perf_event_header *h)
{
	const struct id *id = (const void *)((const uint8_t *)h + h->size - sizeof(*id));
	const struct name_record *name = (const void *)h;
	struct perf_event *e = add(b);

	if (!e)
		return false;
	e->time = id->time;
	e->tid = id->tid;
	e->pid = id->pid;
	if (h->type == PERF_RECORD_COMM) {
		e->kind = PERF_NAME;
		e->exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
		e->tid = name->tid;
		e->pid = name->pid;
		strncpy(e->name, name->name, sizeof(e->name) - 1);
	} else {
		e->kind = h->misc & PERF_RECORD_MISC_SWITCH_OUT ? PERF_OUT : PERF_IN;
		e->preempted = e->kind == PERF_OUT && h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	}
	return true;
}

static bool one(struct perf_batch *b, const struct perf_event_header *h)
{
	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		return add_sample(b, (const void *)h);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return add_task(b, (const void *)h);
	case PERF_RECORD_COMM:
	case PERF_RECORD_SWITCH:
		return add_other(b, h);
	case PERF_RECORD_LOST:
		b->lost += ((const struct lost_record *)(const void *)h)->lost;
	}
	return true;
}

bool perf_parse(struct perf_parse *p, struct perf_batch *b, const uint8_t *data, size_t bytes, uint64_t tail,
		uint64_t head)
{
	bool all = true;

	while (tail < head) {
		size_t at = tail & (bytes - 1);
		const struct perf_event_header *h =
			(const void *)(data + at); /* records are of 8 bytes each: it is whole */
		size_t first = bytes - at;
		if (h->size < sizeof(*h))
			break; /* cannot be */
		if (h->size > first) {
			memcpy(p->whole, data + at, first);
			memcpy(p->whole + first, data, h->size - first);
			h = (const void *)p->whole;
		}
		all &= one(b, h);
		tail += h->size;
	}
	return all;
}
