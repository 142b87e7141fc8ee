/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbols_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols_object.h"
#include "tools/child_limits.h"

#define SECONDS 60         /* for each object: DWARF of gigabytes takes some */
#define MEMORY (3LL << 30) /* beside what the analyzer has itself: libdw maps files as private memory */

static uint16_t length_of(const char *s)
{
	return s ? (uint16_t)strnlen(s, SYMBOLS_TEXT) : 0;
}

static void send_place(FILE *out, const struct symbol_place *p)
{
	const char *const texts[3] = { p->function, p->mangled, p->file };
	struct symbol_line line = { .offset = p->offset,
				    .line = p->line,
				    .mangled = p->mangled != NULL,
				    .file = p->file != NULL,
				    .inlined = p->inlined };

	for (int i = 0; i < 3; i++)
		line.n[i] = length_of(texts[i]);
	fwrite(&line, sizeof(line), 1, out);
	for (int i = 0; i < 3; i++)
		fwrite(texts[i] ? texts[i] : "", 1, line.n[i], out);
}

static void answer_object(FILE *out, struct symbol_object *objects, uint32_t number, const struct symbol_query *queries,
			  size_t n_queries, size_t *at, const struct symbol_options *options)
{
	static struct symbol_place places[SYMBOLS_INLINED];
	struct object *object = object_open(&objects[number], options);
	const struct symbol_reply reply = { number, objects[number].state, objects[number].dwarf };

	fwrite(&reply, sizeof(reply), 1, out);
	for (; *at < n_queries && queries[*at].object == number; ++*at) {
		const struct symbol_answer answer = { object ? object_places(object, queries[*at].address, places)
							     : 0 };

		fwrite(&answer, sizeof(answer), 1, out);
		for (uint32_t i = 0; i < answer.n_places; i++)
			send_place(out, &places[i]);
	}
	object_close(object);
}

void symbols_child(int fd, struct symbol_object *objects, size_t n_objects, const struct symbol_query *queries,
		   size_t n_queries, size_t first, const struct symbol_options *options)
{
	FILE *out = fdopen(fd, "w");
	size_t at = 0;

	child_be_ordinary();
	child_bound_memory(MEMORY); /* a file that says it is far more than it is must not take the machine's */
	if (!options->debuginfod)   /* libdw asks the servers there by itself, for what debug files share */
		unsetenv("DEBUGINFOD_URLS");
	while (at < n_queries && queries[at].object < first)
		at++;
	for (size_t i = first; out && i < n_objects; i++) {
		alarm(SECONDS);
		answer_object(out, objects, (uint32_t)i, queries, n_queries, &at, options);
		fflush(out); /* so that a death later takes nothing of this one's */
	}
	_exit(0);
}
