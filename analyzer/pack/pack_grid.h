/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_grid.h: clocks that count in steps. A time stamp counter may say every 24th or 25th tick only (100 MHz shown as 2.45 GHz): an instant is then
 * the number of a step, which is four or five bits less, and off by nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pack_grid {
	uint64_t step;    /* ticks, 32 bits of them behind the point; 0: no steps */
	uint64_t at;      /* an instant on it, */
	uint32_t part;    /* and what that was rounded down by, 2^-32 ticks */
	unsigned astray;  /* instants in a row that were on no step */
};

/* The step of these instants, which lie in their order; 0 they show none. */
uint64_t pack_grid_find(const uint64_t *ticks, size_t n);

/* How many steps from one instant to another, and what is right of the latter: to = pack_grid_after(from, steps) + off. */
int64_t pack_grid_steps(const struct pack_grid *g, uint64_t from, uint64_t to);
uint64_t pack_grid_after(const struct pack_grid *g, uint64_t from, int64_t steps);
/* An instant was met that is `off` a step. */
void pack_grid_met(struct pack_grid *g, uint64_t ticks, int64_t off);
