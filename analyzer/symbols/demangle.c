/* SPDX-License-Identifier: BSD-2-Clause */
#include "demangle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demangle_child.h"
#include "tools/spill.h"

#define CHILDREN 4 /* each may use up its time; what is behind the last one's end stays as it is */

struct answers { /* what comes from the child */
	FILE *in;
	struct demangled *names;
	size_t n, bytes;
	struct arena *arena;
	bool no_memory;
};

bool demangle_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') && name[2];
}

/* False: the child went away, or talks nonsense, or it is enough. */
static bool get(struct answers *a, struct demangled *name)
{
	uint32_t bytes;
	char *text;

	if (fread(&bytes, sizeof(bytes), 1, a->in) != 1 || bytes > DEMANGLE_LONGEST)
		return false;
	if (!bytes)
		return true;
	a->bytes += bytes + 1u;
	text = a->bytes <= DEMANGLE_ALL ? arena_alloc(a->arena, bytes + 1u) : NULL;
	if (!text) {
		a->no_memory = a->bytes <= DEMANGLE_ALL;
		return false;
	}
	if (fread(text, 1, bytes, a->in) != bytes)
		return false;
	text[bytes] = 0;
	name->readable = text;
	return true;
}

/* One child, from `first` on. The first name that has no answer, n: all have. */
static size_t ask(struct answers *a, size_t first)
{
	int fds[2];
	size_t next = first;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return a->n;
	pid = spill_fork();
	if (pid == 0) {
		close(fds[0]);
		demangle_child(fds[1], a->names, a->n, first);
	}
	close(fds[1]);
	a->in = pid > 0 ? fdopen(fds[0], "r") : NULL;
	if (!a->in)
		close(fds[0]);
	while (a->in && next < a->n && get(a, &a->names[next]))
		next++;
	if (a->in)
		fclose(a->in); /* a child that still writes ends of it */
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return a->in ? next : a->n; /* without a process all stay as they are */
}

enum err_kind demangle_all(struct demangled *names, size_t n, struct arena *arena, struct error *e)
{
	struct answers a = { .names = names, .n = n, .arena = arena };
	size_t first = 0;

	for (size_t i = 0; i < n; i++)
		names[i].readable = NULL;
	while (first < n && !demangle_is_mangled(names[first].mangled))
		first++;
	for (int i = 0; i < CHILDREN && first < n && !a.no_memory && a.bytes <= DEMANGLE_ALL; i++)
		first = ask(&a, first) + 1;
	return a.no_memory ? err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory") : ERR_NONE;
}
