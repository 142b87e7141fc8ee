/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_object.h: a library of the process and what it exports, without asking dlopen or dlsym: on systems before glibc 2.34 a program
 * may have come without them. Nothing here allocates or opens. The loader's lock is held while its list is walked: not in a
 * driver call of the program's, where a thread that has that lock may wait for what this one has (elf_list.h, elf_tables.h). */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_object {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings, *soname;    /* soname NULL: it has none */
	const uint32_t *gnu_hash, *hash; /* at least one of them */
};

/* The first loaded object with this DT_SONAME that is not our own. False: none. It stays valid as long as the object stays loaded. */
bool elf_object_find(struct elf_object *out, const char *soname);

/* Of an object whose dynamic section is known, while the loader's lock is held. False: it exports nothing that could be found. */
bool elf_object_read(struct elf_object *out, uintptr_t base, const ElfW(Dyn) * dynamic);

/* What it exports under this name, function or variable. NULL: nothing. */
const ElfW(Sym) * elf_object_look_up(const struct elf_object *o, const char *name);

/* The function it exports under this name, of whatever version. NULL: none. */
void *elf_object_symbol(const struct elf_object *o, const char *name);

/* The function as the first loaded object defines it that is neither our own nor our twin: what would be found if we were not there.
 * NULL: none does. The loader's lock is not taken, unless the kernel does not let us read (elf_list.h). */
void *elf_object_definition(const char *name);
