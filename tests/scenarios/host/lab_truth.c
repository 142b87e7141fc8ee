/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_truth.c: what a thread did, written down by itself. */
#include "lab.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KEPT (4u << 20)

static int truth_fd = -1;
static char *kept; /* NULL: written at once */
static size_t kept_bytes;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *cpu_stat; /* of the control group whose quota is the fault */

long lab_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

void truth_open(void)
{
	const char *path = getenv("LAB_TRUTH");

	cpu_stat = getenv("LAB_CPU_STAT");
	if (path)
		truth_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static void write_whole(const char *text, size_t n)
{
	if (truth_fd >= 0)
		REQUIRE(write(truth_fd, text, n) == (ssize_t)n); /* one write: whole lines, whoever else writes */
}

void truth_write(void)
{
	write_whole(kept, kept_bytes);
	kept_bytes = 0;
}

void truth_child(void)
{
	kept_bytes = 0;
}

void truth_keep(void)
{
	REQUIRE((kept = malloc(KEPT)));
	memset(kept, 1, KEPT); /* no fault later on */
	REQUIRE(atexit(truth_write) == 0);
}

static void write_line(const char *line, size_t n)
{
	if (!kept) {
		write_whole(line, n);
		return;
	}
	pthread_mutex_lock(&kept_lock);
	if (kept_bytes + n > KEPT)
		truth_write();
	memcpy(kept + kept_bytes, line, n);
	kept_bytes += n;
	pthread_mutex_unlock(&kept_lock);
}

/* Small files of the kernel's: they are never on a disk. */
static void read_all(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static void schedstat(long *cpu, long *queued)
{
	char text[128];

	*cpu = *queued = 0;
	read_all("/proc/thread-self/schedstat", text, sizeof(text));
	(void)!sscanf(text, "%ld %ld", cpu, queued);
}

/* Version 1 counts nanoseconds, version 2 microseconds. */
static long throttled(void)
{
	char text[1024], *at;

	if (!cpu_stat)
		return 0;
	read_all(cpu_stat, text, sizeof(text));
	if ((at = strstr(text, "throttled_time ")))
		return atol(at + strlen("throttled_time "));
	if ((at = strstr(text, "throttled_usec ")))
		return atol(at + strlen("throttled_usec ")) * 1000;
	return 0;
}

struct span span_begin(const char *cause, const char *role, long step)
{
	struct span s = { .cause = cause, .role = role, .step = step, .device = -1 };

	s.throttled = throttled();
	schedstat(&s.cpu, &s.queued);
	s.begin = lab_now();
	return s;
}

void span_end_woken(struct span *s)
{
	long cpu, queued;

	schedstat(&cpu, &queued);
	s->begin = lab_now() - (queued - s->queued) - 1;
	span_end(s);
}

void span_end(const struct span *s)
{
	long end = lab_now(), cpu, queued;
	char line[1280], file[768] = "", device[32] = "", until[128] = "";
	int n;

	schedstat(&cpu, &queued);
	if (s->path)
		snprintf(file, sizeof(file), ",\"path\":\"%s\",\"offset\":%ld,\"bytes\":%ld", s->path, s->offset,
			 s->bytes);
	if (s->device >= 0)
		snprintf(device, sizeof(device), ",\"device\":%d", s->device);
	if (s->until)
		snprintf(until, sizeof(until), ",\"until\":\"%s\"", s->until);
	n = snprintf(line, sizeof(line),
		     "{\"cause\":\"%s\",\"role\":\"%s\",\"step\":%ld,\"pid\":%d,\"tid\":%ld,\"begin\":%ld,\"end\":%ld,"
		     "\"cpu\":%ld,\"queued\":%ld,\"throttled\":%ld%s%s%s}\n",
		     s->cause, s->role, s->step, getpid(), syscall(SYS_gettid), s->begin, end, cpu - s->cpu,
		     queued - s->queued, throttled() - s->throttled, file, device, until);
	write_line(line, (size_t)n);
}

static long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

void compute_until(long at)
{
	while (lab_now() < at)
		;
}

/* Asks now and then only: what a thread has run is a system call, and the scheduler's accounts grow by each (run_queue.py). */
void compute_cpu(long ns)
{
	long end = cpu_ns() + ns;

	for (long left = ns; left > 0; left = end - cpu_ns())
		compute_until(lab_now() + (left < MS / 20 ? left : MS / 20));
}

void sleep_ns(long ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&t, NULL);
}
