/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_tables.h: what an object of the loader's list (elf_list.h) exports: as elf_object.h, but of one that another thread may unload while we
 * look. It is never read, the kernel is asked for it. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#define ELF_DYNAMIC_MAX 128u

struct elf_dynamic {
	unsigned n;
	ElfW(Dyn) entry[ELF_DYNAMIC_MAX];
};

struct elf_tables { /* addresses; 0: there is none */
	uint64_t bias, symbols, strings, soname, gnu_hash, hash;
};

/* False: it cannot be read, or has no end. */
bool elf_dynamic_read(struct elf_dynamic *d, uint64_t at);
/* 0: it is not there. */
uint64_t elf_dynamic_value(const struct elf_dynamic *d, int64_t tag);

/* False: it exports nothing that could be found. */
bool elf_tables_read(struct elf_tables *t, const struct link_map *map);
/* Function or variable, of whatever version. */
bool elf_tables_find(const struct elf_tables *t, const char *name, ElfW(Sym) * found);
bool elf_tables_is(const struct elf_tables *t, const char *soname);
