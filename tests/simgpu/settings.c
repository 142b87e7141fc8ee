/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings.h"

#include "sim.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct settings current;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static double number(const char *name, double otherwise)
{
	const char *text = getenv(name);
	char *end;
	double value;

	if (!text || !*text)
		return otherwise;
	value = strtod(text, &end);
	if (end == text || value < 0)
		return otherwise;
	switch (*end) {
	case 'k':
	case 'K':
		return value * 1024;
	case 'm':
	case 'M':
		return value * 1024 * 1024;
	case 'g':
	case 'G':
		return value * 1024 * 1024 * 1024;
	case 't':
	case 'T':
		return value * 1024 * 1024 * 1024 * 1024;
	default:
		return value;
	}
}

/* A rate of zero would make a copy last for ever. */
static double rate(const char *name, double gbps)
{
	double value = number(name, gbps);

	return value > 0 ? value : gbps;
}

void settings_log_path(char *path, unsigned size)
{
	const char *text = settings()->log;
	unsigned used = 0;

	while (*text && used + 24 < size) {
		if (text[0] == '%' && text[1] == 'p') {
			used += (unsigned)snprintf(path + used, size - used, "%d", (int)getpid());
			text += 2;
		} else {
			path[used++] = *text++;
		}
	}
	path[used] = 0;
}

static void load(void)
{
	const char *log = getenv("SIMGPU_LOG"), *shared = getenv("SIMGPU_SHARED"), *extra = getenv("SIMGPU_EXTRA");

	current.log = log ? strdup(log) : NULL; /* the program may change its environment */
	if (!current.log)
		current.log = "";
	current.log_per_process = strstr(current.log, "%p") != NULL;
	current.devices = (int)number("SIMGPU_DEVICES", 1);
	if (current.devices > SIM_MAX_DEVICES)
		current.devices = SIM_MAX_DEVICES;
	current.kernel_ns = (uint64_t)(number("SIMGPU_KERNEL_US", 20) * 1000);
	current.pinned_bytes_per_ns = rate("SIMGPU_H2D_GBPS", 50);
	current.pageable_bytes_per_ns = rate("SIMGPU_PAGEABLE_GBPS", 8);
	current.memset_bytes_per_ns = 2000;
	current.device_bytes_per_ns = 1500;
	current.peer_bytes_per_ns = 300;
	current.memory_bytes = (uint64_t)number("SIMGPU_MEM_BYTES", 16.0 * (1ull << 30));
	current.address_bytes = (uint64_t)number("SIMGPU_ADDRESS_BYTES", 1024.0 * (1ull << 30));
	current.latency_ns = (uint64_t)(number("SIMGPU_LATENCY_US", 5) * 1000);
	current.launch_ns = (uint64_t)number("SIMGPU_LAUNCH_NS", 2000);
	current.first_launch_ns = (uint64_t)(number("SIMGPU_FIRST_LAUNCH_US", 0) * 1000);
	current.drift_ppm = number("SIMGPU_DRIFT_PPM", 20);
	current.queue_depth = (unsigned)number("SIMGPU_QUEUE", 1024);
	if (current.queue_depth == 0)
		current.queue_depth = 1;
	current.queue_all = number("SIMGPU_QUEUE_ALL", 0) != 0;
	current.shared = shared && *shared ? strdup(shared) : NULL;
	current.extra = extra ? strdup(extra) : "";
	current.fail = getenv("SIMGPU_FAIL");
	current.slow = getenv("SIMGPU_SLOW");
}

const struct settings *settings(void)
{
	pthread_once(&once, load);
	return &current;
}
