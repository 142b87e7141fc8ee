/* SPDX-License-Identifier: BSD-2-Clause */
#include "sample_file.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "file_mount.h"
#include "peek.h"
#include "task_file.h"

#define MOUNTS 64
#define LONG_WAIT_S 1000000     /* as good as never */
#define STALE_NS 10000000000ull /* a number may be another mount's by then */

/* The thread's that looks: it is there as long as the process is; the main thread may have ended. */
static const char *mountinfo = "/proc/thread-self/mountinfo";

/* ---- its descriptor ------------------------------------------------------------------------------------------------------ */

bool sample_file_is_read(long nr)
{
	switch (nr) {
	case SYS_read:
	case SYS_pread64:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
		return true;
	}
	return false;
}

bool sample_file_is_poll(long nr)
{
#ifdef SYS_poll
	if (nr == SYS_poll)
		return true;
#endif
	return nr == SYS_ppoll;
}

/* A time in our own memory, which may vanish while we look. */
static uint64_t time_at(uint64_t pointer)
{
	struct timespec t;

	if (!pointer || !peek(&t, (const void *)(uintptr_t)pointer, sizeof(t)) || t.tv_sec < 0 ||
	    t.tv_sec > LONG_WAIT_S)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t sample_file_poll_ns(long nr, uint64_t wait)
{
	if (nr == SYS_ppoll)
		return time_at(wait);
	return (int32_t)wait < 0 ? 0 : (uint64_t)(uint32_t)wait * 1000000u;
}

static bool is_write(long nr)
{
	switch (nr) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_ftruncate:
	case SYS_fallocate:
	case SYS_sync_file_range:
		return true;
	}
	return false;
}

/* The first descriptor of a poll: the array is in our own memory, but may vanish while we look. */
static long first_polled(uint64_t array)
{
	struct pollfd first;

	return peek(&first, (const void *)(uintptr_t)array, sizeof(first)) ? first.fd : -1;
}

static long descriptor_of(const struct gst_sample *s)
{
	if (sample_file_is_read(s->syscall) || is_write(s->syscall) || s->syscall == SYS_flock ||
	    s->syscall == SYS_copy_file_range)
		return (long)s->arg;
	return sample_file_is_poll(s->syscall) ? first_polled(s->arg) : -1;
}

/* ---- on what it lies ----------------------------------------------------------------------------------------------------- */

/* Its mount's number; where the kernel does not tell, what stands for the directory: then it is found by the path. */
static uint64_t mount_id(uint32_t tid, long fd)
{
	char name[32], text[256], *at;

	snprintf(name, sizeof(name), "fdinfo/%ld", fd);
	task_file_read(text, sizeof(text), tid, name);
	at = strstr(text, "mnt_id:");
	return at ? strtoull(at + strlen("mnt_id:"), NULL, 10) : 0;
}

/* The list of mounts may be long, and files are asked about again and again. */
static struct file_mount mount_of(uint32_t tid, long fd, const char *path, uint64_t now)
{
	static struct known {
		uint64_t key, until;
		struct file_mount is;
	} known[MOUNTS];
	uint64_t id = mount_id(tid, fd);
	const char *name = strrchr(path, '/');
	uint64_t key = id ? id : 1ull << 63 | gst_hash32(path, name ? (size_t)(name - path) : 0, SIZE_MAX - 4);
	struct known *k = &known[key % MOUNTS];

	if (k->key != key || (int64_t)(k->until - now) <= 0)
		*k = (struct known){ key, now + clock_ticks_in(STALE_NS), file_mount_find(mountinfo, id, path) };
	return k->is;
}

/* What has a path need not be a file on a disk: a named pipe, a device, memory. The kernel says what it knows, and asks nobody. */
static enum gst_fd_kind kind_of_path(const char *link, enum file_place place)
{
	struct statx is;

	if (place == FILE_PLACE_NETWORK)
		return GST_FD_NETWORK;
	if (place == FILE_PLACE_UNKNOWN)
		return GST_FD_FILE; /* it may be a server's */
	if (syscall(SYS_statx, AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_TYPE, &is) != 0 || S_ISREG(is.stx_mode))
		return place == FILE_PLACE_MEMORY ? GST_FD_OTHER : GST_FD_FILE;
	return S_ISFIFO(is.stx_mode)   ? GST_FD_PIPE
	       : S_ISSOCK(is.stx_mode) ? GST_FD_SOCKET
	       : S_ISBLK(is.stx_mode)  ? GST_FD_FILE
				       : GST_FD_OTHER;
}

static enum gst_fd_kind kind_of(const char *link, const struct sample_file *f, const struct gst_sample *s, long fd)
{
	struct file_mount mount;

	if (strncmp(f->path, "pipe:", 5) == 0)
		return GST_FD_PIPE;
	if (strncmp(f->path, "socket:", 7) == 0)
		return GST_FD_SOCKET;
	if (f->path[0] != '/' || strncmp(f->path, "/memfd:", 7) == 0)
		return GST_FD_OTHER;
	mount = mount_of(s->tid, fd, f->path, s->ticks);
	return kind_of_path(link, is_write(s->syscall) ? mount.written : mount.read);
}

bool sample_file_of(struct sample_file *f, const struct gst_sample *s)
{
	long fd = descriptor_of(s);
	char link[64];
	ssize_t n;

	if (fd < 0)
		return false;
	/* in that thread's table: ours is another, and it may have one of its own */
	snprintf(link, sizeof(link), "/proc/self/task/%u/fd/%ld", s->tid, fd);
	n = readlink(link, f->path, sizeof(f->path) - 1);
	if (n <= 0)
		return false;
	f->path[n] = 0;
	f->kind = kind_of(link, f, s, fd);
	return true;
}
