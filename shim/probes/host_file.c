/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "../elsewhere.h"
#include "../file_system.h"
#include "../layout.h"
#include "../local_dir.h"
#include "../process_info.h"
#include "../run_dir.h"
#include "host_names.h"
#include "host_segments.h"

#define NAME_MAX_BYTES 4096u
#define LIMIT_LEAST (GST_SEGMENTS_OFFSET + 4 * GST_SEGMENT_BYTES) /* as the recorder's */

#if defined(__x86_64__)
#define MACHINE GST_MACHINE_X86_64
#elif defined(__aarch64__)
#define MACHINE GST_MACHINE_AARCH64
#endif

struct host_file {
	uint8_t *head;
	struct host_segments segments;
	struct host_names *names;
	char path[PATH_MAX + 256];
	char run_dir[PATH_MAX];
	bool staged, noted; /* it is in a local directory until it ends; the run directory says where */
	struct elsewhere elsewhere;
};

static struct gst_counters *counters(const struct host_file *f)
{
	return (struct gst_counters *)(void *)(f->head + GST_COUNTERS_OFFSET);
}

const char *host_file_path(const struct host_file *f)
{
	return f->path;
}

/* ---- making it ------------------------------------------------------------------------------------------------------- */

static void fill_header(struct host_file *f, pid_t root, uint64_t limit)
{
	struct gst_file_header *h = (struct gst_file_header *)(void *)f->head;
	const char *run = getenv("GPUSHIM_RUN");

	memcpy(h->magic, GST_MAGIC, sizeof(h->magic));
	h->version = GST_VERSION;
	h->segment_bytes = GST_SEGMENT_BYTES;
	h->segment_capacity = GST_SEGMENT_CAPACITY;
	h->clock = GST_CLOCK_MONOTONIC;
	h->machine = MACHINE;
	h->kind = GST_FILE_HOST;
	h->start_ticks = h->start_mono_ns = host_now_ns();
	process_info_fill(h, root);
	if (run)
		strncpy(h->run_id, run, sizeof(h->run_id) - 1);
	counters(f)->limit_bytes = limit;
	counters(f)->last_ticks = h->start_ticks;
	h->check = gst_hash32(h, GST_HEADER_BYTES, offsetof(struct gst_file_header, check));
}

void host_file_program(struct host_file *f, const char *exe, const char *cmdline)
{
	struct gst_file_header h = *(const struct gst_file_header *)(const void *)f->head;

	memset(h.exe, 0, sizeof(h.exe));
	memset(h.cmdline, 0, sizeof(h.cmdline));
	snprintf(h.exe, sizeof(h.exe), "%s", exe);
	snprintf(h.cmdline, sizeof(h.cmdline), "%s", cmdline);
	h.check = gst_hash32(&h, GST_HEADER_BYTES, offsetof(struct gst_file_header, check));
	/* By one call of the kernel's, which is within a page: not even SIGKILL leaves half of it. Who reads half of it reads it again. */
	if (memcmp(f->head, &h, sizeof(h)) != 0 && pwrite(f->segments.fd, &h, sizeof(h), 0) < 0)
		return; /* it says what the process was */
}

/* 0, or an errno. */
static int map_head(struct host_file *f, int fd)
{
	void *p;
	int rc;

	if (!layout_may_grow_to(GST_SEGMENTS_OFFSET))
		return EFBIG;
	/* Allocated, not sparse: a store into a hole of a full disk is a SIGBUS. */
	do
		rc = posix_fallocate(fd, 0, GST_SEGMENTS_OFFSET);
	while (rc == EINTR);
	if (rc)
		return rc;
	p = mmap(NULL, GST_SEGMENTS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return errno;
	f->head = p;
	return 0;
}

static uint32_t segments_within(uint64_t limit)
{
	uint64_t n = (limit - GST_SEGMENTS_OFFSET) / GST_SEGMENT_BYTES;

	return n < GST_SEGMENT_CAPACITY ? (uint32_t)n : GST_SEGMENT_CAPACITY;
}

static int begin(struct host_file *f, int fd, pid_t root, uint64_t limit)
{
	int rc = map_head(f, fd);

	if (rc)
		return rc;
	f->names = host_names_new();
	if (!f->names)
		return ENOMEM;
	limit = limit > LIMIT_LEAST ? limit : LIMIT_LEAST;
	fill_header(f, root, limit);
	f->segments.fd = fd;
	f->segments.head = f->head;
	f->segments.limit = segments_within(limit);
	f->segments.names = f->names;
	return host_segments_start(&f->segments);
}

/* A whole file in `dir`, which is at `folder`. 0, or an errno. */
static int create_in(struct host_file *f, int dir, const char *folder, pid_t root, uint64_t limit)
{
	char temporary[64], name[128];
	int fd, rc;

	snprintf(temporary, sizeof(temporary), ".%d-%llx.tmp", (int)getpid(), (unsigned long long)host_now_ns());
	fd = run_dir_create(dir, temporary);
	if (fd < 0)
		return errno;
	f->segments.fd = fd;
	rc = begin(f, fd, root, limit);
	if (!rc && !run_dir_publish(dir, temporary, (uint32_t)root, ".host.gst", name, sizeof(name)))
		rc = errno;
	if (rc)
		unlinkat(dir, temporary, 0);
	else
		snprintf(f->path, sizeof(f->path), "%s/%s", folder, name);
	return rc;
}

/* 0, or an errno. */
static int make_absolute(char out[PATH_MAX], const char *dir)
{
	char here[PATH_MAX] = "";

	if (*dir != '/' && !getcwd(here, sizeof(here)))
		return errno;
	return snprintf(out, PATH_MAX, "%s%s%s", here, *here ? "/" : "", dir) < PATH_MAX ? 0 : ENAMETOOLONG;
}

static void discard(struct host_file *f)
{
	host_segments_end(&f->segments);
	host_names_free(f->names);
	if (f->head)
		munmap(f->head, GST_SEGMENTS_OFFSET);
	if (f->segments.fd >= 0)
		close(f->segments.fd);
	free(f);
}

/* A page fault in a file of a network file system may wait for a server for ever, and ends us where that is gone. The server is asked only
 * where the list of mounts does not say. */
static bool wants_local(const char *run_dir, int *at)
{
	const char *local = getenv("GPUSHIM_LOCAL");
	struct statfs fs;

	if ((local && *local) || file_system_stalls_at("/proc/self/mountinfo", run_dir))
		return true;
	*at = run_dir_open(run_dir);
	if (*at < 0 || fstatfs(*at, &fs) != 0 || !file_system_stalls((uint64_t)fs.f_type))
		return false;
	close(*at);
	return true;
}

/* -1: errno. */
static int open_folder(struct host_file *f, char *folder, size_t size, uint64_t *limit)
{
	const char *const places[] = { getenv("GPUSHIM_LOCAL"), getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };
	uint64_t bytes;
	int at = -1;

	f->staged = wants_local(f->run_dir, &at);
	if (!f->staged) {
		snprintf(folder, size, "%s", f->run_dir);
		return at;
	}
	at = local_dir_open(places, sizeof(places) / sizeof(places[0]), folder, size, &bytes);
	if (at >= 0 && *limit > bytes)
		*limit = bytes;
	return at;
}

static void note_elsewhere(struct host_file *f)
{
	const struct gst_file_header *h = (const struct gst_file_header *)(const void *)f->head;
	struct stat st;

	f->elsewhere = (struct elsewhere){ .end = ".host.gst",
					   .pid = h->pid,
					   .start_ticks = h->start_ticks,
					   .begin_real_ns = h->start_real_ns,
					   .run_id = h->run_id };
	if (fstat(f->segments.fd, &st) == 0)
		f->elsewhere.inode = st.st_ino;
	snprintf(f->elsewhere.local, sizeof(f->elsewhere.local), "%s", f->path);
}

int host_file_create(struct host_file **out, const char *dir, pid_t root, uint64_t limit)
{
	struct host_file *f = calloc(1, sizeof(*f));
	char folder[PATH_MAX + 64];
	int at, rc;

	if (!f)
		return ENOMEM;
	f->segments.fd = -1;
	rc = make_absolute(f->run_dir, dir);
	at = rc ? -1 : open_folder(f, folder, sizeof(folder), &limit);
	if (!rc)
		rc = at < 0 ? errno : create_in(f, at, folder, root, limit);
	if (at >= 0)
		close(at);
	if (!rc && f->staged)
		note_elsewhere(f);
	if (rc)
		discard(f);
	else
		*out = f;
	return rc;
}

/* ---- records --------------------------------------------------------------------------------------------------------- */

static void count_dropped(struct host_file *f, uint64_t *reason, uint64_t records)
{
	struct gst_counters *c = counters(f);
	uint64_t now = host_now_ns();

	if (!records)
		return;
	if (!c->drop_first_ticks)
		c->drop_first_ticks = now;
	c->drop_last_ticks = now;
	*reason += records;
	c->records_dropped += records;
}

void host_file_count_dropped(struct host_file *f, uint64_t records)
{
	count_dropped(f, &counters(f)->dropped_busy, records);
}

/* No segment was to be had. */
static void dropped(struct host_file *f, int rc)
{
	struct gst_counters *c = counters(f);

	if (rc != EFBIG || !c->drop_errno)
		c->drop_errno = (uint64_t)rc;
	count_dropped(f, rc == EFBIG ? &c->dropped_limit : &c->dropped_disk, 1);
}

void *host_file_reserve(struct host_file *f, uint16_t type, uint16_t size)
{
	struct host_piece *now = &f->segments.now;
	int rc;

	if (!now->base || now->at + size > GST_SEGMENT_BYTES) {
		rc = host_segments_next(&f->segments);
		if (rc) {
			dropped(f, rc);
			return NULL;
		}
	}
	return host_piece_reserve(now, type, size);
}

void host_file_commit(void *record)
{
	__atomic_store_n(&((struct gst_record *)record)->commit, GST_COMMIT, __ATOMIC_RELEASE);
}

bool host_file_append(struct host_file *f, uint16_t type, uint16_t size, const void *record)
{
	struct gst_record *r = host_file_reserve(f, type, size);

	if (!r)
		return false;
	memcpy(r + 1, (const struct gst_record *)record + 1, size - sizeof(*r));
	host_file_commit(r);
	return true;
}

uint32_t host_file_name(struct host_file *f, const char *text)
{
	uint32_t length = (uint32_t)strnlen(text, NAME_MAX_BYTES);
	uint64_t seq = f->segments.next ? f->segments.next - 1 : 0;
	uint32_t id = host_names_find(f->names, text, length, seq);
	struct gst_name *r;

	if (id || !length)
		return id;
	id = host_names_add(f->names, text, length, seq);
	if (!id)
		return 0;
	r = host_file_reserve(f, GST_NAME, (uint16_t)((sizeof(*r) + length + 7) & ~7u));
	if (!r) {
		host_names_forget(f->names, id, text, length);
		return 0;
	}
	r->id = id;
	r->space = GST_SPACE_FILE;
	r->length = (uint16_t)length;
	memcpy(r->text, text, length);
	host_file_commit(r);
	return id;
}

/* ---- life ------------------------------------------------------------------------------------------------------------ */

void host_file_beat(struct host_file *f)
{
	struct gst_counters *c = counters(f);
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	__atomic_store_n(&c->own_cpu_ns, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, __ATOMIC_RELAXED);
	__atomic_store_n(&c->last_ticks, host_now_ns(), __ATOMIC_RELAXED);
	/* Not before the program was let go: the server may not answer. */
	if (f->staged && !f->noted) {
		f->noted = true;
		elsewhere_leave_note(&f->elsewhere, f->run_dir);
	}
}

int host_file_end(struct host_file *f)
{
	char name[128];
	int rc;

	host_file_beat(f);
	__atomic_store_n(&counters(f)->exited, 1, __ATOMIC_RELEASE);
	rc = f->staged ? elsewhere_move(&f->elsewhere, f->run_dir, name) : 0;
	if (f->staged && !rc)
		snprintf(f->path, sizeof(f->path), "%s/%s", f->run_dir, name);
	f->staged = false;
	return rc;
}

void host_file_finish(struct host_file *f)
{
	if (!counters(f)->exited)
		host_file_end(f);
	discard(f);
}

const struct gst_counters *host_file_counters(const struct host_file *f)
{
	return counters(f);
}

void host_file_discard(struct host_file *f)
{
	struct stat mine, there;

	/* In its place may be another's by now. */
	if (fstat(f->segments.fd, &mine) == 0 && lstat(f->path, &there) == 0 && mine.st_dev == there.st_dev &&
	    mine.st_ino == there.st_ino)
		unlink(f->path);
	discard(f);
}
