/* SPDX-License-Identifier: BSD-2-Clause */
#include "process_info.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "settings.h"

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

/* Field 22 of /proc/self/stat: clock ticks after boot. CLOCK_BOOTTIME runs on in suspend, CLOCK_MONOTONIC does not. */
static uint64_t process_start_mono_ns(void)
{
	char text[1024];
	struct timespec boot, mono;
	unsigned long long start = 0;
	const char *p;
	uint64_t start_ns, boot_ns, mono_ns;

	read_text("/proc/self/stat", text, sizeof(text));
	p = strrchr(text, ')'); /* the command name may hold anything */
	if (!p || sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			 &start) != 1)
		return 0;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	boot_ns = (uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec;
	mono_ns = (uint64_t)mono.tv_sec * 1000000000u + (uint64_t)mono.tv_nsec;
	start_ns = start * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return start_ns > boot_ns || boot_ns - start_ns > mono_ns ? 0 : mono_ns - (boot_ns - start_ns);
}

void process_info_fill(struct gst_file_header *h)
{
	struct clock_anchor now = clock_anchor_now();
	struct timespec real;
	size_t n;
	ssize_t exe;

	clock_gettime(CLOCK_REALTIME, &real);
	h->pid = (uint32_t)getpid();
	h->ppid = (uint32_t)getppid();
	h->start_ticks = now.ticks;
	h->start_mono_ns = now.mono_ns;
	h->start_real_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
	h->process_start_mono_ns = process_start_mono_ns();
	memcpy(h->run_id, settings.run_id, sizeof(h->run_id));
	if (gethostname(h->host, sizeof(h->host) - 1) != 0)
		h->host[0] = 0;
	snprintf(h->shim, sizeof(h->shim), "gpushim %s", GPUSHIM_VERSION);
	exe = readlink("/proc/self/exe", h->exe, sizeof(h->exe) - 1);
	h->exe[exe > 0 ? exe : 0] = 0;
	n = read_text("/proc/self/cmdline", h->cmdline, sizeof(h->cmdline));
	for (size_t i = 0; i + 1 < n; i++)
		if (!h->cmdline[i])
			h->cmdline[i] = ' ';
}
