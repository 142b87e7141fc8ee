/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_list.h: the objects of the process, as the loader lists them for debuggers (r_debug, link_map): without its lock, which whoever calls
 * dl_iterate_phdr holds while a function of the program's own runs, and which may therefore wait for anything that we are in the middle of.
 *
 * Another thread may change the list while we go along it, and unload what is in it. So nothing is read but through the kernel
 * (stack_memory.h), and an entry counts only if it leads back to the one before. The list has only ever grown at its end. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#define ELF_END_PIECES 3u
#define ELF_SPACES_MAX 16u  /* glibc's namespaces (dlmopen) */
#define ELF_HEADERS_MAX 32u /* of one object; linkers write about a dozen */

struct stack_piece;

struct elf_entry {
	uint64_t at; /* of the link_map; 0 none */
	struct link_map map;
};

struct elf_headers {
	uint64_t at;
	unsigned n;
	ElfW(Phdr) header[ELF_HEADERS_MAX];
};

struct elf_list {
	bool torn; /* it changed under our eyes, or is none: what came so far is a part of it */
	unsigned n, n_spaces;
	uint64_t next;
	struct elf_entry entry; /* the last one that was given */
	struct elf_space {      /* its end, as it was */
		uint64_t at, first; /* of its r_debug; its first link_map, 0 it is empty */
		struct elf_entry last;
		struct link_map before_last;
	} spaces[ELF_SPACES_MAX];
};

/* debug: where the r_debug is (elf_list_debug), 0 not known: then the list is torn, and empty. */
void elf_list_begin(struct elf_list *l, uint64_t debug);
/* The next one is in l->entry, from the program on; false: there is none. Other namespaces come last, as far as the loader lists them (glibc 2.35). */
bool elf_list_next(struct elf_list *l);
/* Nothing was added since it was walked to its end. What was taken out does not show here. Two system calls or three. */
bool elf_list_ends_as_it_did(const struct elf_list *l);
/* The same in two steps, for who reads more at a time: what to read, ELF_END_PIECES at most; and whether that is as it was. 0 pieces: there are
 * other namespaces, ask as above. */
unsigned elf_list_end(const struct elf_list *l, struct stack_piece *pieces);
bool elf_list_end_is(const struct elf_list *l, const void *read);

/* Where the program's r_debug is, by its dynamic section (DT_DEBUG), or as the loader exports it. 0: not to be found. */
uint64_t elf_list_debug(void);

/* The program headers of an object of the list. False: they are not where they are always. */
bool elf_headers_read(struct elf_headers *h, const struct link_map *map);
/* The first one of this type, or NULL. */
const ElfW(Phdr) * elf_headers_of(const struct elf_headers *h, uint32_t type);
