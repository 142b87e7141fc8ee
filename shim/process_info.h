/* SPDX-License-Identifier: BSD-2-Clause */
/* process_info.h: who a process is, for the file header. Host probes use it too, so it needs nothing else of the shim. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "format.h"

/* Host name with everything but [A-Za-z0-9._-] replaced: it becomes part of a file name. */
void process_info_host(char *out, size_t size);

/* Fills pid, ppid, pid_ns (the caller's own), process_start_mono_ns, start_real_ns (now) and the texts. pid 0: this process; else that of another one. */
void process_info_fill(struct gst_file_header *h, pid_t pid);
