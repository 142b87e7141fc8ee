/* SPDX-License-Identifier: BSD-2-Clause */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"

static char *text_copy(struct arena *a, const char *text, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	if (copy) {
		memcpy(copy, text, n);
		copy[n] = 0;
	}
	return copy;
}

static bool add_stack(struct stacks *s, const struct gst_stack *r)
{
	size_t bytes = r->count * sizeof(r->frames[0]);
	struct stack *stack;

	if (!array_room(s->all, s->n, s->cap))
		return false;
	stack = &s->all[s->n];
	*stack = (struct stack){ .id = r->id, .flags = r->flags, .n_raw = r->count };
	stack->raw = arena_alloc(&s->arena, bytes + 1);
	if (!stack->raw)
		return false;
	memcpy(stack->raw, r->frames, bytes);
	s->n++;
	return true;
}

static bool add_object(struct stacks *s, const struct gst_object *r)
{
	struct object_file *o;

	if (!array_room(s->objects, s->n_objects, s->cap_objects))
		return false;
	o = &s->objects[s->n_objects];
	*o = (struct object_file){ .id = r->id, .flags = r->flags, .bias = r->bias };
	o->file = (struct symbol_object){ .path = text_copy(&s->arena, r->path, r->path_bytes),
					  .file_bytes = r->file_bytes,
					  .file_mtime_ns = r->file_mtime_ns };
	o->file.n_build_id = r->build_id_bytes < sizeof(r->build_id) ? r->build_id_bytes : sizeof(r->build_id);
	_Static_assert(sizeof(r->build_id) <= sizeof(o->file.build_id), "build-id");
	memcpy(o->file.build_id, r->build_id, o->file.n_build_id);
	if (!o->file.path)
		return false;
	s->n_objects++;
	return true;
}

static bool add_code(struct stacks *s, const struct gst_code *r)
{
	struct code *c;

	if (!array_room(s->codes, s->n_codes, s->cap_codes))
		return false;
	c = &s->codes[s->n_codes];
	*c = (struct code){ .id = r->id,
			    .first_line = r->first_line,
			    .file = text_copy(&s->arena, r->text, r->file_bytes),
			    .function = text_copy(&s->arena, r->text + r->file_bytes, r->name_bytes) };
	if (!c->file || !c->function)
		return false;
	s->n_codes++;
	return true;
}

bool stacks_describe(struct stacks *s, const struct gst_record *v)
{
	switch (v->type) {
	case GST_STACK:
		return add_stack(s, (const struct gst_stack *)v);
	case GST_OBJECT:
		return add_object(s, (const struct gst_object *)v);
	case GST_CODE:
		return add_code(s, (const struct gst_code *)v);
	case GST_STACK_COST:
		if (((const struct gst_stack_cost *)v)->ticks >= s->cost.ticks)
			s->cost = *(const struct gst_stack_cost *)v;
		return true;
	default:
		return true;
	}
}

/* ---- order ---- */

#define BY_ID(name, type)                                 \
	static int name(const void *a, const void *b)     \
	{                                                 \
		const struct type *x = a, *y = b;         \
		return (x->id > y->id) - (x->id < y->id); \
	}
BY_ID(stack_by_id, stack)
BY_ID(object_by_id, object_file)
BY_ID(code_by_id, code)

void stacks_sort(struct stacks *s)
{
	array_sort(s->all, s->n, sizeof(*s->all), stack_by_id);
	array_sort(s->objects, s->n_objects, sizeof(*s->objects), object_by_id);
	array_sort(s->codes, s->n_codes, sizeof(*s->codes), code_by_id);
}

static bool lower_id(const void *element, const void *key)
{
	return ((const struct stack *)element)->id < *(const uint32_t *)key;
}

static int64_t moment(const struct stack_at *a)
{
	return a->why == GST_STACK_LOOK ? a->end_ns : a->begin_ns;
}

static int by_thread(const void *a, const void *b)
{
	const struct stack_at *x = a, *y = b;
	bool look_x = x->why == GST_STACK_LOOK, look_y = y->why == GST_STACK_LOOK;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (look_x != look_y)
		return look_x ? 1 : -1;
	if (moment(x) != moment(y))
		return moment(x) < moment(y) ? -1 : 1;
	return (x->why > y->why) - (x->why < y->why);
}

bool stacks_take(struct stacks *s, const struct gst_stack_at *r, int64_t begin_ns, int64_t end_ns)
{
	size_t at = array_first(s->all, s->n, sizeof(*s->all), lower_id, &r->stack);
	bool known = at < s->n && s->all[at].id == r->stack;

	if (r->why < GST_STACK_STALL || r->why > GST_STACK_LOOK)
		return true; /* of a newer recorder */
	if (!array_room(s->taken, s->n_taken, s->cap_taken))
		return false;
	s->taken[s->n_taken++] = (struct stack_at){ .begin_ns = begin_ns,
						    .end_ns = end_ns,
						    .tid = r->tid,
						    .stack = known ? (uint32_t)at : GST_NONE,
						    .weight = r->weight,
						    .why = r->why,
						    .hook = r->hook };
	s->missing += !known;
	return true;
}

static void set_threads(struct stacks *s)
{
	for (size_t i = 0; i < s->n_taken; i++) {
		const struct stack_at *a = &s->taken[i];
		struct stack_thread *t = s->n_threads ? &s->threads[s->n_threads - 1] : NULL;

		if (!t || t->tid != a->tid) {
			t = &s->threads[s->n_threads++];
			*t = (struct stack_thread){ .tid = a->tid, .calls = a, .looks = a };
		}
		if (a->why == GST_STACK_LOOK) {
			t->looks = t->n_looks ? t->looks : a;
			t->n_looks++;
		} else {
			t->n_calls++;
		}
	}
}

bool stacks_ready(struct stacks *s, int64_t until_ns)
{
	size_t kept = 0, n_threads = 0;

	for (size_t i = 0; i < s->n_taken; i++)
		if (s->taken[i].begin_ns <= until_ns && s->taken[i].stack != GST_NONE)
			s->taken[kept++] = s->taken[i];
	s->n_taken = kept;
	array_sort(s->taken, s->n_taken, sizeof(*s->taken), by_thread);
	for (size_t i = 0; i < s->n_taken; i++)
		n_threads += i == 0 || s->taken[i].tid != s->taken[i - 1].tid;
	s->threads = array_new(n_threads, sizeof(*s->threads));
	if (!s->threads)
		return false;
	set_threads(s);
	return true;
}

static bool lower_tid(const void *element, const void *key)
{
	return ((const struct stack_thread *)element)->tid < *(const uint32_t *)key;
}

const struct stack_thread *stacks_thread(const struct stacks *s, uint32_t tid)
{
	size_t at = array_first(s->threads, s->n_threads, sizeof(*s->threads), lower_tid, &tid);

	return at < s->n_threads && s->threads[at].tid == tid ? &s->threads[at] : NULL;
}

void stacks_free(struct stacks *s)
{
	free(s->all);
	free(s->objects);
	free(s->codes);
	free(s->taken);
	free(s->threads);
	free(s->launch_sites);
	arena_free(&s->arena);
	*s = (struct stacks){ 0 };
}
