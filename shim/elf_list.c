/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf_list.h"

#include <string.h>
#include <sys/auxv.h>

#include "elf_tables.h"
#include "stack_memory.h"

#define ENTRIES_MAX 16384u
#define VERSION_SPACES 2 /* behind such an r_debug stands the address of the next namespace's */

union piece {
	struct r_debug debug;
	struct link_map map;
};
_Static_assert(sizeof(struct r_debug) == 40 && sizeof(struct link_map) == 40, "what debuggers know of them");

/* ---- the list --------------------------------------------------------------------------------------------------------- */

static bool read_map(struct link_map *map, uint64_t at)
{
	return at % sizeof(void *) == 0 && stack_read(map, at, sizeof(*map));
}

static bool enter_space(struct elf_list *l, uint64_t at)
{
	struct elf_space *s = &l->spaces[l->n_spaces];
	struct r_debug debug;

	if (!at || l->n_spaces == ELF_SPACES_MAX || !stack_read(&debug, at, sizeof(debug)) || debug.r_version < 1)
		return false;
	*s = (struct elf_space){ .at = at, .first = (uintptr_t)debug.r_map };
	l->n_spaces++;
	l->next = s->first;
	return true;
}

/* Where the next namespace's is; 0: that was the last. */
static uint64_t next_space(uint64_t at, const struct r_debug *debug)
{
	uint64_t next = 0;

	if (debug->r_version < VERSION_SPACES || !stack_read(&next, at + sizeof(*debug), sizeof(next)))
		return 0;
	return next;
}

void elf_list_begin(struct elf_list *l, uint64_t debug)
{
	*l = (struct elf_list){ .torn = false };
	l->torn = !enter_space(l, debug);
}

/* To the next namespace that has anything in it. */
static bool go_on(struct elf_list *l)
{
	while (!l->next) {
		uint64_t at = l->spaces[l->n_spaces - 1].at;
		struct r_debug debug;

		if (!stack_read(&debug, at, sizeof(debug))) {
			l->torn = true;
			return false;
		}
		at = next_space(at, &debug);
		if (!at)
			return false;
		if (!enter_space(l, at)) {
			l->torn = true;
			return false;
		}
	}
	return true;
}

bool elf_list_next(struct elf_list *l)
{
	struct elf_space *s;

	if (l->torn || !go_on(l))
		return false;
	s = &l->spaces[l->n_spaces - 1];
	l->entry.at = l->next;
	if (l->n++ == ENTRIES_MAX || !read_map(&l->entry.map, l->next) ||
	    (uintptr_t)l->entry.map.l_prev != s->last.at) {
		l->torn = true;
		return false;
	}
	s->before_last = s->last.map;
	s->last = l->entry;
	l->next = (uintptr_t)l->entry.map.l_next;
	return true;
}

static unsigned space_end(const struct elf_space *s, struct stack_piece *pieces)
{
	uint64_t before = (uintptr_t)s->last.map.l_prev;

	pieces[0] = (struct stack_piece){ s->at, sizeof(union piece) };
	pieces[1] = (struct stack_piece){ s->last.at, sizeof(union piece) };
	pieces[2] = (struct stack_piece){ before, sizeof(union piece) };
	return !s->first ? 1 : !before ? 2 : 3;
}

static bool space_end_is(const struct elf_space *s, const union piece *now)
{
	return (uintptr_t)now[0].debug.r_map == s->first &&
	       (!s->first || memcmp(&now[1], &s->last.map, sizeof(*now)) == 0) &&
	       (!s->last.map.l_prev || memcmp(&now[2], &s->before_last, sizeof(*now)) == 0);
}

static bool space_ends_as_it_did(const struct elf_space *s, bool is_last)
{
	struct stack_piece pieces[ELF_END_PIECES];
	union piece now[ELF_END_PIECES];

	return stack_read_pieces(now, pieces, space_end(s, pieces)) && space_end_is(s, now) &&
	       !next_space(s->at, &now[0].debug) == is_last;
}

bool elf_list_ends_as_it_did(const struct elf_list *l)
{
	for (unsigned i = 0; i < l->n_spaces; i++)
		if (!space_ends_as_it_did(&l->spaces[i], i + 1 == l->n_spaces))
			return false;
	return !l->torn;
}

unsigned elf_list_end(const struct elf_list *l, struct stack_piece *pieces)
{
	return l->torn || l->n_spaces != 1 ? 0 : space_end(&l->spaces[0], pieces);
}

bool elf_list_end_is(const struct elf_list *l, const void *read)
{
	union piece now[ELF_END_PIECES];
	struct stack_piece pieces[ELF_END_PIECES];

	memcpy(now, read, elf_list_end(l, pieces) * sizeof(*now));
	return space_end_is(&l->spaces[0], now) && now[0].debug.r_version < VERSION_SPACES;
}

/* ---- where it begins -------------------------------------------------------------------------------------------------- */

static bool read_headers(struct elf_headers *h, uint64_t at, uint64_t n)
{
	if (!at || !n || n > ELF_HEADERS_MAX || !stack_read(h->header, at, n * sizeof(*h->header)))
		return false;
	h->at = at;
	h->n = (unsigned)n;
	return true;
}

/* The first object in it is the program. */
static bool begins_with(uint64_t debug, uint64_t dynamic)
{
	struct r_debug first;
	struct link_map map = { .l_ld = NULL };

	return debug && stack_read(&first, debug, sizeof(first)) && first.r_version >= 1 &&
	       read_map(&map, (uintptr_t)first.r_map) && (uintptr_t)map.l_ld == dynamic;
}

static uint64_t as_the_program_says(uint64_t dynamic)
{
	struct elf_dynamic d;

	return elf_dynamic_read(&d, dynamic) ? elf_dynamic_value(&d, DT_DEBUG) : 0;
}

static uint64_t as_the_loader_exports_it(struct elf_headers *h)
{
	uint64_t base = getauxval(AT_BASE);
	struct link_map loader = { .l_addr = base };
	const ElfW(Phdr) * dynamic;
	struct elf_tables t;
	ElfW(Ehdr) e;
	ElfW(Sym) s;

	if (!base || !stack_read(&e, base, sizeof(e)) || !read_headers(h, base + e.e_phoff, e.e_phnum) ||
	    !(dynamic = elf_headers_of(h, PT_DYNAMIC)))
		return 0;
	loader.l_ld = (ElfW(Dyn) *)(uintptr_t)(base + dynamic->p_vaddr);
	return elf_tables_read(&t, &loader) && elf_tables_find(&t, "_r_debug", &s) ? base + s.st_value : 0;
}

static uint64_t find_debug(void)
{
	const ElfW(Phdr) * self, *dynamic;
	struct elf_headers h;
	uint64_t at, found;

	if (!read_headers(&h, getauxval(AT_PHDR), getauxval(AT_PHNUM)) || !(dynamic = elf_headers_of(&h, PT_DYNAMIC)))
		return 0;
	self = elf_headers_of(&h, PT_PHDR);
	at = (self ? h.at - self->p_vaddr : 0) + dynamic->p_vaddr;
	found = as_the_program_says(at);
	if (!begins_with(found, at))
		found = as_the_loader_exports_it(&h);
	return begins_with(found, at) ? found : 0;
}

uint64_t elf_list_debug(void)
{
	static uint64_t known; /* it stays where it is */
	uint64_t at = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!at) {
		at = find_debug();
		__atomic_store_n(&known, at, __ATOMIC_RELAXED);
	}
	return at;
}

/* ---- program headers -------------------------------------------------------------------------------------------------- */

const ElfW(Phdr) * elf_headers_of(const struct elf_headers *h, uint32_t type)
{
	for (unsigned i = 0; i < h->n; i++)
		if (h->header[i].p_type == type)
			return &h->header[i];
	return NULL;
}

/* Its dynamic section has to be where the list says. */
static bool belong_to(const struct elf_headers *h, const struct link_map *map)
{
	const ElfW(Phdr) *dynamic = elf_headers_of(h, PT_DYNAMIC);

	return dynamic && map->l_addr + dynamic->p_vaddr == (uintptr_t)map->l_ld;
}

static bool read_behind(struct elf_headers *h, uint64_t begin, const struct link_map *map)
{
	ElfW(Ehdr) e;

	return begin && stack_read(&e, begin, sizeof(e)) && memcmp(e.e_ident, ELFMAG, SELFMAG) == 0 &&
	       e.e_phentsize == sizeof(*h->header) && read_headers(h, begin + e.e_phoff, e.e_phnum) &&
	       belong_to(h, map);
}

/* A library begins where its bias says, as its first byte has the address 0 in the file. Of the program, and of what the kernel has mapped into
 * each process, the kernel has said where they are. */
bool elf_headers_read(struct elf_headers *h, const struct link_map *map)
{
	if (!map->l_prev && read_headers(h, getauxval(AT_PHDR), getauxval(AT_PHNUM)) && belong_to(h, map))
		return true;
	return read_behind(h, map->l_addr, map) || read_behind(h, getauxval(AT_SYSINFO_EHDR), map);
}
