/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_story.h"

#include "tools/alloc.h"
#include "trace/trace_rare.h"

#include <stdlib.h>

#define FAR_CALLS 4096       /* how far behind a refusal is looked for what came of it: calls */
#define LEFT_NS 1000000000ll /* … and for what the device had left: so long, */
#define FAR_LEFT 4096        /* and so many answers, of all threads */

/* Of one process, while its stories are found. */
struct finder {
	struct memory_stories *out;
	const struct trace *trace;
	uint32_t process;
	uint32_t *story_of; /* by block that ends one: index in out, and 1 */
	struct said *said;  /* what threads heard from the framework but for what they gave back, by thread, by time */
	size_t n_said, cap_said;
};

struct said {
	uint32_t tid, block;
};

/* What a framework's allocator does between a refusal and its end: it waits, frees, asks again. Work for the device is put in by others. */
static bool goes_on(const struct call *c)
{
	return !(c->flags & GST_SUBMISSION);
}

static int by_thread(const void *a, const void *b)
{
	const struct said *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

static bool list_said(struct finder *f)
{
	const struct trace_memory *m = &f->trace->memory;

	for (size_t i = 0; i < m->n_blocks; i++) {
		if (m->blocks[i].kind == GST_BLOCK_GIVEN)
			continue;
		if (!array_room(f->said, f->n_said, f->cap_said))
			return false;
		f->said[f->n_said++] = (struct said){ m->blocks[i].tid, (uint32_t)i };
	}
	array_sort(f->said, f->n_said, sizeof(*f->said), by_thread);
	return true;
}

struct said_key {
	const struct block_event *blocks;
	int64_t time_ns;
	uint32_t tid;
};

static bool said_before(const void *element, const void *key)
{
	const struct said *x = element;
	const struct said_key *k = key;

	return x->tid != k->tid ? x->tid < k->tid : k->blocks[x->block].time_ns < k->time_ns;
}

/* The thread's block that ends the matter, before it goes on to something else. NULL: none. */
static const struct block_event *ending(const struct finder *f, size_t refused)
{
	const struct trace *t = f->trace;
	const struct call *c = &t->calls[refused];
	const struct said_key key = { t->memory.blocks, c->end_ns, c->tid };
	int64_t until_ns = INT64_MAX;
	size_t at;

	for (size_t i = refused + 1; i < t->n_calls && i - refused < FAR_CALLS; i++)
		if (t->calls[i].tid == c->tid && !goes_on(&t->calls[i])) {
			until_ns = t->calls[i].begin_ns;
			break;
		}
	at = array_first(f->said, f->n_said, sizeof(*f->said), said_before, &key);
	if (at == f->n_said || f->said[at].tid != c->tid || key.blocks[f->said[at].block].time_ns >= until_ns)
		return NULL;
	return &t->memory.blocks[f->said[at].block];
}

static bool left_before(const void *element, const void *key)
{
	return ((const struct memory_left *)element)->time_ns < *(const int64_t *)key;
}

/* What the driver said right behind the last refusal. */
static const struct memory_left *left_behind(const struct trace *t, const struct call *c)
{
	const struct trace_memory *m = &t->memory;

	size_t first = array_first(m->left, m->n_left, sizeof(*m->left), left_before, &c->end_ns);

	for (size_t i = first; i < m->n_left && i - first < FAR_LEFT && m->left[i].time_ns - c->end_ns < LEFT_NS; i++)
		if (m->left[i].tid == c->tid)
			return &m->left[i];
	return NULL;
}

static struct memory_story *add(struct finder *f, uint32_t tid)
{
	struct memory_stories *out = f->out;

	if (!array_room(out->at, out->n, out->cap))
		return NULL;
	out->at[out->n] = (struct memory_story){ .trace = f->trace, .process = f->process, .tid = tid };
	return &out->at[out->n++];
}

/* The newest story ends with this block. */
static void set_block(struct finder *f, struct memory_story *s, const struct block_event *b)
{
	s->block = b;
	s->asked = b->bytes;
	s->end_ns = b->time_ns;
	s->ordinal = b->device;
	s->outcome = b->kind == GST_BLOCK_REFUSED ? MEMORY_FAILED : MEMORY_RETRIED;
	f->story_of[b - f->trace->memory.blocks] = (uint32_t)f->out->n;
}

/* The story that a refusal which ends like this goes on with; NULL: a new one. */
static struct memory_story *same_story(const struct finder *f, const struct block_event *block)
{
	uint32_t story = block ? f->story_of[block - f->trace->memory.blocks] : 0;

	return story ? &f->out->at[story - 1] : NULL;
}

static bool add_refusal(struct finder *f, size_t index)
{
	const struct call *c = &f->trace->calls[index];
	const struct block_event *block = ending(f, index);
	struct memory_story *s = same_story(f, block);

	if (!s) {
		s = add(f, c->tid);
		if (!s)
			return false;
		s->begin_ns = c->begin_ns;
		s->first = c;
		s->asked = c->args[1];
		s->end_ns = c->end_ns;
		s->ordinal = c->device;
		if (block)
			set_block(f, s, block);
	}
	s->last = c;
	s->refusals++;
	s->left = left_behind(f->trace, c);
	return true;
}

/* What the driver refused. */
static bool add_refusals(struct finder *f)
{
	const struct trace *t = f->trace;
	bool listed = false;

	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1)) {
		if (!memory_refused(&t->calls[i]) || (t->calls[i].flags & GST_CAPTURED))
			continue;
		if (!listed && !list_said(f))
			return false;
		listed = true;
		if (!add_refusal(f, i))
			return false;
	}
	return true;
}

/* What the framework had no room for without asking the driver (a limit of its own). */
static bool add_blocks(struct finder *f)
{
	for (size_t i = 0; i < f->trace->memory.n_blocks; i++) {
		const struct block_event *b = &f->trace->memory.blocks[i];
		struct memory_story *s;

		if (b->kind != GST_BLOCK_REFUSED || same_story(f, b))
			continue;
		s = add(f, b->tid);
		if (!s)
			return false;
		s->begin_ns = b->time_ns;
		set_block(f, s, b);
	}
	return true;
}

static bool add_process(struct memory_stories *out, uint32_t process, const struct trace *t)
{
	struct finder f = { .out = out, .trace = t, .process = process };
	bool ok;

	f.story_of = array_new(t->memory.n_blocks, sizeof(*f.story_of));
	ok = f.story_of && add_refusals(&f) && add_blocks(&f);
	free(f.story_of);
	free(f.said);
	return ok;
}

static int by_end(const void *a, const void *b)
{
	const struct memory_story *x = a, *y = b;

	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

bool memory_stories_build(struct memory_stories *out, const struct run *run)
{
	for (size_t i = 0; i < run->n_traces; i++)
		if (!add_process(out, (uint32_t)i, run->traces[i]))
			return false;
	array_sort(out->at, out->n, sizeof(*out->at), by_end);
	return true;
}

void memory_stories_free(struct memory_stories *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->at[i].pieces);
	free(s->at);
	*s = (struct memory_stories){ 0 };
}

uint64_t memory_story_free(const struct memory_story *s)
{
	return s->at.reserved - s->at.allocated + (s->left ? s->left->free : 0);
}

bool memory_story_enough(const struct memory_story *s)
{
	return memory_story_free(s) >= s->asked;
}
