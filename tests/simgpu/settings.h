/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.h: the SIMGPU_* variables, read once at the first call. */
#pragma once

#include <stdint.h>

struct settings {
	const char *log;     /* SIMGPU_LOG as it stands; empty: no log */
	int log_per_process; /* it has a %p */
	int devices;
	uint64_t kernel_ns;
	double pinned_bytes_per_ns;
	double pageable_bytes_per_ns;
	double memset_bytes_per_ns;
	double device_bytes_per_ns; /* device to device */
	double peer_bytes_per_ns;   /* from one device to another that has peer access */
	uint64_t memory_bytes;
	uint64_t address_bytes; /* room for reservations beyond what the memory needs */
	uint64_t latency_ns;
	uint64_t launch_ns;
	uint64_t first_launch_ns; /* SIMGPU_FIRST_LAUNCH_US: of each function, beside launch_ns */
	double drift_ppm;
	unsigned queue_depth;
	int queue_all; /* SIMGPU_QUEUE_ALL: whatever goes into a stream takes a place of it, not launches alone */
	const char *shared; /* SIMGPU_SHARED: a path; NULL: not set */
	const char *extra; /* SIMGPU_EXTRA: names, separated by commas, that only cuGetProcAddress knows; empty: none */
	const char *fail; /* SIMGPU_FAIL as it stands */
	const char *slow; /* SIMGPU_SLOW as it stands; NULL: not set */
};

const struct settings *settings(void);
void settings_log_path(char *path, unsigned size); /* with %p replaced: a child that inherits the settings has its own pid */
