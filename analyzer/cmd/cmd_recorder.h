/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_recorder.h: where libgpushim.so is. */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* GPUSHIM_LIBRARY; NULL: not set. */
const char *recorder_given(void);

/* That one; else beside this program, as it is built, or in ../lib, as it is installed. False: not there, or not to be read. */
bool recorder_find(char out[PATH_MAX]);
