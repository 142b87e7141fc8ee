/* SPDX-License-Identifier: BSD-2-Clause */
/* local_dir.h: a directory of ours on this machine, for traces whose run directory is on a network file system. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* In the first of the places that is absolute, local, writable, safe and has room; `path` is its path, *bytes how many may be used there.
 * -1: none, or errno is EMFILE or ENFILE. */
int local_dir_open(const char *const places[], unsigned n, char *path, size_t size, uint64_t *bytes);
