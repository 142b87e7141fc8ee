/* SPDX-License-Identifier: BSD-2-Clause */
/* demangle.h: C++ and Rust names as people write them.
 *
 * Names of a trace are untrusted, and a short one can stand for an endless one, or end whoever reads it. So a forked child reads them
 * (libiberty), with bounded memory and CPU time; a name that it dies of, or does not understand, stays as it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tools/arena.h"
#include "tools/error.h"

#define DEMANGLE_TRIED 8000              /* bytes: longer names stay as they are; */
#define DEMANGLE_LONGEST 16000           /* what would be longer, too, */
#define DEMANGLE_ALL ((size_t)64 << 20)  /* and those behind so many bytes of answers */

struct demangled {
	const char *mangled;
	const char *readable; /* the answer, in the arena; NULL: it is not mangled, or stays as it is */
};

bool demangle_is_mangled(const char *name);

/* Only a lack of memory is an error. */
enum err_kind demangle_all(struct demangled *names, size_t n, struct arena *arena, struct error *e);
