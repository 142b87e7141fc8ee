/* SPDX-License-Identifier: BSD-2-Clause */
/* resolve.h: finding the driver's own functions, and putting ours in the way of every route to them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hooks.h"

/* dlsym as libc has it; RTLD_NEXT is what comes behind us. */
void *resolve_real_dlsym(void *handle, const char *name);

/* The loaded segment of some object that holds this address; end 0: none. */
struct resolve_range {
	uintptr_t inside, begin, end;
	uintptr_t base;   /* of the object */
	const char *path; /* its file's, as long as it stays loaded; "" the program itself; NULL none */
};
struct resolve_range resolve_range_of(const void *inside);

/* Fills `real` from libcuda.so.1 (loaded by the program, else loaded now) and keeps a reference on it. Idempotent, any thread. */
void resolve_driver(void);

/* The driver's own function of this name, NULL if it has none. */
void *resolve_in_driver(const char *name);

/* Does p lie in the driver's own code, or in a tool's? */
bool resolve_is_driver(const void *p);

/* The library with this address is a tool that we use: what it asks the driver for is not the program's doing. One, for good. */
void resolve_add_tool(const void *inside);

/* Constructor: before this, dlsym only passes through. */
void resolve_start(void);

/* If p is one of the driver's functions that we wrap, our wrapper; else p. */
void *resolve_swap(void *p);

/* True if p is one of the driver's functions that hooks.def or not_hooked.def names, or one of ours. */
bool resolve_is_known(void *p);
