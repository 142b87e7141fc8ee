/* SPDX-License-Identifier: BSD-2-Clause */
/* loader_cache.h: /etc/ld.so.cache, which ldconfig writes: the paths of libraries by their names. */
#pragma once

#include <stddef.h>

/* Calls try(path) for each entry of this name, in the file's order, until one gives something. */
void *loader_cache_find(const char *name, void *(*try)(const char *path));

/* The same in memory. */
void *loader_cache_search(const void *data, size_t bytes, const char *name, void *(*try)(const char *path));
