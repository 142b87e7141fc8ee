/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_still.h"

#include <stdlib.h>
#include <string.h>

#include "task_file.h"

static void read_ran(char *to, size_t room, uint32_t tid)
{
	task_file_read(to, room, tid, "schedstat");
	if (strncmp(to, "0 0 0", 5) == 0)
		*to = 0;
}

/* The last two words. */
static void find_place(struct stack_still *s)
{
	const char *last = strrchr(s->text, ' '), *before = last;

	while (before && before > s->text && before[-1] != ' ')
		before--;
	if (!before || before == s->text)
		return;
	s->pc = strtoull(last, NULL, 16);
	s->sp = strtoull(before, NULL, 16);
}

/* What it has run is read first here, and last below: so it stood all the time between, and where the text says. */
void stack_still_look(struct stack_still *s, uint32_t tid)
{
	*s = (struct stack_still){ .tid = tid };
	read_ran(s->ran, sizeof(s->ran), tid);
	task_file_read(s->text, sizeof(s->text), tid, "syscall");
	find_place(s);
}

void stack_still_glance(struct stack_still *s, uint32_t tid)
{
	*s = (struct stack_still){ .tid = tid };
	task_file_read(s->text, sizeof(s->text), tid, "syscall");
}

bool stack_still_stands(const struct stack_still *s)
{
	char text[sizeof(s->text)], ran[sizeof(s->ran)];

	task_file_read(text, sizeof(text), s->tid, "syscall");
	read_ran(ran, sizeof(ran), s->tid);
	return s->sp && s->pc && strcmp(text, s->text) == 0 && strcmp(ran, s->ran) == 0;
}
