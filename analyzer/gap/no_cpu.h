/* SPDX-License-Identifier: BSD-2-Clause */
/* no_cpu.h: where the submitting thread wanted a CPU and had none, by its own accounts and samples; asked where nobody else watched it.
 *
 * Where it never blocked, its accounts say for how long; where in the silence that was, nobody saw, so it is spread over it. Where it
 * blocked as well, a sample that finds it outside of the kernel says only that it wants a CPU: what such samples stand for beyond what it
 * computed, it waited for one. */
#pragma once

#include "gap_view.h"

struct no_cpu { /* a piece of it */
	int64_t begin_ns, end_ns;
	int64_t off_ns, of_ns; /* the whole silence: for so long, of so long that it wanted one */
	bool sampled;          /* it blocked as well */
};

typedef void no_cpu_rule(const struct gap_view *v, struct findings *out, const struct silence *s, const struct no_cpu *piece);

/* Asks the rule about each piece. */
void no_cpu_each(const struct gap_view *v, struct findings *out, no_cpu_rule *rule);
