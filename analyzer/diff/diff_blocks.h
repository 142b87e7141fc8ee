/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_blocks.h: how sure a run's typical step is, by its own steps: the circular block bootstrap (Politis and Romano, "A Circular
 * Block-Resampling Procedure for Stationary Data", 1992). Steps depend on those before them (a cache that fills, a clock that falls): resampling
 * them one by one would claim too much. */
#pragma once

#include <stdbool.h>

#include "diff_rows.h"

/* How many steps in a row make a block, from how fast their autocorrelation dies out: Politis and White, "Automatic Block-Length Selection for
 * the Dependent Bootstrap", 2004, with the correction of Patton, Politis and White, 2009. 1 to n / 4. values: n of them. 0: no memory. */
size_t diff_block_length(const double *values, size_t n);

/* The standard error of each row's typical value and of the tail (diff_typical.h), ns; *blocks: how many the run is made of. by: the steps by length.
 * False: no memory. */
bool diff_block_errors(double error_ns[DIFF_ROWS], double *tail_error_ns, size_t *blocks, const struct diff_series *s, const uint32_t *by, uint64_t seed);
