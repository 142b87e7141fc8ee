/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols_file.h: where an object's file is, where its debug file is, and whether they are the right ones. */
#pragma once

#include <elfutils/libdwfl.h>

#include "symbols.h"

/* A descriptor of the object that was mapped, and its path (to be freed); -1 with the state set. */
int symbols_open_object(struct symbol_object *o, const struct symbol_options *options, char **path);

/* A descriptor of the debug file that belongs to an object; -1 where there is none. link, crc: what .gnu_debuglink says, or NULL. */
int symbols_open_debug(const struct symbol_object *o, const struct symbol_options *options, const char *path,
		       const char *link, uint32_t crc, char **debug_path);
