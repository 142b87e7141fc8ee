/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_file.c: the next batch is read by the submitting thread, lab_bytes() of $LAB_FILE at a time: by read, through a mapping, past the
 * page cache. $LAB_CAUSE says what it is where that is not a disk. Cold: dropped from the page cache while the device is busy. */
#include "lab.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096L

static const char *path, *cause;
static int fd;
static char *buffer, *mapped;

static void open_file(int flags)
{
	path = getenv("LAB_FILE");
	cause = getenv("LAB_CAUSE") ? getenv("LAB_CAUSE") : "input-storage";
	REQUIRE(path);
	REQUIRE((fd = open(path, O_RDONLY | O_CLOEXEC | flags)) >= 0);
	REQUIRE(lseek(fd, 0, SEEK_END) >= lab_all_bytes());
	REQUIRE(posix_memalign((void **)&buffer, PAGE, (size_t)lab_all_bytes()) == 0);
	memset(buffer, 1, (size_t)lab_all_bytes()); /* no fault of its own later on */
}

static struct span begin(long step)
{
	struct span s = span_begin(cause, "main", step);

	s.path = path;
	s.offset = lab_offset(step);
	s.bytes = lab_bytes(step);
	return s;
}

/* Also what was read ahead of the batch. */
static void drop(long step)
{
	(void)step;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* As loaders do: a part at a time. */
static void read_batch(long step)
{
	for (long done = 0, all = lab_bytes(step); done < all;) {
		ssize_t n = pread(fd, buffer + done, (size_t)(all - done), lab_offset(step) + done);

		REQUIRE(n > 0);
		done += n;
	}
}

static void act_read(long step)
{
	struct span s = begin(step);

	read_batch(step);
	span_end(&s);
}

static void open_read(void)
{
	open_file(0);
}

static void open_direct(void)
{
	open_file(O_DIRECT);
}

static void open_mapped(void)
{
	open_file(0);
	mapped = mmap(NULL, (size_t)lab_all_bytes(), PROT_READ, MAP_SHARED, fd, 0);
	REQUIRE(mapped != MAP_FAILED);
}

/* A mapped page is not dropped. */
static void drop_mapped(long step)
{
	madvise(mapped, (size_t)lab_all_bytes(), MADV_DONTNEED);
	drop(step);
}

static void act_mapped(long step)
{
	struct span s = begin(step);
	volatile char sum = 0;

	for (long at = 0, all = lab_bytes(step); at < all; at += PAGE)
		sum += mapped[lab_offset(step) + at];
	span_end(&s);
}

/* Everything warm: all is in the page cache, nothing is waited for; computing makes a gap of it. */
static void open_warm(void)
{
	open_file(0);
	for (long step = 0, steps = lab_param("LAB_STEPS", 1); step < steps; step++)
		read_batch(step);
}

static void act_warm(long step)
{
	struct span s = begin(step);

	s.cause = "host-compute";
	read_batch(step);
	compute_cpu(lab_length(step) / 4);
	span_end(&s);
}

const struct fault fault_read = { "read", open_read, drop, act_read, NULL };
const struct fault fault_direct = { "direct", open_direct, NULL, act_read, NULL };
const struct fault fault_mmap = { "mmap", open_mapped, drop_mapped, act_mapped, NULL };
const struct fault fault_warm = { "warm", open_warm, NULL, act_warm, NULL };
