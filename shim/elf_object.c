/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf_object.h"

#include <string.h>

#include "elf_list.h"
#include "elf_tables.h"

#define TRIES 10 /* of a list that another thread changes meanwhile */

struct search {
	const char *soname;
	struct elf_object *out;
};

/* The loader has added the base to most of these, but not to those of objects it may not write to (the vdso). */
static const void *table(const struct elf_object *o, const ElfW(Dyn) * d)
{
	return (const void *)(d->d_un.d_ptr < o->base ? o->base + d->d_un.d_ptr : d->d_un.d_ptr);
}

bool elf_object_read(struct elf_object *o, uintptr_t base, const ElfW(Dyn) * dynamic)
{
	const ElfW(Dyn) *soname = NULL;

	*o = (struct elf_object){ .base = base };

	for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SONAME:
			soname = d;
			break;
		case DT_STRTAB:
			o->strings = table(o, d);
			break;
		case DT_SYMTAB:
			o->symbols = table(o, d);
			break;
		case DT_GNU_HASH:
			o->gnu_hash = table(o, d);
			break;
		case DT_HASH:
			o->hash = table(o, d);
			break;
		}
	}
	if (!o->strings || !o->symbols || (!o->gnu_hash && !o->hash))
		return false;
	o->soname = soname ? o->strings + soname->d_un.d_val : NULL;
	return true;
}

/* False: it is ours, or exports nothing. */
static bool read_object(struct elf_object *o, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dynamic = NULL;
	uintptr_t own = (uintptr_t)read_object;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)at;
		if (p->p_type == PT_LOAD && own >= at && own - at < p->p_memsz)
			return false;
	}
	return dynamic && elf_object_read(o, info->dlpi_addr, dynamic);
}

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct search *search = arg;
	struct elf_object o;

	(void)size;
	if (!read_object(&o, info) || !o.soname || strcmp(o.soname, search->soname) != 0)
		return 0;
	*search->out = o;
	return 1;
}

bool elf_object_find(struct elf_object *out, const char *soname)
{
	struct search search = { soname, out };

	return dl_iterate_phdr(look_at, &search) == 1;
}

static const ElfW(Sym) * named(const struct elf_object *o, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[i];
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return s->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_OBJECT) &&
			       strcmp(o->strings + s->st_name, name) == 0
		       ? s
		       : NULL;
}

/* DT_GNU_HASH: buckets, first symbol, words of the filter, its shift; the filter; the buckets; for each symbol from the first on its hash,
 * whose lowest bit says that its bucket ends there. */
static const ElfW(Sym) * by_gnu_hash(const struct elf_object *o, const char *name)
{
	const uint32_t *h = o->gnu_hash, buckets = h[0], first = h[1];
	const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(h + 4) + h[2]), *hashes = bucket + buckets;
	const ElfW(Sym) *found = NULL;
	uint32_t hash = 5381;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	for (uint32_t i = buckets ? bucket[hash % buckets] : 0; i >= first && i; i++) {
		uint32_t its = hashes[i - first];

		if ((its | 1) == (hash | 1))
			found = named(o, i, name);
		if (found || (its & 1))
			break;
	}
	return found;
}

/* DT_HASH: its second word is the number of symbols. */
static const ElfW(Sym) * by_count(const struct elf_object *o, const char *name)
{
	const ElfW(Sym) *found = NULL;

	for (uint32_t i = 1; !found && i < o->hash[1]; i++)
		found = named(o, i, name);
	return found;
}

const ElfW(Sym) * elf_object_look_up(const struct elf_object *o, const char *name)
{
	return o->gnu_hash ? by_gnu_hash(o, name) : by_count(o, name);
}

void *elf_object_symbol(const struct elf_object *o, const char *name)
{
	const ElfW(Sym) *s = elf_object_look_up(o, name);

	return s && ELF64_ST_TYPE(s->st_info) == STT_FUNC ? (void *)(o->base + s->st_value) : NULL;
}

/* ---- what others define ------------------------------------------------------------------------------------------------ */

static const char *const ours[] = { "libgpushim.so", "libcuda.so.1" }; /* each would go on to the other */

/* *sure: the list was seen to its end, or to where it is. */
static void *define_by_list(const char *name, bool *sure)
{
	struct elf_tables t;
	struct elf_list l;
	ElfW(Sym) s;

	elf_list_begin(&l, elf_list_debug());
	while (elf_list_next(&l)) {
		if (l.entry.map.l_ld == _DYNAMIC || !elf_tables_read(&t, &l.entry.map) || elf_tables_is(&t, ours[0]) ||
		    elf_tables_is(&t, ours[1]))
			continue;
		if (elf_tables_find(&t, name, &s) && ELF64_ST_TYPE(s.st_info) == STT_FUNC) {
			*sure = true;
			return (void *)(t.bias + s.st_value);
		}
	}
	*sure = !l.torn;
	return NULL;
}

struct definition {
	const char *name;
	void *function;
};

static int look_for(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct definition *wanted = arg;
	struct elf_object o;

	(void)size;
	if (!read_object(&o, info))
		return 0;
	if (o.soname && (strcmp(o.soname, ours[0]) == 0 || strcmp(o.soname, ours[1]) == 0))
		return 0;
	wanted->function = elf_object_symbol(&o, wanted->name);
	return wanted->function != NULL;
}

void *elf_object_definition(const char *name)
{
	struct definition wanted = { .name = name };
	bool sure = false;

	for (unsigned i = 0; i < TRIES && !sure; i++)
		wanted.function = define_by_list(name, &sure);
	if (!sure) /* the kernel does not answer (a container's filter), or this is no list that we know */
		dl_iterate_phdr(look_for, &wanted);
	return wanted.function;
}
