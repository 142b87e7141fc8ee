/* SPDX-License-Identifier: BSD-2-Clause */
/* run_files.h: paths -> the trace files they mean, each with its header, none decoded yet. */
#pragma once

#include <sys/types.h>

#include "host/host_trace.h"
#include "trace/trace.h"

struct run_file {
	char *path;
	struct gst_file_header header;
	struct trace *trace; /* NULL until it is needed; of another tool's trace it is there */
	int64_t to_wall_ns;  /* added to its CLOCK_MONOTONIC it gives the time of day: the only time that machines and boots share */
	uint64_t bytes; /* when it was listed */
	dev_t dev;
	ino_t ino;
	bool packed; /* in an archive: its path is the archive's, and its name there */
};

struct run_host { /* a file of host probes */
	char *path;
	struct gst_file_header header;
	struct host_trace *trace; /* NULL until it is needed */
	uint64_t bytes;
	dev_t dev;
	ino_t ino;
	bool packed;
};

/* A trace of a directory that lies on another machine, is gone (staged.h) or cannot be read; or host probes that cannot. */
struct run_missing {
	char *text; /* what to tell, untrusted */
	char run_id[64];
	int64_t begin_real_ns; /* INT64_MAX not known */
	bool host;
};

struct run_files {
	struct run_file *at;
	size_t n, cap;
	struct run_host *hosts;
	size_t n_hosts, hosts_cap;
	struct run_missing *missing;
	size_t n_missing, missing_cap;
	struct error unreadable; /* the first recording of a directory that cannot be read; kind ERR_NONE: none */
	bool fold;           /* plain launches may be folded (launches.h) */
	bool hosts_alone;    /* files of host probes need no recording of a process beside them */
	size_t n_imported;   /* of `at`: processes of other tools' traces */
	const char *only_id; /* not NULL: only files of this GPUSHIM_RUN; then what cannot be read, or is not there, is none of them */
};

/* A directory stands for the .gst files in it, those of host probes among them, those it has notes of, and what is in its archives; where it has
 * none of these, for the traces of other tools in it, by what they hold. An archive (by content) stands for its members, and a file of another
 * tool may hold several processes. A file that is named twice is taken once, and so is one that is there packed as well. */
enum err_kind run_files_add(struct run_files *files, const char *path, struct error *e);
void run_files_free(struct run_files *files);
/* Host probes that cannot be read, as why says: the report goes without them. False: no memory, now or as why says; then *why says so. */
bool run_files_without_host(struct run_files *files, const char *path, const char *run_id, struct error *why);
void run_missing_free(struct run_missing *missing, size_t n);
