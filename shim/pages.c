/* SPDX-License-Identifier: BSD-2-Clause */
#include "pages.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* How far into its page something lies. */
static size_t into_page(uint64_t at)
{
	return (size_t)(at & ((uint64_t)sysconf(_SC_PAGESIZE) - 1));
}

uint8_t *pages_map(int fd, uint64_t offset, size_t bytes)
{
	size_t before = into_page(offset);
	void *p = mmap(NULL, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - before));

	return p == MAP_FAILED ? NULL : (uint8_t *)p + before;
}

void pages_unmap(uint8_t *p, size_t bytes)
{
	size_t before = into_page((uintptr_t)p);

	munmap(p - before, before + bytes);
}

size_t pages_populate(uint8_t *p, size_t bytes, size_t done, size_t some)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), before = into_page((uintptr_t)p + done);
	size_t length = before + some > page ? (before + some) & ~(page - 1) : page;

	if (done >= bytes)
		return done;
	if (done + length - before > bytes)
		length = before + bytes - done; /* the kernel rounds up to the mapping's own last page */
	if (madvise(p + done - before, length, MADV_POPULATE_WRITE) != 0)
		return done;
	return done + length - before;
}
