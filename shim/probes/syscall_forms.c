/* SPDX-License-Identifier: BSD-2-Clause */
#include "syscall_forms.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#define FD(name)                                        \
	{                                               \
		SYS_##name, 0, -1, -1, SYSCALL_NONE, -1 \
	}
#define DATA(name)                                     \
	{                                              \
		SYS_##name, 0, 2, -1, SYSCALL_NONE, -1 \
	} /* (fd, memory, bytes) */
#define PLACED(name)                                  \
	{                                             \
		SYS_##name, 0, 2, 3, SYSCALL_NONE, -1 \
	} /* (fd, memory, bytes, offset) */
#define VECTOR(name)                                   \
	{                                              \
		SYS_##name, 0, -1, 3, SYSCALL_NONE, -1 \
	} /* (fd, vector, n, offset) */
#define PATH(name, at)                                   \
	{                                                \
		SYS_##name, -1, -1, -1, SYSCALL_PATH, at \
	}

static const struct syscall_form forms[] = {
	DATA(read),
	DATA(write),
	FD(readv),
	FD(writev),
	PLACED(pread64),
	PLACED(pwrite64),
	VECTOR(preadv),
	VECTOR(pwritev),
	VECTOR(preadv2),
	VECTOR(pwritev2),
	DATA(recvfrom),
	DATA(sendto),
	FD(recvmsg),
	FD(sendmsg),
	FD(recvmmsg),
	FD(sendmmsg),
	FD(accept),
	FD(accept4),
	FD(connect),
	FD(fsync),
	FD(fdatasync),
	FD(syncfs),
	FD(ftruncate),
	FD(flock),
	FD(fcntl),
	FD(ioctl),
	FD(close),
	FD(fstat),
	FD(lseek),
	FD(getdents64),
	FD(io_uring_enter),
	FD(tee),
	FD(fallocate),
	FD(sync_file_range),
	{ SYS_readahead, 0, 2, 1, SYSCALL_NONE, -1 },
	{ SYS_fadvise64, 0, 2, 1, SYSCALL_NONE, -1 },
	{ SYS_splice, 0, 4, -1, SYSCALL_NONE, -1 },
	{ SYS_copy_file_range, 0, 4, -1, SYSCALL_NONE, -1 },
	{ SYS_sendfile, 1, 3, -1, SYSCALL_NONE, -1 }, /* the side that is read: the other's waits are its peer's */
	{ SYS_mmap, 4, 1, 5, SYSCALL_NONE, -1 },
	{ SYS_ppoll, -1, -1, -1, SYSCALL_POLL, -1 },
	{ SYS_pselect6, -1, -1, -1, SYSCALL_SELECT, -1 },
	{ SYS_epoll_pwait, 0, -1, -1, SYSCALL_EPOLL, -1 },
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, 0, -1, -1, SYSCALL_EPOLL, -1 },
#endif
#ifdef SYS_poll /* those that came later than these have them no more */
	{ SYS_poll, -1, -1, -1, SYSCALL_POLL, -1 },
	{ SYS_select, -1, -1, -1, SYSCALL_SELECT, -1 },
	{ SYS_epoll_wait, 0, -1, -1, SYSCALL_EPOLL, -1 },
	PATH(open, 0),
	PATH(stat, 0),
	PATH(lstat, 0),
	PATH(access, 0),
	PATH(unlink, 0),
	PATH(mkdir, 0),
	PATH(rename, 0),
	PATH(readlink, 0),
	FD(getdents),
#endif
	PATH(openat, 1),
	PATH(newfstatat, 1),
	PATH(statx, 1),
	PATH(faccessat, 1),
	PATH(unlinkat, 1),
	PATH(execve, 0),
	PATH(truncate, 0),
	PATH(statfs, 0),
	PATH(readlinkat, 1),
	PATH(mkdirat, 1),
	PATH(renameat2, 1),
};

const struct syscall_form *syscall_form(int64_t number)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].number == number)
			return &forms[i];
	return NULL;
}

/* By how the functions' names begin, as they have been for long. */
int32_t syscall_by_wchan(const char *function)
{
	static const struct {
		const char *begin;
		int32_t number;
	} known[] = {
		{ "futex_", SYS_futex },
		{ "do_futex", SYS_futex },
		{ "hrtimer_nanosleep", SYS_clock_nanosleep },
		{ "do_nanosleep", SYS_clock_nanosleep },
		{ "ep_poll", SYS_epoll_pwait },
		{ "do_epoll_wait", SYS_epoll_pwait },
		{ "poll_schedule_timeout", SYS_ppoll },
		{ "do_poll", SYS_ppoll },
		{ "do_sys_poll", SYS_ppoll },
		{ "do_select", SYS_pselect6 },
		{ "pipe_read", SYS_read },
		{ "anon_pipe_read", SYS_read },
		{ "pipe_write", SYS_write },
		{ "anon_pipe_write", SYS_write },
		{ "pipe_wait_readable", SYS_read },
		{ "pipe_wait_writable", SYS_write },
		{ "unix_stream_read", SYS_recvfrom },
		{ "unix_stream_data_wait", SYS_recvfrom },
		{ "unix_wait_for_peer", SYS_sendto },
		{ "sk_wait_data", SYS_recvfrom },
		{ "tcp_recvmsg", SYS_recvfrom },
		{ "sk_stream_wait_memory", SYS_sendto },
		{ "inet_csk_accept", SYS_accept4 },
		{ "do_wait", SYS_wait4 },
		{ "kernel_wait4", SYS_wait4 },
		{ "jbd2_log_wait_commit", SYS_fsync },
		{ "io_cqring_wait", SYS_io_uring_enter },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strncmp(function, known[i].begin, strlen(known[i].begin)))
			return known[i].number;
	return -2;
}
