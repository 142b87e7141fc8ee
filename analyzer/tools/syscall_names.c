/* SPDX-License-Identifier: BSD-2-Clause */
#include "syscall_names.h"

#include <stdbool.h>
#include <stddef.h>

struct row {
	int16_t x86_64, aarch64; /* -1: not on this architecture */
	struct syscall_name is;
};

/* clang-format off */
static const struct row rows[] = {
	{   0,  63, { "read",            SYSCALL_READ } },
	{  17,  67, { "pread64",         SYSCALL_READ } },
	{  19,  65, { "readv",           SYSCALL_READ } },
	{ 295,  69, { "preadv",          SYSCALL_READ } },
	{ 327, 286, { "preadv2",         SYSCALL_READ } },
	{  45, 207, { "recvfrom",        SYSCALL_READ } },
	{  47, 212, { "recvmsg",         SYSCALL_READ } },
	{ 299, 243, { "recvmmsg",        SYSCALL_READ } },
	{  43, 202, { "accept",          SYSCALL_POLL } },
	{ 288, 242, { "accept4",         SYSCALL_POLL } },
	{   7,  -1, { "poll",            SYSCALL_POLL } },
	{ 271,  73, { "ppoll",           SYSCALL_POLL } },
	{  23,  -1, { "select",          SYSCALL_POLL } },
	{ 270,  72, { "pselect6",        SYSCALL_POLL } },
	{ 232,  -1, { "epoll_wait",      SYSCALL_POLL } },
	{ 281,  22, { "epoll_pwait",     SYSCALL_POLL } },
	{ 441, 441, { "epoll_pwait2",    SYSCALL_POLL } },
	{   1,  64, { "write",           SYSCALL_WRITE } },
	{  18,  68, { "pwrite64",        SYSCALL_WRITE } },
	{  20,  66, { "writev",          SYSCALL_WRITE } },
	{ 296,  70, { "pwritev",         SYSCALL_WRITE } },
	{ 328, 287, { "pwritev2",        SYSCALL_WRITE } },
	{  44, 206, { "sendto",          SYSCALL_WRITE } },
	{  46, 211, { "sendmsg",         SYSCALL_WRITE } },
	{  40,  71, { "sendfile",        SYSCALL_WRITE } },
	{ 326, 285, { "copy_file_range", SYSCALL_WRITE } },
	{  74,  82, { "fsync",           SYSCALL_FLUSH } },
	{  75,  83, { "fdatasync",       SYSCALL_FLUSH } },
	{ 277,  84, { "sync_file_range", SYSCALL_FLUSH } },
	{ 306, 267, { "syncfs",          SYSCALL_FLUSH } },
	{ 162,  81, { "sync",            SYSCALL_FLUSH } },
	{  26, 227, { "msync",           SYSCALL_FLUSH } },
	{  35, 101, { "nanosleep",       SYSCALL_SLEEP } },
	{ 230, 115, { "clock_nanosleep", SYSCALL_SLEEP } },
	{ 202,  98, { "futex",           SYSCALL_FUTEX } },
	{ 449, 449, { "futex_waitv",     SYSCALL_FUTEX } },
	{   2,  -1, { "open",            SYSCALL_OTHER } },
	{ 257,  56, { "openat",          SYSCALL_OTHER } },
	{   3,  57, { "close",           SYSCALL_OTHER } },
	{   9, 222, { "mmap",            SYSCALL_OTHER } },
	{  11, 215, { "munmap",          SYSCALL_OTHER } },
	{  28, 233, { "madvise",         SYSCALL_OTHER } },
	{  16,  29, { "ioctl",           SYSCALL_OTHER } },
	{  24, 124, { "sched_yield",     SYSCALL_OTHER } },
	{  56, 220, { "clone",           SYSCALL_OTHER } },
	{ 435, 435, { "clone3",          SYSCALL_OTHER } },
	{  57,  -1, { "fork",            SYSCALL_OTHER } },
	{  58,  -1, { "vfork",           SYSCALL_OTHER } },
	{  59, 221, { "execve",          SYSCALL_OTHER } },
	{  61, 260, { "wait4",           SYSCALL_OTHER } },
	{ 247,  95, { "waitid",          SYSCALL_OTHER } },
	{  73,  32, { "flock",           SYSCALL_OTHER } },
	{ 285,  47, { "fallocate",       SYSCALL_OTHER } },
	{  77,  46, { "ftruncate",       SYSCALL_OTHER } },
	{  87,  -1, { "unlink",          SYSCALL_OTHER } },
	{ 263,  35, { "unlinkat",        SYSCALL_OTHER } },
	{  82,  -1, { "rename",          SYSCALL_OTHER } },
	{ 316, 276, { "renameat2",       SYSCALL_OTHER } },
	{   4,  -1, { "stat",            SYSCALL_OTHER } },
	{ 262,  79, { "newfstatat",      SYSCALL_OTHER } },
	{ 332, 291, { "statx",           SYSCALL_OTHER } },
	{ 217,  61, { "getdents64",      SYSCALL_OTHER } },
	{ 187, 213, { "readahead",       SYSCALL_OTHER } },
	{ 221, 223, { "fadvise64",       SYSCALL_OTHER } },
	{ 275,  76, { "splice",          SYSCALL_OTHER } },
	{ 208,   4, { "io_getevents",    SYSCALL_OTHER } },
	{  60,  93, { "exit",            SYSCALL_OTHER } },
	{ 231,  94, { "exit_group",      SYSCALL_OTHER } },
	{ 425, 425, { "io_uring_setup",  SYSCALL_OTHER } },
	{ 426, 426, { "io_uring_enter",  SYSCALL_OTHER } },
};
/* clang-format on */

static bool is_aarch64(const struct gst_file_header *h)
{
	return h->machine ? h->machine == GST_MACHINE_AARCH64 : h->clock == GST_CLOCK_CNTVCT;
}

const struct syscall_name *syscall_find(const struct gst_file_header *header, int32_t number)
{
	bool aarch64 = is_aarch64(header);

	if (number < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if ((aarch64 ? rows[i].aarch64 : rows[i].x86_64) == number)
			return &rows[i].is;
	}
	return NULL;
}
