/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf_object.h"

#include <string.h>

struct search {
	const char *soname;
	struct elf_object *out;
};

/* The loader has added the base to most of these, but not to those of objects it may not write to (the vdso). */
static const void *table(const struct elf_object *o, const ElfW(Dyn) * d)
{
	return (const void *)(d->d_un.d_ptr < o->base ? o->base + d->d_un.d_ptr : d->d_un.d_ptr);
}

static bool read_dynamic(struct elf_object *o, const ElfW(Dyn) * dynamic)
{
	const ElfW(Dyn) *soname = NULL;

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
	if (!soname || !o->strings || !o->symbols || (!o->gnu_hash && !o->hash))
		return false;
	o->soname = o->strings + soname->d_un.d_val;
	return true;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct search *search = arg;
	struct elf_object o = { .base = info->dlpi_addr };
	const ElfW(Dyn) *dynamic = NULL;
	uintptr_t own = (uintptr_t)look_at;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = o.base + p->p_vaddr;

		if (p->p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)at;
		if (p->p_type == PT_LOAD && own >= at && own - at < p->p_memsz)
			return 0;
	}
	if (!dynamic || !read_dynamic(&o, dynamic) || strcmp(o.soname, search->soname) != 0)
		return 0;
	*search->out = o;
	return 1;
}

bool elf_object_find(struct elf_object *out, const char *soname)
{
	struct search search = { soname, out };

	return dl_iterate_phdr(look_at, &search) == 1;
}

static void *address(const struct elf_object *o, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[i];

	if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC ||
	    strcmp(o->strings + s->st_name, name) != 0)
		return NULL;
	return (void *)(o->base + s->st_value);
}

/* DT_GNU_HASH: buckets, first symbol, words of the filter, its shift; the filter; the buckets; for each symbol from the first on its hash,
 * whose lowest bit says that its bucket ends there. */
static void *by_gnu_hash(const struct elf_object *o, const char *name)
{
	const uint32_t *h = o->gnu_hash, buckets = h[0], first = h[1];
	const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(h + 4) + h[2]), *hashes = bucket + buckets;
	uint32_t hash = 5381;
	void *p = NULL;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	for (uint32_t i = buckets ? bucket[hash % buckets] : 0; i >= first && i; i++) {
		uint32_t its = hashes[i - first];

		if ((its | 1) == (hash | 1))
			p = address(o, i, name);
		if (p || (its & 1))
			break;
	}
	return p;
}

/* DT_HASH: its second word is the number of symbols. */
static void *by_count(const struct elf_object *o, const char *name)
{
	void *p = NULL;

	for (uint32_t i = 1; !p && i < o->hash[1]; i++)
		p = address(o, i, name);
	return p;
}

void *elf_object_symbol(const struct elf_object *o, const char *name)
{
	return o->gnu_hash ? by_gnu_hash(o, name) : by_count(o, name);
}
