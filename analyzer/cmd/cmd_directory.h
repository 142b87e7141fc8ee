/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_directory.h: the run directory that a recording goes to. */
#pragma once

#include <limits.h>

/* wanted NULL: GPUSHIM_OUT, else ./gpushim-out. Absolute, so that a process of the run that changes its directory first writes to the same
 * place; it is made only when there is something to record. 0, or the exit status, the reason said. */
int cmd_directory(const char *wanted, char out[PATH_MAX]);
