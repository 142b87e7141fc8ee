/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols_table.h: an object's functions by address. libdwfl's own search goes through all symbols each time, and frameworks have
 * half a million. */
#pragma once

#include <elfutils/libdwfl.h>

struct symbol_table {
	struct symbol_entry *at; /* by begin, the best name of several last */
	size_t n, cap;
	bool listed;
};

/* The symbol that an address lies in, and how far from its begin; NULL none. */
const char *symbol_at(struct symbol_table *table, Dwfl_Module *module, Dwarf_Addr address, uint64_t *offset);
void symbol_table_free(struct symbol_table *table);
