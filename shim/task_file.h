/* SPDX-License-Identifier: BSD-2-Clause */
/* task_file.h: what the kernel tells in a file of /proc of one of the process's threads. A thread of ours asks: it opens them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The beginning of /proc/self/task/<tid>/<name>, as text. False: there is none (any more), and it is "". */
bool task_file_read(char *to, size_t room, uint32_t tid, const char *name);
