/* SPDX-License-Identifier: BSD-2-Clause */
/* The format since glibc 2.2, alone (2.32 and later) or behind that of libc5's days:
 *
 *   "ld.so-1.7.0" pad u32 n; n × { i32 flags; u32 key; u32 value }            the old part, skipped; what follows is 8-aligned
 *   "glibc-ld.so.cache1.1"; u32 n; u32 string bytes; u32 × 5; n × { i32 flags; u32 key; u32 value; u32 os; u64 hwcap }
 *
 * key and value are offsets of texts from the new part's start. Entries for other architectures are there too: the loader
 * refuses those files. */
#include "loader_cache.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OLD_MAGIC "ld.so-1.7.0"
#define NEW_MAGIC "glibc-ld.so.cache1.1"

struct old_header {
	char magic[sizeof(OLD_MAGIC) - 1];
	uint32_t n;
};

struct old_entry {
	int32_t flags;
	uint32_t key, value;
};

struct header {
	char magic[sizeof(NEW_MAGIC) - 1];
	uint32_t n, string_bytes, more[5];
};

struct entry {
	int32_t flags;
	uint32_t key, value, os;
	uint64_t hwcap;
};

/* NULL: not a text within the file. */
static const char *text_at(const char *base, size_t bytes, uint32_t offset)
{
	return offset < bytes && memchr(base + offset, 0, bytes - offset) ? base + offset : NULL;
}

void *loader_cache_search(const void *data, size_t bytes, const char *name, void *(*try)(const char *path))
{
	const char *base = data;
	struct old_header old;
	struct header h;
	void *found = NULL;

	if (bytes >= sizeof(old) && memcmp(base, OLD_MAGIC, sizeof(old.magic)) == 0) {
		size_t skip;

		memcpy(&old, base, sizeof(old));
		skip = (sizeof(old) + (size_t)old.n * sizeof(struct old_entry) + 7) & ~(size_t)7;
		if (skip > bytes)
			return NULL;
		base += skip;
		bytes -= skip;
	}
	if (bytes < sizeof(h) || memcmp(base, NEW_MAGIC, sizeof(h.magic)) != 0)
		return NULL;
	memcpy(&h, base, sizeof(h));
	for (size_t i = 0; i < h.n && !found && sizeof(h) + (i + 1) * sizeof(struct entry) <= bytes; i++) {
		struct entry e;
		const char *key, *value;

		memcpy(&e, base + sizeof(h) + i * sizeof(e), sizeof(e));
		key = text_at(base, bytes, e.key);
		value = text_at(base, bytes, e.value);
		if (key && value && strcmp(key, name) == 0)
			found = try(value);
	}
	return found;
}

void *loader_cache_find(const char *name, void *(*try)(const char *path))
{
	int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
	off_t bytes = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void *data = bytes > 0 ? mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED, *found;

	if (fd >= 0)
		close(fd);
	if (data == MAP_FAILED)
		return NULL;
	found = loader_cache_search(data, (size_t)bytes, name, try);
	munmap(data, (size_t)bytes);
	return found;
}
