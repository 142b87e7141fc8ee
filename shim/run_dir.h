/* SPDX-License-Identifier: BSD-2-Clause */
/* run_dir.h: the run directory, and how a file gets its name there. Every name in it is looked up relative to its descriptor, never
 * through a symbolic link, and never replaces another. Nothing here allocates. Host probes use it too, so it knows nothing of the settings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The run directory at this absolute path, made with its parents where it is missing; for openat and the like only. It may be a symbolic link
 * that its user made, but not one that another user planted in a directory all may write to. -1: errno. */
int run_dir_open(const char *path);

/* A new file of mode 0600 whatever the umask says. -1: errno. */
int run_dir_create(int dir, const char *name);

/* Gives a finished file in `dir` the name <host>-<pid><end>, or where that is taken <host>-<pid>-2<end>, -3 …; the name goes to `name`.
 * False: errno. */
bool run_dir_publish(int dir, const char *temporary, uint32_t pid, const char *end, char *name, size_t size);
