/* SPDX-License-Identifier: BSD-2-Clause */
/* unknown.h: functions that cuGetProcAddress handed out and that neither hooks.def nor not_hooked.def names: a newer driver's, or private
 * ones. What the program does through them is not seen; so each is named in the trace, once. */
#pragma once

#include "thread.h"

/* The program asked for `name`, version and flags and got this function. */
void unknown_found(struct thread *t, void *function, const char *name, int version, uint64_t flags);

void unknown_forget(void);
