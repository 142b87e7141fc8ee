/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_memory.c: the weights are saved to $LAB_SAVE, and it waits until they are on the disk; or the program needs more memory than its
 * group may have ($LAB_TOUCH bytes, the limit is lab.py's), and part of it is in the swap. */
#include "lab.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WEIGHTS (8L << 20) /* at most */
#define PAGE 4096L

static char *weights, *memory;
static long touched;

static void open_checkpoint(void)
{
	REQUIRE(getenv("LAB_SAVE"));
	REQUIRE((weights = malloc(WEIGHTS)));
	memset(weights, 1, WEIGHTS);
}

/* The copy is the device's own work, and no idle time. */
static void act_checkpoint(long step)
{
	size_t size = device_read(weights, (size_t)(lab_bytes(step) < WEIGHTS ? lab_bytes(step) : WEIGHTS));
	struct span s = span_begin("checkpoint", "main", step);
	int fd;

	s.path = getenv("LAB_SAVE");
	s.bytes = (long)size;
	REQUIRE((fd = open(s.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) >= 0);
	REQUIRE(write(fd, weights, size) == (ssize_t)size);
	REQUIRE(fsync(fd) == 0);
	close(fd);
	span_end(&s);
}

static void open_memory(void)
{
	REQUIRE(getenv("LAB_TOUCH"));
	touched = atol(getenv("LAB_TOUCH"));
	memory = mmap(NULL, (size_t)touched, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	madvise(memory, (size_t)touched, MADV_NOHUGEPAGE);
	for (long at = 0; at < touched; at += PAGE)
		memory[at] = (char)(at >> 12) + 1;
}

static void act_memory(long step)
{
	struct span s = span_begin("memory-stall", "main", step);

	for (long at = 0, all = lab_bytes(step); at < all; at += PAGE)
		memory[(lab_offset(step) + at) % touched]++;
	span_end(&s);
}

const struct fault fault_checkpoint = { "checkpoint", open_checkpoint, NULL, act_checkpoint, NULL };
const struct fault fault_memory = { "memory", open_memory, NULL, act_memory, NULL };
