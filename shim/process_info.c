/* SPDX-License-Identifier: BSD-2-Clause */
#include "process_info.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void process_info_host(char *out, size_t size)
{
	if (gethostname(out, size) != 0 || !*out)
		snprintf(out, size, "unknown");
	out[size - 1] = 0;
	for (char *p = out; *p; p++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", *p))
			*p = '_';
	if (*out == '.')
		*out = '_'; /* no hidden files */
}

static size_t read_text(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	if (fd < 0) {
		*out = 0;
		return 0;
	}
	while (used < size - 1 && (n = read(fd, out + used, size - 1 - used)) > 0)
		used += (size_t)n;
	close(fd);
	out[used] = 0;
	return used;
}

struct stat_line {
	int ppid;
	unsigned long long start; /* clock ticks after boot */
};

static bool read_stat(const char *proc, struct stat_line *out)
{
	char path[48], text[1024];
	const char *p;

	snprintf(path, sizeof(path), "%s/stat", proc);
	read_text(path, text, sizeof(text));
	p = strrchr(text, ')'); /* the command name may hold anything */
	return p && sscanf(p + 2, "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			   &out->ppid, &out->start) == 2;
}

/* CLOCK_BOOTTIME runs on in suspend, CLOCK_MONOTONIC does not. */
static uint64_t boot_to_mono_ns(unsigned long long start)
{
	struct timespec boot, mono;
	uint64_t start_ns, boot_ns, mono_ns;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	boot_ns = (uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec;
	mono_ns = (uint64_t)mono.tv_sec * 1000000000u + (uint64_t)mono.tv_nsec;
	start_ns = start * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return start_ns > boot_ns || boot_ns - start_ns > mono_ns ? 0 : mono_ns - (boot_ns - start_ns);
}

/* The link says "pid:[4026531836]". */
static uint64_t own_pid_ns(void)
{
	char link[40];
	ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
	unsigned long long inode = 0;

	link[n > 0 ? n : 0] = 0;
	return sscanf(link, "pid:[%llu]", &inode) == 1 ? inode : 0;
}

static void read_command(const char *proc, struct gst_file_header *h)
{
	char path[48];
	size_t n;
	ssize_t exe;

	snprintf(path, sizeof(path), "%s/exe", proc);
	exe = readlink(path, h->exe, sizeof(h->exe) - 1);
	h->exe[exe > 0 ? exe : 0] = 0;
	snprintf(path, sizeof(path), "%s/cmdline", proc);
	n = read_text(path, h->cmdline, sizeof(h->cmdline));
	for (size_t i = 0; i + 1 < n; i++)
		if (!h->cmdline[i])
			h->cmdline[i] = ' ';
}

void process_info_fill(struct gst_file_header *h, pid_t pid)
{
	struct stat_line line = { 0 };
	struct timespec real;
	char proc[32] = "/proc/self";

	if (pid)
		snprintf(proc, sizeof(proc), "/proc/%d", pid);
	clock_gettime(CLOCK_REALTIME, &real);
	h->start_real_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
	h->process_start_mono_ns = read_stat(proc, &line) ? boot_to_mono_ns(line.start) : 0;
	h->pid = (uint32_t)(pid ? pid : getpid());
	h->ppid = (uint32_t)(pid ? line.ppid : getppid());
	h->pid_ns = own_pid_ns();
	if (gethostname(h->host, sizeof(h->host) - 1) != 0)
		h->host[0] = 0;
	snprintf(h->shim, sizeof(h->shim), "gpushim %s", GPUSHIM_VERSION);
	read_command(proc, h);
}
