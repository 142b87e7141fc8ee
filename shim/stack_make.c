/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_make.h"

#include <string.h>

#include "format.h"
#include "ring.h"
#include "stack_code.h"
#include "stack_memory.h"
#include "stack_objects.h"
#include "stack_python.h"
#include "stack_still.h"
#include "stack_walk.h"

#define KNOWN 16384u /* stacks, a power of two */
#define KNOWN_MAX (KNOWN / 4 * 3)
#define WALKS 3

static struct { /* one stack in the making: too large for a thread's own */
	struct stack_window native_window, python_window;
	struct stack_native native[STACK_NATIVE_MAX];
	struct stack_python_frame python[STACK_PYTHON_MAX];
	struct stack_line lines[STACK_PYTHON_MAX];
	struct gst_frame frames[GST_FRAMES_MAX];
	unsigned n_native, n_python, n;
	bool native_whole, python_whole, unmerged;
} now;

static struct {
	uint64_t hash;
	uint32_t id;
} known[KNOWN];
static uint32_t n_known, last_id;

static struct stack_python_layout layout;
static uint64_t layout_of; /* runtime; 0 none looked at yet */

/* What others ask for without the caller's lock. */
static uint64_t told;
static uint32_t python_version;

/* ---- frames ------------------------------------------------------------------------------------------------------------- */

static bool is_evaluation(const struct stack_native *f, const struct stack_object *python)
{
	return python && f->at - !f->exact >= python->python.eval_begin && f->at - !f->exact < python->python.eval_end;
}

static void add(uint64_t at, uint32_t of, uint16_t kind)
{
	if (now.n < GST_FRAMES_MAX)
		now.frames[now.n++] = (struct gst_frame){ .at = at, .of = of, .kind = kind };
}

static void add_native(struct ring *r, const struct stack_native *f)
{
	add(f->at, stack_object_id(r, f->object), f->exact ? GST_FRAME_EXACT : GST_FRAME_RETURN);
}

/* Those that one call of the evaluation function runs; the first one behind them. */
static unsigned add_python(unsigned from)
{
	for (unsigned i = from; i < now.n_python; i++) {
		if (now.lines[i].code)
			add(now.lines[i].line, now.lines[i].code, GST_FRAME_PYTHON);
		if (now.python[i].entry)
			return i + 1;
	}
	return now.n_python;
}

static unsigned count_evaluations(unsigned from, const struct stack_object *python)
{
	unsigned n = 0;

	for (unsigned i = from; i < now.n_native; i++)
		n += is_evaluation(&now.native[i], python);
	return n;
}

static unsigned count_entries(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < now.n_python; i++)
		n += now.python[i].entry || i + 1 == now.n_python;
	return n;
}

/* The recorder's own frames are on top. */
static unsigned first_foreign(void)
{
	unsigned i = 0;

	while (i < now.n_native && now.native[i].object != STACK_NO_OBJECT &&
	       stack_object_at(now.native[i].object)->own)
		i++;
	return i;
}

static void merge(struct ring *r, const struct stack_object *python)
{
	unsigned from = first_foreign(), next = 0, evaluations = count_evaluations(from, python),
		 entries = count_entries();

	now.n = 0;
	/* Where either end is out of sight, they agree as far as they go. */
	now.unmerged = now.n_python && now.n_native > from &&
		       ((evaluations > entries && now.python_whole) || (evaluations < entries && now.native_whole));
	while (now.unmerged && next < now.n_python)
		next = add_python(next);
	for (unsigned i = from; i < now.n_native; i++) {
		if (!now.unmerged && next < now.n_python && is_evaluation(&now.native[i], python))
			next = add_python(next);
		else
			add_native(r, &now.native[i]);
	}
	while (next < now.n_python)
		next = add_python(next);
}

static void find_python(struct ring *r, const struct stack_object *python, uint32_t tid, bool other)
{
	now.n_python = 0;
	now.python_whole = true;
	if (!python)
		return;
	if (layout_of != python->python.runtime) {
		layout_of = python->python.runtime;
		memset(&layout, 0, sizeof(layout));
		__atomic_store_n(&python_version,
				 stack_python_layout(&layout, &python->python) ? layout.version : 1u << 31,
				 __ATOMIC_RELAXED);
	}
	if (!layout.version)
		return;
	now.python_window.pages = 1;
	now.n_python = stack_python_frames(&layout, python->python.runtime, tid, other, &now.python_window, now.python,
					   &now.python_whole);
	stack_code_lines(r, &layout, python->python.code_type, now.python, now.n_python, now.lines);
}

/* ---- records ------------------------------------------------------------------------------------------------------------ */

static uint64_t hash_frames(void)
{
	uint64_t h = 0x9e3779b97f4a7c15ull * (now.n + 1), words[2];

	for (unsigned i = 0; i < now.n; i++) {
		memcpy(words, &now.frames[i], sizeof(words));
		h = (h ^ words[0]) * 0xff51afd7ed558ccdull;
		h = ((h ^ h >> 32) ^ words[1]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h ? h : 1;
}

static bool write_stack(struct ring *r, uint32_t id, bool native)
{
	struct gst_stack *s = ring_reserve(r, GST_STACK, (uint16_t)(sizeof(*s) + now.n * sizeof(*now.frames)));

	if (!s)
		return false;
	s->id = id;
	s->count = (uint16_t)now.n;
	s->flags = (uint16_t)((native ? GST_STACK_NATIVE : 0) | (now.n_python ? GST_STACK_PYTHON : 0) |
			      (now.unmerged ? GST_STACK_UNMERGED : 0) |
			      ((native && !now.native_whole) || !now.python_whole || now.n == GST_FRAMES_MAX
				       ? GST_STACK_TRUNCATED
				       : 0));
	memcpy(s->frames, now.frames, now.n * sizeof(*now.frames));
	ring_commit(s);
	__atomic_fetch_add(&told, 1, __ATOMIC_RELAXED);
	return true;
}

/* The stack's number; written if it is a new one. 0: it has no frames, or no room. */
static uint32_t identify(struct ring *r)
{
	uint64_t hash = hash_frames();
	uint32_t place = (uint32_t)(hash >> 32) % KNOWN;

	if (!now.n)
		return 0;
	while (known[place].hash && known[place].hash != hash)
		place = (place + 1) % KNOWN;
	if (known[place].hash)
		return known[place].id;
	if (!write_stack(r, last_id + 1, now.n_native > first_foreign()))
		return 0;
	last_id++;
	if (++n_known > KNOWN_MAX) { /* they are told of again, under new numbers */
		memset(known, 0, sizeof(known));
		n_known = 1;
		place = (uint32_t)(hash >> 32) % KNOWN;
	}
	known[place].hash = hash;
	known[place].id = last_id;
	return last_id;
}

/* And which object Python is in. */
static const struct stack_object *find_native(const struct stack_registers *from)
{
	now.native_whole = true;
	now.native_window.pages = STACK_WINDOW_PAGES;
	for (unsigned i = 0; i < WALKS; i++) {
		stack_objects_begin();
		now.n_native = from ? stack_walk(from, &now.native_window, now.native, &now.native_whole) : 0;
		for (unsigned k = 0; k < now.n_native; k++)
			stack_objects_use(now.native[k].object);
		stack_objects_use(stack_objects_python());
		if (stack_objects_hold())
			return stack_object_at(stack_objects_python());
	}
	now.n_native = 0; /* libraries come and go all the time */
	return NULL;
}

/* With Python's frames a sign of it: frames that it had, and that did not hang together. */
static bool has_moved(const struct stack_still *other)
{
	return (!now.n_python && !now.python_whole) || !stack_still_stands(other);
}

uint32_t stack_make(struct ring *r, const struct stack_registers *from, uint32_t tid, const struct stack_still *other,
		    unsigned *n_frames)
{
	const struct stack_object *python = find_native(from);

	find_python(r, python, tid, other != NULL);
	if (other && now.n_native && has_moved(other))
		now.n_native = 0;
	merge(r, python);
	*n_frames = now.n;
	return identify(r);
}

uint32_t stack_make_holder(uint64_t futex)
{
	return layout_of && layout.version ? stack_python_holder(&layout, futex) : 0;
}

uint64_t stack_make_told(void)
{
	return __atomic_load_n(&told, __ATOMIC_RELAXED);
}

uint32_t stack_make_python(void)
{
	return __atomic_load_n(&python_version, __ATOMIC_RELAXED);
}

void stack_make_forget(void)
{
	memset(known, 0, sizeof(known));
	n_known = last_id = 0;
	layout_of = 0;
	told = 0;
	python_version = 0;
	stack_objects_forget();
	stack_code_forget();
	stack_python_forget();
}
