/* SPDX-License-Identifier: BSD-2-Clause */
#include "demangle_child.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "tools/child_limits.h"

#define SECONDS 2 /* of CPU time, for all names; each takes microseconds */
#define MEMORY (64LL << 20)

struct answer {
	char text[DEMANGLE_LONGEST];
	size_t n;
	jmp_buf too_long;
};

/* The library brings a name piece by piece and has nothing on the heap meanwhile: one that does not end is left in the middle. */
static void take(const char *piece, size_t n, void *opaque)
{
	struct answer *a = opaque;

	if (n > sizeof(a->text) - a->n)
		longjmp(a->too_long, 1);
	memcpy(a->text + a->n, piece, n);
	a->n += n;
}

/* Names of CUTLASS's kernels are longer than the library's own limit on what it goes into; here it may run into the end of the stack. */
static bool read_name(struct answer *a, const char *name)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;

	a->n = 0;
	if (!demangle_is_mangled(name) || strnlen(name, DEMANGLE_TRIED + 1) > DEMANGLE_TRIED || setjmp(a->too_long))
		return false;
	return name[1] == 'R' ? rust_demangle_callback(name, options, take, a)
			      : cplus_demangle_v3_callback(name, options, take, a);
}

void demangle_child(int fd, const struct demangled *names, size_t n, size_t first)
{
	static struct answer a;
	const struct itimerval limit = { .it_value = { .tv_sec = SECONDS } };
	FILE *out = fdopen(fd, "w");

	child_be_ordinary();
	child_bound_memory(MEMORY);
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	for (size_t i = first; out && i < n; i++) {
		uint32_t bytes = read_name(&a, names[i].mangled) && !memchr(a.text, 0, a.n) ? (uint32_t)a.n : 0;

		fwrite(&bytes, sizeof(bytes), 1, out);
		fwrite(a.text, 1, bytes, out);
		fflush(out); /* so that the next name's end takes nothing of this one's */
	}
	_exit(0);
}
