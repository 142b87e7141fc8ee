/* SPDX-License-Identifier: BSD-2-Clause */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "clock.h"
#include "cupti.h"
#include "file_system.h"
#include "glibc.h"
#include "layout.h"
#include "process_info.h"
#include "ring.h"
#include "run_dir.h"
#include "settings.h"
#include "staging.h"

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

void file_count_dropped(enum drop why, uint64_t records)
{
	struct gst_counters *c = file_counters();
	uint64_t *reason = why == DROP_LIMIT  ? &c->dropped_limit
			   : why == DROP_DISK ? &c->dropped_disk
					      : &c->dropped_busy;
	uint64_t now = clock_ticks(), none = 0;

	if (!records)
		return;
	__atomic_compare_exchange_n(&c->drop_first_ticks, &none, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	__atomic_store_n(&c->drop_last_ticks, now, __ATOMIC_RELAXED);
	__atomic_fetch_add(reason, records, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->records_dropped, records, __ATOMIC_RELAXED);
}

void file_mark_recycled(void)
{
	layout_mark_recycled(file.head);
}

void file_forget(void)
{
	if (file.head)
		munmap(file.head, GST_SEGMENTS_OFFSET);
	memset(&file, 0, sizeof(file));
	staging_forget();
}

static void fill_header(struct gst_file_header *h)
{
	struct clock_anchor now = clock_anchor_now();

	memcpy(h->magic, GST_MAGIC, sizeof(h->magic));
	h->version = GST_VERSION;
	h->segment_bytes = GST_SEGMENT_BYTES;
	h->segment_capacity = GST_SEGMENT_CAPACITY;
	h->clock = clock_kind;
	h->machine = ARCH_MACHINE;
	h->device_level = cupti_level();
	h->call_cost_ps = ring_calibrate_ps();
	h->start_ticks = now.ticks;
	h->start_mono_ns = now.mono_ns;
	process_info_fill(h, 0);
	memcpy(h->run_id, settings.run_id, sizeof(h->run_id));
	file_counters()->limit_bytes = settings.limit_bytes;
	h->check = gst_hash32(h, GST_HEADER_BYTES, offsetof(struct gst_file_header, check));
}

static bool map_head(int fd)
{
	struct stat st;
	void *p;

	errno = EFBIG;
	if (!layout_may_grow_to(GST_SEGMENTS_OFFSET))
		return false;
	/* Allocated, not sparse: a store into a hole of a full disk is a SIGBUS in the program. */
	do
		errno = posix_fallocate(fd, 0, GST_SEGMENTS_OFFSET);
	while (errno == EINTR);
	if (errno || glibc_fstat(fd, &st) != 0)
		return false;
	p = mmap(NULL, GST_SEGMENTS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return false;
	file.head = p;
	file.dev = st.st_dev;
	file.ino = st.st_ino;
	return true;
}

/* A whole file in `dir`, which is at `folder`. 0, or an errno. */
static int create_in(int dir, const char *folder)
{
	char temporary[64], name[128];
	uint32_t pid = (uint32_t)getpid();
	int fd, rc = ENAMETOOLONG;
	bool ok;

	/* The file's name must fit as well: segments open it by its path. */
	if (strlen(folder) + sizeof(name) > PATH_MAX)
		return rc;
	snprintf(temporary, sizeof(temporary), ".%u-%llx.tmp", pid, (unsigned long long)clock_mono_ns());
	fd = run_dir_create(dir, temporary);
	if (fd < 0)
		return errno;
	ok = map_head(fd);
	if (ok) {
		fill_header((struct gst_file_header *)file.head);
		ok = run_dir_publish(dir, temporary, pid, ".gst", name, sizeof(name));
	}
	rc = ok ? 0 : errno;
	close(fd);
	if (ok) {
		snprintf(file.path, sizeof(file.path), "%s/%s", folder, name);
	} else {
		unlinkat(dir, temporary, 0);
		file_forget();
	}
	return rc;
}

/* -1: errno. *staged: it is not the run directory. */
static int open_folder(char *folder, size_t size, bool *staged)
{
	struct statfs fs;
	int dir = -1;

	*staged = staging_is_wanted();
	if (!*staged) {
		snprintf(folder, size, "%s", settings.out);
		dir = run_dir_open(settings.out);
		if (dir < 0 || fstatfs(dir, &fs) != 0 || !file_system_stalls((uint64_t)fs.f_type))
			return dir;
		close(dir);
		*staged = true;
	}
	return staging_open(folder, size);
}

int file_create(void)
{
	static char folder[PATH_MAX + 64];
	bool staged;
	int dir = open_folder(folder, sizeof(folder), &staged);
	int rc = dir < 0 ? errno : create_in(dir, folder);

	if (dir >= 0)
		close(dir);
	if (rc && dir < 0 && staged)
		settings_log(
			"not recording: %.300s is on a network file system, and there is no local directory with room (GPUSHIM_LOCAL)",
			settings.out);
	else if (rc)
		settings_log("not recording: %.300s: %s", dir < 0 ? settings.out : folder, strerror(rc));
	else if (staged)
		staging_begin(file.path, file.ino, (const struct gst_file_header *)file.head);
	return rc;
}

void file_finish(void)
{
	struct gst_counters *counters = file_counters();

	counters->last_ticks = clock_ticks();
	__atomic_store_n(&counters->exited, 1, __ATOMIC_RELEASE);
	staging_end();
}

int file_open_again(int *out)
{
	/* In its place may be anything by now. */
	int fd = open(file.path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno;
	if (glibc_fstat(fd, &st) != 0 || st.st_dev != file.dev || st.st_ino != file.ino) {
		close(fd);
		return ENOENT;
	}
	*out = fd;
	return 0;
}
