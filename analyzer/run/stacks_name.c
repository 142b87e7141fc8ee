/* SPDX-License-Identifier: BSD-2-Clause */
#include "stacks_name.h"

#include <stdlib.h>
#include <string.h>

#include "stacks_own.h"
#include "tools/alloc.h"

/* Processes of one run share objects and most addresses: each is looked up once. */
struct lookup {
	struct symbol_object *objects;
	size_t n_objects, cap_objects;
	struct symbol_query *queries;
	size_t n_queries, cap_queries;
};

/* The same file, as far as anybody can tell: 0. */
static int by_file(const void *a, const void *b)
{
	const struct symbol_object *x = a, *y = b;
	int c = strcmp(x->path, y->path);

	if (c)
		return c;
	if (x->n_build_id != y->n_build_id)
		return x->n_build_id < y->n_build_id ? -1 : 1;
	if ((c = memcmp(x->build_id, y->build_id, x->n_build_id)))
		return c;
	if (x->file_bytes != y->file_bytes)
		return x->file_bytes < y->file_bytes ? -1 : 1;
	return (x->file_mtime_ns > y->file_mtime_ns) - (x->file_mtime_ns < y->file_mtime_ns);
}

static bool lower_id(const void *element, const void *key)
{
	return ((const struct object_file *)element)->id < *(const uint32_t *)key;
}

static struct object_file *object_of(const struct stacks *s, const struct gst_frame *f)
{
	size_t at = array_first(s->objects, s->n_objects, sizeof(*s->objects), lower_id, &f->of);

	return at < s->n_objects && s->objects[at].id == f->of ? &s->objects[at] : NULL;
}

static bool lower_code(const void *element, const void *key)
{
	return ((const struct code *)element)->id < *(const uint32_t *)key;
}

static const struct code *code_of(const struct stacks *s, uint32_t id)
{
	size_t at = array_first(s->codes, s->n_codes, sizeof(*s->codes), lower_code, &id);

	return at < s->n_codes && s->codes[at].id == id ? &s->codes[at] : NULL;
}

/* What to look up: of a call not the instruction behind it. */
static uint64_t address_of(const struct gst_frame *f, const struct object_file *o)
{
	return f->at - (f->kind == GST_FRAME_RETURN) - (o ? o->bias : 0);
}

/* Index of the object among those looked up; GST_NONE: it is not. */
static uint32_t find_object(const struct lookup *l, const struct object_file *o)
{
	const struct symbol_object *found =
		l->n_objects ? bsearch(&o->file, l->objects, l->n_objects, sizeof(*l->objects), by_file) : NULL;

	return found ? (uint32_t)(found - l->objects) : GST_NONE;
}

/* Those of all processes, each once. */
static bool collect_objects(struct lookup *l, const struct run *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->n_traces; i++) {
		const struct stacks *s = &run->traces[i]->stacks;

		for (size_t k = 0; k < s->n_objects; k++) {
			if (s->objects[k].flags & GST_OBJECT_VDSO)
				continue;
			if (!array_room(l->objects, l->n_objects, l->cap_objects))
				return false;
			l->objects[l->n_objects++] = s->objects[k].file;
		}
	}
	array_sort(l->objects, l->n_objects, sizeof(*l->objects), by_file);
	for (size_t i = 0; i < l->n_objects; i++)
		if (kept == 0 || by_file(&l->objects[kept - 1], &l->objects[i]) != 0)
			l->objects[kept++] = l->objects[i];
	l->n_objects = kept;
	return true;
}

static bool add_frame(struct lookup *l, const struct stacks *s, const uint32_t *numbers, const struct gst_frame *f)
{
	const struct object_file *o = f->kind == GST_FRAME_PYTHON ? NULL : object_of(s, f);
	uint32_t number = o ? numbers[o - s->objects] : GST_NONE;

	if (number == GST_NONE)
		return true;
	if (!array_room(l->queries, l->n_queries, l->cap_queries))
		return false;
	l->queries[l->n_queries++] = (struct symbol_query){ .object = number, .address = address_of(f, o) };
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol_query *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static void sort_unique(struct lookup *l)
{
	size_t kept = 0;

	array_sort(l->queries, l->n_queries, sizeof(*l->queries), by_address);
	for (size_t i = 0; i < l->n_queries; i++)
		if (kept == 0 || by_address(&l->queries[kept - 1], &l->queries[i]) != 0)
			l->queries[kept++] = l->queries[i];
	l->n_queries = kept;
}

/* By object of the trace: its number among those looked up. NULL: no memory. */
static uint32_t *object_numbers(const struct lookup *l, const struct stacks *s)
{
	uint32_t *numbers = array_new(s->n_objects, sizeof(*numbers));

	for (size_t i = 0; numbers && i < s->n_objects; i++)
		numbers[i] = s->objects[i].flags & GST_OBJECT_VDSO ? GST_NONE : find_object(l, &s->objects[i]);
	return numbers;
}

static bool collect_frames(struct lookup *l, const struct stacks *s)
{
	uint32_t *numbers = object_numbers(l, s);
	bool ok = numbers != NULL;

	for (size_t i = 0; ok && i < s->n; i++)
		for (size_t k = 0; ok && k < s->all[i].n_raw; k++)
			ok = add_frame(l, s, numbers, &s->all[i].raw[k]);
	free(numbers);
	return ok;
}

/* ---- names → frames ---- */

static const struct symbol_query *find_query(const struct lookup *l, uint32_t object, uint64_t address)
{
	const struct symbol_query key = { .object = object, .address = address };

	return object == GST_NONE || !l->n_queries
		       ? NULL
		       : bsearch(&key, l->queries, l->n_queries, sizeof(*l->queries), by_address);
}

static struct frame python_frame(const struct stacks *s, const struct gst_frame *raw)
{
	const struct code *c = code_of(s, raw->of);

	return (struct frame){ .function = c ? c->function : "",
			       .file = c && *c->file ? c->file : NULL,
			       .line = raw->at <= UINT32_MAX ? (uint32_t)raw->at : 0,
			       .python = true };
}

static size_t places_of(const struct lookup *l, const struct stacks *s, const uint32_t *numbers,
			const struct gst_frame *raw, const struct symbol_query **query)
{
	const struct object_file *o = raw->kind == GST_FRAME_PYTHON ? NULL : object_of(s, raw);

	*query = o ? find_query(l, numbers[o - s->objects], address_of(raw, o)) : NULL;
	return *query && (*query)->n_places ? (*query)->n_places : 1;
}

static void set_frame(struct frame *f, const struct symbol_place *p)
{
	f->function = p->function;
	f->mangled = p->mangled;
	f->file = p->file;
	f->line = p->line;
	f->offset = p->offset;
	f->inlined = p->inlined;
}

static bool name_stack(const struct lookup *l, struct stacks *s, const uint32_t *numbers, struct stack *stack)
{
	const struct symbol_query *query;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < stack->n_raw; i++)
		n += places_of(l, s, numbers, &stack->raw[i], &query);
	stack->frames = arena_alloc(&s->arena, n * sizeof(*stack->frames) + 1);
	if (!stack->frames)
		return false;
	for (size_t i = 0; i < stack->n_raw; i++) {
		const struct gst_frame *raw = &stack->raw[i];
		size_t places = places_of(l, s, numbers, raw, &query);

		for (size_t k = 0; k < places; k++) {
			struct frame *f = &stack->frames[at++];

			if (raw->kind == GST_FRAME_PYTHON) {
				*f = python_frame(s, raw);
			} else {
				*f = (struct frame){ .function = "", .object = object_of(s, raw) };
				f->address = address_of(raw, f->object);
				if (query && query->n_places)
					set_frame(f, &query->places[k]);
			}
			f->raw = (uint32_t)i;
			f->own = frame_is_own(f);
		}
	}
	stack->n_frames = at;
	return true;
}

static bool name_all(const struct lookup *l, struct stacks *s)
{
	uint32_t *numbers = object_numbers(l, s);
	bool ok = numbers != NULL;

	for (size_t i = 0; ok && i < s->n_objects; i++)
		if (numbers[i] != GST_NONE) {
			s->objects[i].file.state = l->objects[numbers[i]].state;
			s->objects[i].file.dwarf = l->objects[numbers[i]].dwarf;
		}
	for (size_t i = 0; ok && i < s->n; i++)
		ok = name_stack(l, s, numbers, &s->all[i]);
	free(numbers);
	return ok;
}

enum err_kind stacks_name(const struct run *run, const struct symbol_options *options, struct error *e)
{
	struct lookup l = { 0 };
	enum err_kind kind = ERR_NONE;
	bool ok;

	ok = !options || collect_objects(&l, run);
	for (size_t i = 0; ok && options && i < run->n_traces; i++)
		ok = collect_frames(&l, &run->traces[i]->stacks);
	sort_unique(&l);
	if (ok && l.n_queries) /* the texts live with the first process's stacks, and so with the run */
		kind = symbols_resolve(l.objects, l.n_objects, l.queries, l.n_queries, options,
				       &run->traces[0]->stacks.arena, e);
	for (size_t i = 0; ok && !kind && i < run->n_traces; i++)
		ok = name_all(&l, &run->traces[i]->stacks);
	free(l.objects);
	free(l.queries);
	if (!ok && !kind)
		kind = err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	return kind;
}
