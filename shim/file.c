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

uint8_t *file_head(void)
{
	return file.head;
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

bool file_may_grow_to(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

static bool map_head(int fd)
{
	struct stat st;
	void *p;

	errno = EFBIG;
	if (!file_may_grow_to(GST_SEGMENTS_OFFSET))
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

int file_open_again(int *out)
{
	int fd = open(file.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) != 0 || st.st_dev != file.dev || st.st_ino != file.ino) {
		close(fd);
		return ENOENT;
	}
	*out = fd;
	return 0;
}
