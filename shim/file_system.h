/* SPDX-License-Identifier: BSD-2-Clause */
/* file_system.h: may a page fault in a file there wait for another machine (network_fs.def)? A shared mapping of such a file stalls the
 * program in its own calls, and ends it (SIGBUS) when the server is gone. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* By the f_type of statfs. NULL: no; else the type's name. */
const char *file_system_stalls(uint64_t f_type);

/* By the list of mounts, which is in /proc/self/mountinfo, so that nothing is asked of a server that may not answer. `path` is taken
 * as it is spelt: a symbolic link on the way is not seen. False: no, or not known. By one thread at a time. */
bool file_system_stalls_at(const char *mountinfo, const char *path);

/* Kept in memory: what is written there is taken from the program's share of it. */
bool file_system_is_memory(uint64_t f_type);

/* The same two by the type as the list of mounts has it. */
bool file_system_type_stalls(const char *type);
bool file_system_type_is_memory(const char *type);
