/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking at memory that may be gone: with the system call for it, and where that is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "peek.h"

static int refused; /* the errno with which the system call is refused, 0 not */
static unsigned asked;

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from,
				unsigned long m, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from,
				unsigned long m, unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from,
				unsigned long m, unsigned long flags)
{
	asked++;
	if (!refused)
		return __real_process_vm_readv(pid, to, n, from, m, flags);
	errno = refused;
	return -1;
}

static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

static void look_around(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		seen[PEEK_MAX];
	int fd = next_descriptor();

	refused = *(int *)*state;
	asked = 0;
	assert_ptr_not_equal(pages, MAP_FAILED);
	memset(pages, 7, page);
	munmap(pages + page, page);
	memset(seen, 0, sizeof(seen));
	errno = 4242;
	assert_true(peek(seen, pages + page - PEEK_MAX, PEEK_MAX));
	for (unsigned i = 0; i < PEEK_MAX; i++)
		assert_int_equal(seen[i], 7);
	assert_true(peek(seen, pages, 1));
	assert_false(peek(seen, pages + page, 8));
	assert_false(peek(seen, pages + page - 4, 8)); /* half of it is there */
	assert_false(peek(seen, NULL, 8));
	mprotect(pages, page, PROT_NONE);
	assert_false(peek(seen, pages, 8));
	assert_int_equal(errno, 4242);
	assert_int_equal(asked, 6);
	assert_int_equal(next_descriptor(), fd); /* nothing was left open */
	munmap(pages, page);
}

int main(void)
{
	static int as_it_is, not_there = ENOSYS, forbidden = EPERM;
	const struct CMUnitTest tests[] = {
		{ "what_is_there_and_what_is_not", look_around, NULL, NULL, &as_it_is },
		{ "without_the_system_call", look_around, NULL, NULL, &not_there },
		{ "where_the_system_call_is_forbidden", look_around, NULL, NULL, &forbidden },
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
