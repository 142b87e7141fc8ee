/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.h: what the environment asks for. Read once, in the constructor: later the program may change its environment
 * and its working directory. Nothing here opens or allocates. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "format.h"

struct settings {
	bool enabled;                /* GPUSHIM is not "off" */
	bool log;                    /* GPUSHIM_LOG=1 */
	enum gst_device_level level; /* GPUSHIM_DEVICE, `auto` decided; may change later (cupti.h) */
	bool cupti;                  /* GPUSHIM_DEVICE=cupti */
	char unknown_level[32];      /* GPUSHIM_DEVICE, where it is none of its values; else "" */
	uint32_t stacks_ppm;         /* GPUSHIM_STACKS: share of a thread's time that its stacks may take; 0 none are taken */
	uint64_t limit_bytes;        /* GPUSHIM_LIMIT */
	char out[PATH_MAX];          /* GPUSHIM_OUT, absolute */
	char run_id[64];             /* GPUSHIM_RUN */
	char local[PATH_MAX];        /* GPUSHIM_LOCAL, absolute; "" not set */
	char tmpdir[PATH_MAX];       /* TMPDIR; "" not set */
};

extern struct settings settings;

void settings_read(void);
/* CUDA_DEVICE_MAX_CONNECTIONS once more, before the file is made: the driver reads it when it is initialised, and training scripts set it in
 * their first lines. */
void settings_read_queues(void);

/* What `auto` means here and now. */
enum gst_device_level settings_auto_level(void);
/* Says that the level is not the best one, or not the one asked for; the header says which it is. */
void settings_log_level(void);

/* One line on stderr, if GPUSHIM_LOG=1. Never allocates. False: not said; our threads whose descriptors are their own cannot. */
bool settings_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A thread without standard error keeps the first line here (LOG_LINE bytes) until NULL is given; somebody else then writes it. */
#define LOG_LINE 512
void settings_log_keep(char *line);
bool settings_log_write(const char *line);
