/* SPDX-License-Identifier: BSD-2-Clause */
/* kernels_name.h: a run's kernels get the names that people know them by. */
#pragma once

#include "run.h"

/* Makes trace.kernel_titles of every trace. */
enum err_kind kernels_name(const struct run *run, struct error *e);
