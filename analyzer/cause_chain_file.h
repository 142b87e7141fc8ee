/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_chain_file.h: what a file is that somebody waited for: data, code, memory by another name, the other end of a wire. */
#pragma once

#include "host_trace.h"

enum file_use {
	FILE_DATA,    /* on a disk, or nobody knows where */
	FILE_CODE,    /* … and a program's own: libraries, modules, what is compiled of them */
	FILE_NETWORK, /* its file system is another machine's, or another program's (FUSE) */
	FILE_MEMORY,  /* its file system is in memory: waiting for it is waiting for memory */
	FILE_KERNEL,  /* the kernel's own: /proc, /sys */
};

enum file_use file_use(const struct host_what *w);

/* Of a socket or a pipe, by its text: does it reach beyond this machine's own processes, as far as its kind tells? */
bool end_is_remote(const struct host_what *w);
/* A pipe, or a socket that never leaves the machine. */
bool end_is_local(const struct host_what *w);

/* A compiler's process by its name: what it computes is code. */
bool name_is_compiler(const char *name);
