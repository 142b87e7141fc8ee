/* SPDX-License-Identifier: BSD-2-Clause */
/* demangle_child.h: what the forked reader of demangle.c does. Through the pipe goes for each name a uint32_t, the bytes of its answer, and
 * then these; 0: it stays as it is. */
#pragma once

#include "demangle.h"

/* Answers for all names from `first` on; ends the process. */
void demangle_child(int out, const struct demangled *names, size_t n, size_t first) __attribute__((noreturn));
