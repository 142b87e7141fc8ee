/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols_table.h"
#include "tools/alloc.h"

/* Functions that begin before one that lies in them are few. */
#define LOOK_BACK 16

struct symbol_entry {
	Dwarf_Addr begin;
	uint64_t bytes; /* 0: a label of assembler code */
	const char *name;
	uint8_t rank; /* of several names for one address the highest counts */
};

static uint8_t rank_of(const GElf_Sym *s)
{
	uint8_t rank = GELF_ST_TYPE(s->st_info) == STT_NOTYPE ? 0 : 4;

	return GELF_ST_BIND(s->st_info) == STB_GLOBAL ? rank + 2
	       : GELF_ST_BIND(s->st_info) == STB_WEAK ? rank + 1
						      : rank;
}

static bool is_code(const GElf_Sym *s, const char *name)
{
	int type = GELF_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF || !name || !*name || *name == '$') /* "$x" marks where code begins, on aarch64 */
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static int by_begin(const void *a, const void *b)
{
	const struct symbol_entry *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(y->name, x->name);
}

static void list_symbols(struct symbol_table *table, Dwfl_Module *module)
{
	int n = dwfl_module_getsymtab(module);

	table->listed = true;
	for (int i = 1; i < n; i++) {
		GElf_Addr address;
		GElf_Sym symbol;
		const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);

		if (is_code(&symbol, name) && array_room(table->at, table->n, table->cap))
			table->at[table->n++] =
				(struct symbol_entry){ address, symbol.st_size, name, rank_of(&symbol) };
	}
	array_sort(table->at, table->n, sizeof(*table->at), by_begin);
}

static bool begins_by(const void *element, const void *key)
{
	return ((const struct symbol_entry *)element)->begin <= *(const Dwarf_Addr *)key;
}

const char *symbol_at(struct symbol_table *table, Dwfl_Module *module, Dwarf_Addr address, uint64_t *offset)
{
	size_t last;

	if (!table->listed)
		list_symbols(table, module);
	last = array_first(table->at, table->n, sizeof(*table->at), begins_by, &address);
	for (size_t i = last, back = 0; i-- > 0 && back < LOOK_BACK; back++) {
		const struct symbol_entry *s = &table->at[i];

		/* A label counts as far as the next symbol. */
		if (s->bytes ? address - s->begin < s->bytes : s->begin == table->at[last - 1].begin) {
			*offset = address - s->begin;
			return s->name;
		}
	}
	return NULL;
}

void symbol_table_free(struct symbol_table *table)
{
	free(table->at);
}
