/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls by number: what a number means depends on the processor that the file is from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sys/syscall.h>

#include "tools/syscall_names.h"

static const char *name_of(uint32_t machine, uint32_t clock, int32_t number)
{
	struct gst_file_header h = { .machine = machine, .clock = clock };
	const struct syscall_name *found = syscall_find(&h, number);

	return found ? found->name : "none";
}

static void test_the_header_names_the_processor(void **state)
{
	(void)state;
	assert_string_equal(name_of(GST_MACHINE_X86_64, GST_CLOCK_MONOTONIC, 0), "read");
	assert_string_equal(name_of(GST_MACHINE_AARCH64, GST_CLOCK_MONOTONIC, 63), "read");
	assert_string_equal(name_of(GST_MACHINE_AARCH64, GST_CLOCK_MONOTONIC, 98), "futex");
	assert_string_equal(name_of(GST_MACHINE_X86_64, GST_CLOCK_MONOTONIC, 202), "futex");
	assert_string_equal(name_of(GST_MACHINE_AARCH64, GST_CLOCK_MONOTONIC, 202), "accept");
}

static void test_older_files_are_known_by_their_clock(void **state)
{
	(void)state;
	assert_string_equal(name_of(0, GST_CLOCK_TSC, 202), "futex");
	assert_string_equal(name_of(0, GST_CLOCK_CNTVCT, 98), "futex");
	assert_string_equal(name_of(0, GST_CLOCK_MONOTONIC, 202), "futex");
}

static void test_no_call(void **state)
{
	(void)state;
	assert_string_equal(name_of(GST_MACHINE_X86_64, GST_CLOCK_TSC, -1), "none");
	assert_string_equal(name_of(GST_MACHINE_AARCH64, GST_CLOCK_CNTVCT, -1),
			    "none"); /* not "open", which aarch64 lacks */
	assert_string_equal(name_of(GST_MACHINE_X86_64, GST_CLOCK_TSC, 9999), "none");
}

/* This machine's own headers have these numbers. */
static void test_as_this_system_numbers_them(void **state)
{
#if defined(__aarch64__)
	const uint32_t machine = GST_MACHINE_AARCH64;
#else
	const uint32_t machine = GST_MACHINE_X86_64;
#endif

	(void)state;
#define SAME(call) assert_string_equal(name_of(machine, GST_CLOCK_MONOTONIC, SYS_##call), #call)
	SAME(read);
	SAME(readv);
	SAME(pread64);
	SAME(recvfrom);
	SAME(recvmsg);
	SAME(ppoll);
	SAME(pselect6);
	SAME(epoll_pwait);
	SAME(write);
	SAME(writev);
	SAME(pwrite64);
	SAME(sendto);
	SAME(sendfile);
	SAME(copy_file_range);
	SAME(fsync);
	SAME(fdatasync);
	SAME(sync_file_range);
	SAME(syncfs);
	SAME(msync);
	SAME(nanosleep);
	SAME(clock_nanosleep);
	SAME(futex);
	SAME(openat);
	SAME(close);
	SAME(mmap);
	SAME(munmap);
	SAME(madvise);
	SAME(ioctl);
	SAME(sched_yield);
	SAME(clone);
	SAME(execve);
	SAME(wait4);
	SAME(waitid);
	SAME(flock);
	SAME(fallocate);
	SAME(ftruncate);
	SAME(unlinkat);
	SAME(renameat2);
	SAME(newfstatat);
	SAME(statx);
	SAME(getdents64);
	SAME(readahead);
	SAME(fadvise64);
	SAME(splice);
	SAME(io_getevents);
	SAME(exit);
	SAME(exit_group);
#undef SAME
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_header_names_the_processor),
		cmocka_unit_test(test_older_files_are_known_by_their_clock),
		cmocka_unit_test(test_no_call),
		cmocka_unit_test(test_as_this_system_numbers_them),
	};
	return cmocka_run_group_tests_name("syscall_names", tests, NULL, NULL);
}
