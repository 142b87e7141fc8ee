/* SPDX-License-Identifier: BSD-2-Clause */
/* futex_looks.h: what the other threads of a process did when one of them was found in a futex. */
#pragma once

#include "gap_view.h"

/* Sets n_held … beside of one look. */
void futex_look(const struct trace *t, const struct sample *s, struct activity *out);
/* … of several looks. */
void futex_looks_join(struct activity *into, const struct activity *more);

/* In most of the looks the one that has the lock, by what that says itself, was on a CPU. */
bool futex_is_held(const struct activity *a);
/* In most of them it waited for data, or nobody was on a CPU and another one waited for some: it may be the one who hands it on. */
bool futex_is_fed(const struct activity *a);
/* In most of them one was on a CPU that may have nothing to do with it: threads that compute, or spin, beside whatever the others wait for. */
bool futex_has_beside(const struct activity *a);
