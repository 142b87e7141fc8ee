/* SPDX-License-Identifier: BSD-2-Clause */
/* peek.h: memory of the program that another thread may give back while we look: it is not read, the kernel is asked for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PEEK_MAX 64

/* Some bytes, PEEK_MAX at most: all of them, or false. One system call; where that is not to be had (a container's filter, gVisor, an
 * emulator) through a pipe, apart. Leaves errno as it is. */
bool peek(void *to, const void *from, size_t bytes);
