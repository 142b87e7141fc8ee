/* SPDX-License-Identifier: BSD-2-Clause */
/* futex_looks.h: what the other threads of a process did when one of them was found in a futex. */
#pragma once

#include "gap_view.h"

/* Sets n_ran, n_fed, ran and fed of one look. */
void futex_look(const struct trace *t, const struct sample *s, struct activity *out);
/* … of several looks. */
void futex_looks_join(struct activity *into, const struct activity *more);

/* In most of the looks one of them was on a CPU: it may hold what is waited for. */
bool futex_is_held(const struct activity *a);
/* In most of them none was, and one waited for data: it may be the one who hands it on. */
bool futex_is_fed(const struct activity *a);
