/* SPDX-License-Identifier: BSD-2-Clause */
#include "ebpf_syscalls.h"

#include <sys/syscall.h>

/* Numbers differ by machine; not every machine has every call. */
void ebpf_syscalls_fill(struct syscall_shape shapes[SHAPES])
{
#define SHAPE(call, ...)             \
	if (SYS_##call < SHAPES - 1) \
		shapes[SYS_##call] = (struct syscall_shape){ __VA_ARGS__ };
	SHAPE(read, .fd = 1, .bytes = 3, .offset = SHAPE_F_POS)
	SHAPE(write, .fd = 1, .bytes = 3, .offset = SHAPE_F_POS, .sends = 1, .writes = 1)
	SHAPE(readv, .fd = 1, .offset = SHAPE_F_POS)
	SHAPE(writev, .fd = 1, .offset = SHAPE_F_POS, .sends = 1, .writes = 1)
	SHAPE(pread64, .fd = 1, .bytes = 3, .offset = 4)
	SHAPE(pwrite64, .fd = 1, .bytes = 3, .offset = 4, .writes = 1)
	SHAPE(preadv, .fd = 1, .offset = 4)
	SHAPE(pwritev, .fd = 1, .offset = 4, .writes = 1)
	SHAPE(preadv2, .fd = 1, .offset = 4)
	SHAPE(pwritev2, .fd = 1, .offset = 4, .writes = 1)
	SHAPE(sendfile, .fd = 2, .bytes = 4, .offset = SHAPE_F_POS, .sends = 1, .writes = 1)
	SHAPE(splice, .fd = 1, .bytes = 5, .offset = SHAPE_F_POS, .sends = 1, .writes = 1)
	SHAPE(copy_file_range, .fd = 1, .bytes = 5, .offset = SHAPE_F_POS, .writes = 1)
	SHAPE(readahead, .fd = 1, .bytes = 3, .offset = 2)
	SHAPE(fadvise64, .fd = 1, .bytes = 3, .offset = 2)
	SHAPE(fsync, .fd = 1)
	SHAPE(fdatasync, .fd = 1)
	SHAPE(syncfs, .fd = 1)
	SHAPE(sync_file_range, .fd = 1, .bytes = 3, .offset = 2)
	SHAPE(fallocate, .fd = 1, .bytes = 4, .offset = 3)
	SHAPE(ftruncate, .fd = 1)
	SHAPE(fstat, .fd = 1)
	SHAPE(getdents64, .fd = 1)
	SHAPE(flock, .fd = 1)
	SHAPE(fcntl, .fd = 1)
	SHAPE(ioctl, .fd = 1)
	SHAPE(close, .fd = 1)
	SHAPE(sendto, .fd = 1, .bytes = 3, .sends = 1)
	SHAPE(recvfrom, .fd = 1, .bytes = 3)
	SHAPE(sendmsg, .fd = 1, .sends = 1)
	SHAPE(recvmsg, .fd = 1)
	SHAPE(sendmmsg, .fd = 1, .sends = 1)
	SHAPE(recvmmsg, .fd = 1, .limit = 5)
	SHAPE(connect, .fd = 1)
	SHAPE(accept, .fd = 1)
	SHAPE(accept4, .fd = 1)
	SHAPE(nanosleep, .limit = SHAPE_ALWAYS)
	SHAPE(clock_nanosleep, .limit = SHAPE_ALWAYS)
	SHAPE(futex, .limit = 4)
	SHAPE(ppoll, .fd = SHAPE_POLL, .limit = 3)
	SHAPE(pselect6, .limit = 5)
	SHAPE(epoll_pwait, .fd = 1, .limit = 4, .limit_ms = 1)
	SHAPE(rt_sigtimedwait, .limit = 3)
	SHAPE(semtimedop, .limit = 4)
	SHAPE(mq_timedreceive, .limit = 5)
	SHAPE(io_getevents, .limit = 5)
#ifdef SYS_poll
	SHAPE(poll, .fd = SHAPE_POLL, .limit = 3, .limit_ms = 1)
	SHAPE(select, .limit = 5)
	SHAPE(epoll_wait, .fd = 1, .limit = 4, .limit_ms = 1)
#endif
#ifdef SYS_futex_waitv
	SHAPE(futex_waitv, .limit = 4)
#endif
#undef SHAPE
}
