/* SPDX-License-Identifier: BSD-2-Clause */
/* resolve.h: finding the driver's own functions, and putting ours in the way of every route to them. */
#pragma once

#include <stdbool.h>

#include "hooks.h"

/* Fills `real` from libcuda.so.1 (loaded by the program, else loaded now) and keeps a reference on it. Idempotent, any thread. */
void resolve_driver(void);

/* Constructor: before this, dlsym only passes through. */
void resolve_start(void);

/* If p is one of the driver's functions that we wrap, our wrapper; else p. */
void *resolve_swap(void *p);

/* True if p is one of the driver's functions that hooks.def or not_hooked.def names, or one of ours. */
bool resolve_is_known(void *p);
