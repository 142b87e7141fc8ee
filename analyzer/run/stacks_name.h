/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks_name.h: the frames of a run's stacks get their names, and which are the user's own. */
#pragma once

#include "run.h"
#include "symbols/symbols.h"

/* Makes stack.frames of every trace. options NULL: no file is read; native frames then have their object and address only. */
enum err_kind stacks_name(const struct run *run, const struct symbol_options *options, struct error *e);
