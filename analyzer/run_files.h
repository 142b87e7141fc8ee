/* SPDX-License-Identifier: BSD-2-Clause */
/* run_files.h: paths -> the trace files they mean, each with its header, none decoded yet. */
#pragma once

#include <sys/types.h>

#include "trace.h"

struct run_file {
	char *path;
	struct gst_file_header header;
	struct trace *trace; /* NULL until it is needed */
	int64_t to_wall_ns;  /* added to its CLOCK_MONOTONIC it gives the time of day: the only time that machines and boots share */
	dev_t dev;
	ino_t ino;
};

struct run_files {
	struct run_file *at;
	size_t n, cap;
	const char *only_id; /* not NULL: only files of this GPUSHIM_RUN; then what cannot be read, or is not there, is none of them */
};

/* A directory stands for the .gst files in it. A file that is named twice is taken once. */
enum err_kind run_files_add(struct run_files *files, const char *path, struct error *e);
void run_files_free(struct run_files *files);
