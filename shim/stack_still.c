/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_still.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_file(char *to, size_t room, uint32_t tid, const char *name)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, to, room - 1);
	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = 0;
}

static void read_ran(char *to, size_t room, uint32_t tid)
{
	read_file(to, room, tid, "schedstat");
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
	read_file(s->text, sizeof(s->text), tid, "syscall");
	find_place(s);
}

void stack_still_glance(struct stack_still *s, uint32_t tid)
{
	*s = (struct stack_still){ .tid = tid };
	read_file(s->text, sizeof(s->text), tid, "syscall");
}

bool stack_still_stands(const struct stack_still *s)
{
	char text[sizeof(s->text)], ran[sizeof(s->ran)];

	read_file(text, sizeof(text), s->tid, "syscall");
	read_ran(ran, sizeof(ran), s->tid);
	return s->sp && s->pc && strcmp(text, s->text) == 0 && strcmp(ran, s->ran) == 0;
}
