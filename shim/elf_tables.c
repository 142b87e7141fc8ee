/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf_tables.h"

#include <string.h>

#include "stack_memory.h"

#define NAME_MAX_BYTES 128u
#define CHAIN_MAX 1024u /* linkers make them a few symbols long */

bool elf_dynamic_read(struct elf_dynamic *d, uint64_t at)
{
	unsigned some;

	for (d->n = 0; d->n < ELF_DYNAMIC_MAX; at += some * sizeof(*d->entry)) {
		some = (unsigned)((STACK_PAGE - at % STACK_PAGE) / sizeof(*d->entry)); /* nothing may be behind it */
		some = some ? some : 1;
		some = some < ELF_DYNAMIC_MAX - d->n ? some : ELF_DYNAMIC_MAX - d->n;
		if (!stack_read(&d->entry[d->n], at, some * sizeof(*d->entry)))
			return false;
		for (unsigned end = d->n + some; d->n < end; d->n++)
			if (d->entry[d->n].d_tag == DT_NULL)
				return true;
	}
	return false;
}

uint64_t elf_dynamic_value(const struct elf_dynamic *d, int64_t tag)
{
	for (unsigned i = 0; i < d->n; i++)
		if (d->entry[i].d_tag == tag)
			return d->entry[i].d_un.d_val;
	return 0;
}

/* The loader has added the bias to most of these, but not to those of objects it may not write to (the vdso). */
static uint64_t table(const struct elf_tables *t, const struct elf_dynamic *d, int64_t tag)
{
	uint64_t at = elf_dynamic_value(d, tag);

	return at && at < t->bias ? at + t->bias : at;
}

bool elf_tables_read(struct elf_tables *t, const struct link_map *map)
{
	struct elf_dynamic d;

	if (!elf_dynamic_read(&d, (uintptr_t)map->l_ld))
		return false;
	*t = (struct elf_tables){ .bias = map->l_addr };
	t->symbols = table(t, &d, DT_SYMTAB);
	t->strings = table(t, &d, DT_STRTAB);
	t->gnu_hash = table(t, &d, DT_GNU_HASH);
	t->hash = table(t, &d, DT_HASH);
	if (!t->symbols || !t->strings || (!t->gnu_hash && !t->hash))
		return false;
	t->soname = elf_dynamic_value(&d, DT_SONAME);
	t->soname += t->soname ? t->strings : 0;
	return true;
}

static bool is_text(uint64_t at, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char there[NAME_MAX_BYTES];

	return bytes <= sizeof(there) && stack_read(there, at, bytes) && memcmp(there, text, bytes) == 0;
}

bool elf_tables_is(const struct elf_tables *t, const char *soname)
{
	return t->soname && is_text(t->soname, soname);
}

static bool read_word(uint32_t *word, uint64_t table, uint64_t place)
{
	return stack_read(word, table + place * sizeof(*word), sizeof(*word));
}

static bool is_named(const struct elf_tables *t, uint32_t i, const char *name, ElfW(Sym) * s)
{
	unsigned type;

	if (!stack_read(s, t->symbols + i * sizeof(*s), sizeof(*s)))
		return false;
	type = ELF64_ST_TYPE(s->st_info);
	return s->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_OBJECT) &&
	       is_text(t->strings + s->st_name, name);
}

/* DT_GNU_HASH: buckets, first symbol, words of the filter, its shift; the filter, in which two bits are set for each name; the buckets;
 * for each symbol from the first on its hash, whose lowest bit says that its bucket ends there. */
static bool by_gnu_hash(const struct elf_tables *t, const char *name, ElfW(Sym) * found)
{
	struct {
		uint32_t buckets, first, words, shift;
	} head;
	uint64_t filter = t->gnu_hash + sizeof(head), buckets, hashes, bits;
	uint32_t hash = 5381, i, its;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	if (!stack_read(&head, t->gnu_hash, sizeof(head)) || !head.buckets || !head.words ||
	    !stack_read(&bits, filter + hash / 64 % head.words * sizeof(bits), sizeof(bits)) ||
	    !(bits >> hash % 64 & bits >> (hash >> (head.shift & 31)) % 64 & 1))
		return false;
	buckets = filter + head.words * sizeof(bits);
	hashes = buckets + head.buckets * sizeof(uint32_t);
	if (!read_word(&i, buckets, hash % head.buckets) || !i)
		return false;
	for (unsigned n = 0; n < CHAIN_MAX && i >= head.first && read_word(&its, hashes, i - head.first); n++, i++) {
		if ((its | 1) == (hash | 1) && is_named(t, i, name, found))
			return true;
		if (its & 1)
			break;
	}
	return false;
}

/* DT_HASH: the number of buckets, that of symbols; the buckets; for each symbol the next one in its bucket, 0 there is none. */
static bool by_hash(const struct elf_tables *t, const char *name, ElfW(Sym) * found)
{
	uint32_t head[2], hash = 0, i;

	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (uint8_t)*c;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	if (!stack_read(head, t->hash, sizeof(head)) || !head[0] || !read_word(&i, t->hash, 2 + hash % head[0]))
		return false;
	for (unsigned n = 0; n < CHAIN_MAX && i; n++) {
		if (is_named(t, i, name, found))
			return true;
		if (!read_word(&i, t->hash, 2 + (uint64_t)head[0] + i))
			break;
	}
	return false;
}

bool elf_tables_find(const struct elf_tables *t, const char *name, ElfW(Sym) * found)
{
	return t->gnu_hash ? by_gnu_hash(t, name, found) : by_hash(t, name, found);
}
