/* SPDX-License-Identifier: BSD-2-Clause */
/* process_info.h: who this process is, for the file header. */
#pragma once

#include <stddef.h>

#include "format.h"

/* Host name with everything but [A-Za-z0-9._-] replaced: it becomes part of a file name. */
void process_info_host(char *out, size_t size);

/* Fills pid, ppid, times, run id and the texts. */
void process_info_fill(struct gst_file_header *h);
