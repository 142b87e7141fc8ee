/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols_child.h"
#include "tools/spill.h"

#define FAILURES 16 /* of a run: each may take a minute, and a trace can name any file there is */

struct replies { /* what comes from the child */
	FILE *in;
	struct symbol_object *objects;
	size_t n_objects;
	struct symbol_query *queries;
	size_t n_queries, at; /* the next to be answered */
	struct arena *arena;
	bool no_memory;
};

static bool get(struct replies *r, void *to, size_t bytes)
{
	return fread(to, 1, bytes, r->in) == bytes;
}

static const char *get_text(struct replies *r, uint16_t n)
{
	char *text = n <= SYMBOLS_TEXT ? arena_alloc(r->arena, n + 1u) : NULL;

	if (!text) {
		r->no_memory = n <= SYMBOLS_TEXT;
		return NULL;
	}
	text[n] = 0;
	return get(r, text, n) && !memchr(text, 0, n) ? text : NULL;
}

static bool get_place(struct replies *r, struct symbol_place *place)
{
	struct symbol_line line;
	const char *texts[3];

	if (!get(r, &line, sizeof(line)))
		return false;
	for (int i = 0; i < 3; i++)
		if (!(texts[i] = get_text(r, line.n[i])))
			return false;
	*place = (struct symbol_place){ .function = texts[0],
					.mangled = line.mangled ? texts[1] : NULL,
					.file = line.file ? texts[2] : NULL,
					.line = line.line,
					.offset = line.offset,
					.inlined = line.inlined };
	return true;
}

static bool get_answer(struct replies *r, struct symbol_query *query)
{
	struct symbol_answer answer;
	struct symbol_place *places;

	if (!get(r, &answer, sizeof(answer)) || answer.n_places > SYMBOLS_INLINED)
		return false;
	if (!answer.n_places)
		return true;
	places = arena_alloc(r->arena, answer.n_places * sizeof(*places));
	if (!places) {
		r->no_memory = true;
		return false;
	}
	for (uint32_t i = 0; i < answer.n_places; i++)
		if (!get_place(r, &places[i]))
			return false;
	query->places = places;
	query->n_places = answer.n_places;
	return true;
}

/* All answers for one object; false where the child went away in the middle, or talks nonsense. */
static bool get_object(struct replies *r, size_t number)
{
	struct symbol_object *o = &r->objects[number];
	struct symbol_reply reply;

	if (!get(r, &reply, sizeof(reply)) || reply.object != number || reply.state > SYMBOLS_FAILED)
		return false;
	o->state = (enum symbols_state)reply.state;
	o->dwarf = reply.dwarf != 0;
	for (; r->at < r->n_queries && r->queries[r->at].object == number; r->at++)
		if (!get_answer(r, &r->queries[r->at]))
			return false;
	return true;
}

/* What the child had answered of an object before it died counts no more: it may have been dying already. */
static void give_up(struct replies *r, size_t number)
{
	r->objects[number].state = SYMBOLS_FAILED;
	r->objects[number].dwarf = false;
	for (size_t i = 0; i < r->n_queries; i++) {
		if (r->queries[i].object != number)
			continue;
		r->queries[i].places = NULL;
		r->queries[i].n_places = 0;
		r->at = i + 1;
	}
}

static enum err_kind no_process(struct error *e)
{
	return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "cannot start a process to read symbols: %s", strerror(errno));
}

/* One child, from object `first` on. *next: the first object that it did not get to. */
static enum err_kind ask(struct replies *r, size_t first, size_t *next, const struct symbol_options *options,
			 struct error *e)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return no_process(e);
	pid = spill_fork();
	if (pid == 0) {
		close(fds[0]);
		symbols_child(fds[1], r->objects, r->n_objects, r->queries, r->n_queries, first, options);
	}
	close(fds[1]);
	r->in = pid > 0 ? fdopen(fds[0], "r") : NULL;
	if (!r->in) {
		close(fds[0]);
		return no_process(e);
	}
	for (*next = first; *next < r->n_objects; ++*next)
		if (!get_object(r, *next))
			break;
	fclose(r->in); /* a child that still writes ends of it */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r->no_memory ? err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory") : ERR_NONE;
}

enum err_kind symbols_resolve(struct symbol_object *objects, size_t n_objects, struct symbol_query *queries,
			      size_t n_queries, const struct symbol_options *options, struct arena *arena,
			      struct error *e)
{
	struct replies r = {
		.objects = objects, .n_objects = n_objects, .queries = queries, .n_queries = n_queries, .arena = arena
	};
	enum err_kind kind;
	size_t next = 0, failures = 0;

	for (size_t first = 0; first < n_objects; first = next + 1) {
		if (failures++ == FAILURES) {
			for (size_t i = first; i < n_objects; i++)
				objects[i].state = SYMBOLS_LEFT;
			break;
		}
		kind = ask(&r, first, &next, options, e);
		if (kind)
			return kind;
		if (next < n_objects)
			give_up(&r, next);
	}
	return ERR_NONE;
}

const char *symbols_trouble(enum symbols_state state)
{
	switch (state) {
	case SYMBOLS_MISSING:
		return "is not here";
	case SYMBOLS_CHANGED:
		return "has changed since: nothing of it was used";
	case SYMBOLS_UNSURE:
		return "may have changed since: nothing of it was used";
	case SYMBOLS_UNREADABLE:
		return "cannot be read as an object";
	case SYMBOLS_FAILED:
		return "could not be read: it took too much time or memory, or ended the reader";
	case SYMBOLS_LEFT:
		return "was not read: reading too many others had failed";
	default:
		return NULL;
	}
}

const char *symbols_hex(char hex[SYMBOLS_HEX], const struct symbol_object *o)
{
	*hex = 0;
	for (uint32_t i = 0; i < o->n_build_id && i < SYMBOLS_BUILD_ID; i++)
		snprintf(hex + (size_t)2 * i, 3, "%02x", o->build_id[i]);
	return hex;
}
