/* SPDX-License-Identifier: BSD-2-Clause */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "process_info.h"
#include "ring.h"
#include "settings.h"

#define NAMES_TRIED 10000

static struct {
	uint8_t *head; /* header, counters, directory: one shared mapping */
	char path[PATH_MAX + 128];
	dev_t dev;
	ino_t ino;
	uint32_t next_segment;
	uint32_t stopped; /* no more segments */
} file;

static struct gst_counters no_counters;

bool file_is_open(void)
{
	return file.head != NULL;
}

struct gst_counters *file_counters(void)
{
	return file.head ? (struct gst_counters *)(file.head + GST_COUNTERS_OFFSET) : &no_counters;
}

void file_count_dropped(uint64_t records)
{
	__atomic_fetch_add(&file_counters()->records_dropped, records, __ATOMIC_RELAXED);
}

void file_forget(void)
{
	if (file.head)
		munmap(file.head, GST_SEGMENTS_OFFSET);
	memset(&file, 0, sizeof(file));
}

/* mkdir -p; the run directory may be several levels down. */
static bool make_directories(const char *path)
{
	char part[PATH_MAX];

	snprintf(part, sizeof(part), "%s", path);
	for (char *p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		if (mkdir(part, 0777) != 0 && errno != EEXIST)
			return false;
		*p = '/';
	}
	return mkdir(part, 0777) == 0 || errno == EEXIST;
}

static void fill_header(struct gst_file_header *h)
{
	memcpy(h->magic, GST_MAGIC, sizeof(h->magic));
	h->version = GST_VERSION;
	h->segment_bytes = GST_SEGMENT_BYTES;
	h->segment_capacity = GST_SEGMENT_CAPACITY;
	h->clock = clock_kind;
	h->device_level = settings.level;
	h->call_cost_ps = ring_calibrate_ps();
	process_info_fill(h);
	h->check = gst_hash32(h, GST_HEADER_BYTES, offsetof(struct gst_file_header, check));
}

/* Gives the finished temporary file its name, without ever replacing another: -2, -3 … where it is taken. */
static bool publish(const char *temporary, const char *host, uint32_t pid)
{
	for (unsigned n = 1; n < NAMES_TRIED; n++) {
		char suffix[16] = "";

		if (n > 1)
			snprintf(suffix, sizeof(suffix), "-%u", n);
		snprintf(file.path, sizeof(file.path), "%s/%s-%u%s.gst", settings.out, host, pid, suffix);
		if (syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, file.path, 1u /* RENAME_NOREPLACE */) == 0)
			return true;
		if (errno == EINVAL ||
		    errno == ENOSYS) { /* a file system without it: a hard link never replaces either */
			if (link(temporary, file.path) == 0) {
				unlink(temporary);
				return true;
			}
		}
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/* Growing a file beyond RLIMIT_FSIZE is a SIGXFSZ, which kills the program. */
static bool may_grow_to(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

static bool map_head(int fd)
{
	struct stat st;
	void *p;

	errno = EFBIG;
	if (!may_grow_to(GST_SEGMENTS_OFFSET))
		return false;
	/* Allocated, not sparse: a store into a hole of a full disk is a SIGBUS in the program. */
	do
		errno = posix_fallocate(fd, 0, GST_SEGMENTS_OFFSET);
	while (errno == EINTR);
	if (errno || fstat(fd, &st) != 0)
		return false;
	p = mmap(NULL, GST_SEGMENTS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return false;
	file.head = p;
	file.dev = st.st_dev;
	file.ino = st.st_ino;
	return true;
}

bool file_create(void)
{
	char temporary[PATH_MAX + 128];
	struct gst_file_header *h;
	char host[64];
	uint32_t pid = (uint32_t)getpid();
	bool ok;
	int fd;

	process_info_host(host, sizeof(host));
	snprintf(temporary, sizeof(temporary), "%s/.%s-%u-%llx.tmp", settings.out, host, pid,
		 (unsigned long long)clock_mono_ns());
	if (!make_directories(settings.out) ||
	    (fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0) {
		settings_log("not recording: %s: %s", settings.out, strerror(errno));
		return false;
	}
	ok = map_head(fd);
	close(fd);
	if (ok) {
		h = (struct gst_file_header *)file.head;
		fill_header(h);
		ok = publish(temporary, host, pid);
	}
	if (!ok) {
		settings_log("not recording: %s: %s", temporary, strerror(errno));
		unlink(temporary);
		file_forget();
	}
	return ok;
}

/* ---- segments ------------------------------------------------------------------------------------------------------- */

/* 0, or an errno of what is in the way. */
static int allocate_segment(struct file_segment *s)
{
	off_t offset = (off_t)(GST_SEGMENTS_OFFSET + (uint64_t)s->index * GST_SEGMENT_BYTES);
	int fd = open(file.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	void *p;
	int rc = ENOENT;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) == 0 && st.st_dev == file.dev && st.st_ino == file.ino) {
		do
			rc = posix_fallocate(fd, offset, GST_SEGMENT_BYTES);
		while (rc == EINTR);
	}
	if (rc == 0) {
		p = mmap(NULL, GST_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
		if (p == MAP_FAILED)
			rc = errno;
		else
			s->base = p;
	}
	close(fd);
	return rc;
}

static bool within_limit(uint32_t index)
{
	uint64_t end = GST_SEGMENTS_OFFSET + (index + 1ull) * GST_SEGMENT_BYTES;

	return index < GST_SEGMENT_CAPACITY && end <= settings.limit_bytes && may_grow_to(end);
}

bool file_is_full(void)
{
	return __atomic_load_n(&file.stopped, __ATOMIC_RELAXED);
}

/* 0, or an errno. */
static int claim(struct file_segment *out)
{
	struct file_segment s = { .begin_ticks = clock_ticks() };
	int saved_errno = errno, rc;
	uint32_t next;

	if (!file.head || file_is_full())
		return ENOSPC;
	s.index = __atomic_fetch_add(&file.next_segment, 1, __ATOMIC_SEQ_CST);
	rc = within_limit(s.index) ? allocate_segment(&s) : EFBIG;
	if (rc) { /* its place is given back, unless others were claimed behind it: who tries often uses none up */
		next = s.index + 1;
		__atomic_compare_exchange_n(&file.next_segment, &next, s.index, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
	}
	errno = saved_errno;
	*out = s;
	return rc;
}

bool file_segment_try(struct file_segment *out)
{
	return claim(out) == 0;
}

bool file_segment_claim(struct file_segment *out)
{
	int rc = claim(out);

	/* Out of descriptors is the program's moment, not ours: the next segment may be had again. */
	if (rc && rc != EMFILE && rc != ENFILE && file.head && !__atomic_exchange_n(&file.stopped, 1, __ATOMIC_RELAXED))
		settings_log("recording stops: %s", rc == EFBIG ? "the limit is reached" : strerror(rc));
	return rc == 0;
}

void file_segment_sign(const struct file_segment *s, uint32_t previous, uint32_t thread_seq)
{
	struct gst_segment_header h = {
		.magic = GST_SEGMENT_MAGIC,
		.index = s->index,
		.tid = (uint32_t)syscall(SYS_gettid),
		.begin_ticks = s->begin_ticks,
		.thread_seq = thread_seq,
		.previous = previous,
	};

	prctl(PR_GET_NAME, h.thread_name);
	h.check = gst_hash32(&h, sizeof(h), offsetof(struct gst_segment_header, check));
	memcpy(s->base, &h, sizeof(h));
	__atomic_store_n((uint32_t *)(file.head + GST_DIRECTORY_OFFSET) + s->index, gst_directory_check(s->index),
			 __ATOMIC_RELEASE);
}

void file_segment_release(uint8_t *base)
{
	munmap(base, GST_SEGMENT_BYTES);
}
