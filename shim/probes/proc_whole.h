/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_whole.h: a file of /proc of any length, in memory that the caller frees. */
#pragma once

#include <stddef.h>

/* NUL-terminated. bytes: its length, NULL not asked for. NULL: not readable, no memory. */
char *proc_whole(size_t *bytes, const char *path, ...) __attribute__((format(printf, 2, 3)));
