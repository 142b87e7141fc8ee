/* SPDX-License-Identifier: BSD-2-Clause */
/* A kernel with pages of 64 KiB, as many aarch64 machines have: it maps a file from multiples of that only, and takes and gives back
 * whole pages. Ours has pages of 4, so mmap and its like are replaced here by ones as strict as that kernel's. */
#include "shim_trace.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "shim/pages.h"

static size_t page = 4096; /* what the kernel says it is */
static bool populates = true;
static void *stack; /* of apart_run: no piece of a file */
static struct {
	int mappings;
	size_t populated;
} count;

static size_t whole_pages(size_t bytes)
{
	return (bytes + page - 1) & ~(page - 1);
}

long sysconf(int name)
{
	return name == _SC_PAGESIZE ? (long)page : name == _SC_CLK_TCK ? 100 : -1;
}

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	uint8_t *room, *p;

	if (fd < 0) {
		p = (uint8_t *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
		if (flags & MAP_STACK)
			stack = p;
		return p;
	}
	if ((size_t)offset % page) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	/* Room with a whole page to spare, so that the mapping can begin at one. */
	room = (uint8_t *)syscall(SYS_mmap, NULL, whole_pages(bytes) + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				  0);
	if (room == MAP_FAILED)
		return MAP_FAILED;
	p = (uint8_t *)(((uintptr_t)room + page - 1) & ~(page - 1));
	syscall(SYS_munmap, room, (size_t)(p - room));
	syscall(SYS_munmap, p + whole_pages(bytes), page - (size_t)(p - room));
	count.mappings++;
	return (void *)syscall(SYS_mmap, p, whole_pages(bytes), prot, flags | MAP_FIXED, fd, offset);
}

int munmap(void *p, size_t bytes)
{
	if (p == stack)
		return (int)syscall(SYS_munmap, p, bytes);
	if ((uintptr_t)p % page) {
		errno = EINVAL;
		return -1;
	}
	count.mappings--;
	return (int)syscall(SYS_munmap, p, whole_pages(bytes));
}

int madvise(void *p, size_t bytes, int advice)
{
	(void)advice;
	if ((uintptr_t)p % page || !populates) {
		errno = EINVAL;
		return -1;
	}
	count.populated += whole_pages(bytes);
	return 0;
}

static int set_up_with(size_t page_bytes, bool may_populate)
{
	rings_forget(); /* mapped by the last one's pages */
	stock_forget();
	page = page_bytes;
	populates = may_populate;
	memset(&count, 0, sizeof(count));
	return set_up(NULL);
}

static int pages_of_4k(void **state)
{
	(void)state;
	return set_up_with(4096, true);
}

static int pages_of_16k(void **state)
{
	(void)state;
	return set_up_with(16384, true);
}

static int pages_of_64k(void **state)
{
	(void)state;
	return set_up_with(65536, true);
}

static int pages_of_64k_old_kernel(void **state)
{
	(void)state;
	return set_up_with(65536, false);
}

/* The file's bytes from offset on. */
static void read_file(uint64_t offset, void *out, size_t bytes)
{
	int fd = trace_open();

	assert_int_equal(pread(fd, out, bytes, (off_t)offset), bytes);
	close(fd);
}

#define SEGMENTS 3 /* from the fourth on one is kept in reserve */

static void test_segments_lie_where_they_belong(void **state)
{
	struct segment segments[SEGMENTS];
	static uint8_t seen[GST_SEGMENT_BYTES], expected[GST_SEGMENT_BYTES];

	(void)state;
	for (int i = 0; i < SEGMENTS; i++) {
		assert_int_equal(segment_claim(&segments[i], NULL), 0);
		assert_int_equal(segments[i].index, i);
		memset(segments[i].base, 'a' + i, GST_SEGMENT_BYTES);
	}
	assert_int_equal(count.mappings, 1 + SEGMENTS); /* the head's, too */
	for (int i = 0; i < SEGMENTS; i++) {
		segment_release(segments[i].base);
		assert_int_equal(count.mappings, SEGMENTS - i);
	}
	for (unsigned i = 0; i < SEGMENTS; i++) {
		memset(expected, 'a' + (int)i, sizeof(expected));
		read_file(GST_SEGMENTS_OFFSET + i * (uint64_t)GST_SEGMENT_BYTES, seen, sizeof(seen));
		assert_memory_equal(seen, expected, sizeof(seen));
	}
}

static void test_records_over_several_segments(void **state)
{
	enum { RECORDS = 2 * GST_SEGMENT_BYTES / sizeof(struct gst_call) };
	static uint8_t seen[GST_SEGMENT_BYTES];
	struct gst_call call = { .hook = 1 };
	struct ring r = { 0 };
	uint64_t next = 0;

	(void)state;
	ring_attach(&r);
	for (uint64_t i = 0; i < RECORDS; i++) {
		call.begin = i;
		ring_append(&r, GST_CALL, sizeof(call), &call);
	}
	ring_detach(&r);
	assert_int_equal(file_counters()->records_dropped, 0);
	for (unsigned s = 0; next < RECORDS; s++) {
		assert_true(s < SEGMENTS);
		read_file(GST_SEGMENTS_OFFSET + s * (uint64_t)GST_SEGMENT_BYTES, seen, sizeof(seen));
		for (size_t at = sizeof(struct gst_segment_header); at + sizeof(call) <= sizeof(seen) && next < RECORDS;
		     at += sizeof(call), next++) {
			memcpy(&call, seen + at, sizeof(call));
			assert_int_equal(call.record.commit, GST_COMMIT);
			assert_int_equal(call.begin, next);
		}
	}
}

static void test_populated_whole(void **state)
{
	struct segment s;
	size_t done = 0, before = 0;

	(void)state;
	assert_int_equal(segment_claim(&s, NULL), 0);
	for (int steps = 0; (done = pages_populate(s.base, GST_SEGMENT_BYTES, before, 16384)) != before; steps++) {
		assert_true(steps < 17); /* the first and the last are shorter where the piece begins within a page */
		assert_true(done > before && done - before <= (page > 16384 ? page : 16384));
		before = done;
	}
	assert_int_equal(done, populates ? GST_SEGMENT_BYTES : 0);
	assert_true(!populates ||
		    (count.populated >= GST_SEGMENT_BYTES && count.populated < GST_SEGMENT_BYTES + 2 * page));
	segment_release(s.base);
	assert_int_equal(count.mappings, 1);
}

#define WITH(name, pages)                                       \
	{                                                       \
#name ": " #pages, name, pages, tear_down, NULL \
	}
#define ALL(name) \
	WITH(name, pages_of_4k), WITH(name, pages_of_16k), WITH(name, pages_of_64k), WITH(name, pages_of_64k_old_kernel)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ALL(test_segments_lie_where_they_belong),
		ALL(test_records_over_several_segments),
		ALL(test_populated_whole),
	};
	return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
