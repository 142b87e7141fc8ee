/* SPDX-License-Identifier: BSD-2-Clause */
#include "life.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/text.h"

/* The recorder's helper leaves a sign of life at least every 20 ms, if it gets a CPU. */
#define FRESH_NS 1000000000 /* an older one is not about to be followed by another */
#define LOOK_NS 5000000
#define LOOKS 20

/* Wall clock minus CLOCK_MONOTONIC is the same for all of one boot, but for steps of the wall clock, which are of 128 ms and more. */
#define SAME_BOOT_NS 50000000
#define START_STEP_NS 10000000 /* as the kernel counts a process's start */

static int64_t clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t life_now_ns(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

/* Containers have host names of their own but their machine's clocks; a machine whose wall clock was set keeps its name. */
static bool same_machine(const struct gst_file_header *h)
{
	int64_t then = (int64_t)(h->start_real_ns - h->start_mono_ns);
	int64_t off = clock_now(CLOCK_REALTIME) - clock_now(CLOCK_MONOTONIC) - then;
	char name[sizeof(h->host)] = "";

	gethostname(name, sizeof(name) - 1);
	return strcmp(name, h->host) == 0 || (off < SAME_BOOT_NS && off > -SAME_BOOT_NS);
}

static bool counters_of(const char *path, struct gst_counters *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = -1;

	if (fd >= 0) {
		got = pread(fd, out, sizeof(*out), GST_COUNTERS_OFFSET);
		close(fd);
	}
	return got == (ssize_t)sizeof(*out);
}

/* The process wrote to the file after it was read. */
static bool went_on(const char *path, const struct gst_counters *seen)
{
	struct gst_counters now;

	return counters_of(path, &now) && (now.exited || now.last_ticks != seen->last_ticks);
}

/* Does a line of /proc/PID/maps, "begin-end rw-s offset major:minor inode path", name the file? Devices are not compared: overlay
 * and btrfs show others there than stat does. */
static bool maps_line_names(const char *line, ino_t inode, const char *base)
{
	unsigned long long ino;
	int at = 0;
	const char *path;

	if (sscanf(line, "%*s %*s %*s %*s %llu %n", &ino, &at) != 1 || ino != inode || !at)
		return false;
	path = text_base(line + at);
	return strncmp(path, base, strlen(base)) == 0 && path[strlen(base)] == '\n';
}

/* 1: the process has the file mapped, so it is its writer. 0: it has not, or there is none. -1: not ours to see. */
static int maps_file(uint32_t pid, const char *path)
{
	const char *base = text_base(path);
	char name[64], *line = NULL;
	struct stat st;
	size_t room = 0;
	bool found = false, any = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/maps", pid);
	if (stat(path, &st) != 0)
		return -1;
	f = fopen(name, "re");
	if (!f)
		return access(name, F_OK) == 0 ? -1 : 0;
	while (!found && getline(&line, &room, f) > 0) {
		any = true;
		found = maps_line_names(line, st.st_ino, base);
	}
	free(line);
	fclose(f);
	return found ? 1 : any ? 0 : -1;
}

/* Of a process that is not ours: does it live, and is it as old as the file says? Field 22 of its stat, in ticks since boot. */
static bool lives_since(uint32_t pid, uint64_t start_mono_ns)
{
	char name[64], text[1024];
	unsigned long long ticks = 0;
	char state = 0;
	int64_t start, asleep = clock_now(CLOCK_BOOTTIME) - clock_now(CLOCK_MONOTONIC); /* while suspended */
	const char *p;
	size_t n;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/stat", pid);
	f = fopen(name, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	p = strrchr(text, ')'); /* the command's name may hold anything */
	if (!p || sscanf(p + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			 &state, &ticks) != 2)
		return false;
	if (state == 'Z' || state == 'X') /* dead; nobody has asked for its status yet */
		return false;
	start = (int64_t)(ticks * (uint64_t)(1000000000 / sysconf(_SC_CLK_TCK)) - (uint64_t)asleep - start_mono_ns);
	return start < 2 * START_STEP_NS && start > -2 * START_STEP_NS;
}

enum life life_of(const char *path, const struct gst_file_header *h, const struct gst_counters *seen, int64_t last_ns)
{
	int64_t age = life_now_ns() - last_ns;
	int maps;

	if (seen->exited)
		return LIFE_ENDED;
	if (went_on(path, seen))
		return LIFE_RUNNING;
	if (!same_machine(h))
		return LIFE_UNKNOWN;
	/* of a file of host probes nobody knows the writer: it must give its sign of life while it is waited for */
	maps = h->kind == GST_FILE_HOST ? 0 : maps_file(h->pid, path);
	if (maps > 0 || (maps < 0 && lives_since(h->pid, h->process_start_mono_ns)))
		return LIFE_RUNNING;
	/* Its number may be another one here: it may live in a PID namespace of its own. */
	for (int i = 0; i < LOOKS && age >= 0 && age < FRESH_NS; i++) {
		struct timespec pause = { 0, LOOK_NS };

		nanosleep(&pause, NULL);
		if (went_on(path, seen))
			return LIFE_RUNNING;
	}
	return LIFE_CUT;
}
