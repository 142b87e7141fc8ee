/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_object.h: a library of the process and what it exports, without asking dlopen or dlsym: on systems before glibc 2.34 a program
 * may have come without them. Nothing here allocates or opens; the loader's lock is held while its list is walked. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_object {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings, *soname;
	const uint32_t *gnu_hash, *hash; /* at least one of them */
};

/* The first loaded object with this DT_SONAME that is not our own. False: none. It stays valid as long as the object stays loaded. */
bool elf_object_find(struct elf_object *out, const char *soname);

/* The function it exports under this name, of whatever version. NULL: none. */
void *elf_object_symbol(const struct elf_object *o, const char *name);
