/* SPDX-License-Identifier: BSD-2-Clause */
/* rename_new.h: a finished file gets its name. `gpushim run` uses it too, so it needs nothing else of the shim. */
#pragma once

#include <stdbool.h>

/* Renames within `dir` to a name that nobody has, and never in the place of another file. False: errno, EEXIST where somebody has it. */
bool rename_new(int dir, const char *from, const char *to);
