/* SPDX-License-Identifier: BSD-2-Clause */
#include "nvtx_range.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "nvtx.h"
#include "nvtx_domain.h"
#include "nvtx_payload.h"
#include "thread.h"

#define STACKS 256   /* threads that have ranges pushed at one moment */
#define DEPTH 64     /* ranges pushed by one thread that are recorded */
#define ANNOUNCED 3  /* the outermost so many are written when they begin as well */
#define STARTED 1024 /* ranges started and not yet ended; power of two */
#define NUMBERS 256  /* range numbers that a thread takes at once */

/* A range that has begun. */
struct open {
	struct gst_range range;
	uint32_t domain;     /* its number */
	uint32_t generation; /* of the file in force when it began, 0 none: a parent's ranges are not the child's */
	uint32_t clock;      /* what its ticks are */
};

/* Only threads with pushed ranges need one, so they stand in no thread's own memory, which is part of its stack. */
static struct stack {
	uintptr_t owner;               /* address of the owner's `mine`, 0 nobody's */
	uint32_t stored;               /* in open */
	uint32_t total;                /* pushed and not popped */
	uint32_t levels[NVTX_DOMAINS]; /* … by domain */
	struct open open[DEPTH];
} stacks[STACKS];
static __thread struct stack *mine;
static __thread uint32_t
	pushing; /* pushes that the thread is in the middle of: a signal handler's pop leaves it its stack */

/* In words, as one thread looks at it while another may be changing it. */
static struct started {
	uint64_t id; /* 0 free, 1 being changed */
	uint64_t words[sizeof(struct open) / 8];
} started[STARTED];
_Static_assert(sizeof(struct open) % 8 == 0, "whole words");
static uint64_t last_started;

static uint32_t last_numbers; /* blocks of NUMBERS that were given out */
static __thread uint32_t next_number;

static uint32_t number(void)
{
	static __thread bool in_between;
	uint32_t n;

	if (in_between) /* a signal handler has a block for itself */
		return __atomic_add_fetch(&last_numbers, 1, __ATOMIC_RELAXED) * NUMBERS;
	in_between = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (next_number % NUMBERS == 0)
		next_number = __atomic_add_fetch(&last_numbers, 1, __ATOMIC_RELAXED) * NUMBERS;
	n = next_number++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	in_between = false;
	return n;
}

/* ---- records ------------------------------------------------------------------------------------------------------------ */

static void write_range(struct thread *t, const struct gst_range *r)
{
	bool here;
	uintptr_t depth = nvtx_append_begin(t, &here);

	nvtx_text_write(t, r->domain, here);
	nvtx_text_write(t, r->name, here);
	if (here)
		ring_append_here(&t->ring, GST_RANGE, sizeof(*r), r);
	else
		ring_append(&t->ring, GST_RANGE, sizeof(*r), r);
	nvtx_append_end(t, depth);
}

static void begin(struct open *o, const struct nvtx_event *e, enum gst_range_kind kind, uint32_t level,
		  struct thread *t)
{
	o->range = (struct gst_range){ .begin = clock_ticks(),
				       .payload = e->payload,
				       .range = number(),
				       .tid = t                           ? t->tid
					      : kind == GST_RANGE_STARTED ? (uint32_t)syscall(SYS_gettid)
									  : 0,
				       .domain = nvtx_domain_text(e->domain),
				       .name = e->name.text,
				       .number = e->name.number,
				       .category = e->category,
				       .level = level < UINT16_MAX ? (uint16_t)level : UINT16_MAX,
				       .kind = (uint8_t)kind,
				       .payload_kind = (uint8_t)e->payload_kind,
				       .flags = e->name.numbered ? GST_RANGE_NUMBERED : 0 };
	o->domain = e->domain;
	o->generation = *process_generation;
	o->clock = (uint32_t)clock_kind;
}

static bool is_ours(const struct open *o)
{
	return (!o->generation || o->generation == *process_generation) && o->clock == (uint32_t)clock_kind;
}

static void end(struct open *o, uint64_t ticks, const struct nvtx_data *data, size_t n_data)
{
	struct thread *t = nvtx_thread();

	if (!t || !is_ours(o))
		return;
	o->range.end = ticks;
	if (o->range.kind == GST_RANGE_PUSHED)
		o->range.tid = t->tid; /* not asked for while there was no file */
	write_range(t, &o->range);
	if (n_data)
		nvtx_payload_write(t, o->domain, o->range.range, data, n_data);
}

/* ---- pushed ranges ------------------------------------------------------------------------------------------------------ */

static struct stack *stack_take(void)
{
	uint32_t first = (uint32_t)((uintptr_t)&mine >> 12);

	for (unsigned i = 0; i < STACKS; i++) {
		struct stack *s = &stacks[(first + i) % STACKS];
		uintptr_t owner = __atomic_load_n(&s->owner, __ATOMIC_RELAXED);

		/* What has my address and is not mine was left by a thread that ended. */
		if (owner != (uintptr_t)&mine &&
		    (owner || !__atomic_compare_exchange_n(&s->owner, &owner, (uintptr_t)&mine, false, __ATOMIC_ACQUIRE,
							   __ATOMIC_RELAXED)))
			continue;
		s->stored = s->total = 0;
		memset(s->levels, 0, sizeof(s->levels));
		return s;
	}
	return NULL;
}

/* A signal handler may come at any point, and then has the same stack. */
static struct stack *push_begin(void)
{
	pushing++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!mine)
		mine = stack_take();
	return mine;
}

static void push_end(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	pushing--;
}

/* Unless a handler has done so since: it may be another thread's by now. */
static void stack_give(struct stack *s)
{
	uintptr_t me = (uintptr_t)&mine;

	mine = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(&s->owner, &me, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

int nvtx_range_push(const struct nvtx_event *e)
{
	struct thread *t = nvtx_thread();
	struct stack *s = push_begin();
	uint32_t level, at;

	if (!s) {
		push_end();
		nvtx_untracked();
		return NVTX_NOT_TRACKED;
	}
	level = s->levels[e->domain]++;
	s->total++;
	push_end();
	at = s->stored;
	if (at >= DEPTH) {
		nvtx_untracked();
		return (int)level;
	}
	s->stored = at + 1; /* first: a signal handler's ranges go above */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	begin(&s->open[at], e, GST_RANGE_PUSHED, level, t);
	if (t && at < ANNOUNCED)
		write_range(t, &s->open[at].range);
	if (t && e->n_data)
		nvtx_payload_write(t, e->domain, s->open[at].range.range, e->data, e->n_data);
	return (int)level;
}

/* The domain's innermost range, out of the stack. False: it was not recorded. */
static bool take(struct stack *s, uint32_t domain, uint32_t level, struct open *out)
{
	uint32_t n = s->stored;

	for (uint32_t i = n; i-- > 0;) {
		if (s->open[i].domain != domain)
			continue;
		if (s->open[i].range.level != level)
			return false;
		*out = s->open[i];
		memmove(&s->open[i], &s->open[i + 1], (n - i - 1) * sizeof(s->open[0]));
		s->stored -=
			s->stored > 0; /* a handler's pops, of ranges that are not its own, may have come in between */
		return true;
	}
	return false;
}

int nvtx_range_pop(uint32_t domain, const struct nvtx_data *data, size_t n_data)
{
	uint64_t ticks = clock_ticks();
	struct stack *s = mine;
	struct open popped;
	uint32_t level;
	bool recorded;

	if (!s || !s->levels[domain])
		return -1;
	level = --s->levels[domain];
	recorded = take(s, domain, level, &popped);
	if (--s->total == 0 && !pushing)
		stack_give(s);
	if (recorded)
		end(&popped, ticks, data, n_data);
	return (int)level;
}

void nvtx_ranges_announce(struct thread *t)
{
	for (uint32_t i = 0; mine && i < mine->stored; i++) {
		struct open *o = &mine->open[i];

		if (!is_ours(o))
			continue;
		o->range.tid = t->tid;
		if (i < ANNOUNCED)
			write_range(t, &o->range);
	}
}

void nvtx_ranges_thread_ended(void)
{
	if (mine)
		stack_give(mine);
}

/* ---- started ranges, marks ---------------------------------------------------------------------------------------------- */

/* Each word is stored with release and loaded with acquire, instead of a fence beside the id, which ThreadSanitizer does not know: who
 * has a word of a later range finds that the id is no longer what it was. */
static void started_put(struct started *s, const struct open *o)
{
	uint64_t words[sizeof(s->words) / 8];

	memcpy(words, o, sizeof(words));
	for (unsigned i = 0; i < sizeof(words) / 8; i++)
		__atomic_store_n(&s->words[i], words[i], __ATOMIC_RELEASE);
}

static struct open started_get(const struct started *s)
{
	uint64_t words[sizeof(s->words) / 8] = { 0 };
	struct open o;

	for (unsigned i = 0; i < sizeof(words) / 8; i++)
		words[i] = __atomic_load_n(&s->words[i], __ATOMIC_ACQUIRE);
	memcpy(&o, words, sizeof(o));
	return o;
}

void nvtx_ranges_started_announce(struct thread *t)
{
	for (uint32_t i = 0; i < STARTED; i++) {
		uint64_t id = __atomic_load_n(&started[i].id, __ATOMIC_ACQUIRE);
		struct open o;

		if (id <= 1)
			continue;
		o = started_get(&started[i]);
		if (id == __atomic_load_n(&started[i].id, __ATOMIC_RELAXED) && is_ours(&o))
			write_range(t, &o.range);
	}
}

uint64_t nvtx_range_start(const struct nvtx_event *e)
{
	uint64_t serial = __atomic_add_fetch(&last_started, 1, __ATOMIC_RELAXED);
	struct thread *t = nvtx_thread();
	struct open o;

	for (unsigned i = 0; i < STARTED; i++) {
		uint64_t place = (serial + i) % STARTED, none = 0, id = serial * STARTED + place;
		struct started *s = &started[place];

		if (__atomic_load_n(&s->id, __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&s->id, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		begin(&o, e, GST_RANGE_STARTED, 0, t);
		started_put(s, &o);
		if (t)
			write_range(t, &o.range);
		if (t && e->n_data)
			nvtx_payload_write(t, e->domain, o.range.range, e->data, e->n_data);
		__atomic_store_n(&s->id, id, __ATOMIC_RELEASE);
		return id;
	}
	nvtx_untracked();
	return serial * STARTED; /* of no place: ids of place 0 that are in use have another serial */
}

void nvtx_range_end(uint64_t id, const struct nvtx_data *data, size_t n_data)
{
	uint64_t ticks = clock_ticks();
	struct started *s = &started[id % STARTED];
	struct open ended;

	if (id < STARTED || !__atomic_compare_exchange_n(&s->id, &id, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	ended = started_get(s);
	__atomic_store_n(&s->id, 0, __ATOMIC_RELEASE);
	end(&ended, ticks, data, n_data);
}

void nvtx_range_mark(const struct nvtx_event *e)
{
	struct thread *t = nvtx_thread();
	struct open mark;

	if (!t)
		return;
	begin(&mark, e, GST_RANGE_MARK, 0, t);
	mark.range.end = mark.range.begin;
	write_range(t, &mark.range);
	if (e->n_data)
		nvtx_payload_write(t, e->domain, mark.range.range, e->data, e->n_data);
}

void nvtx_ranges_forget(void)
{
	for (unsigned i = 0; i < STACKS; i++)
		if (&stacks[i] != mine && stacks[i].owner) /* written, its page would be the child's own */
			stacks[i].owner = 0;
	for (unsigned i = 0; i < STARTED; i++)
		if (started[i].id == 1 || started_get(&started[i]).generation)
			started[i].id = 0;
}
