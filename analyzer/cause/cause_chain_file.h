/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_chain_file.h: what a file is that somebody waited for: data, code, memory by another name, the other end of a wire. */
#pragma once

#include "host/host_trace.h"

enum file_use {
	FILE_DATA,    /* on a disk, or nobody knows where */
	FILE_CODE,    /* … and a program's own: libraries, modules, what is compiled of them */
	FILE_NETWORK, /* its file system is another machine's, or another program's (FUSE) */
	FILE_MEMORY,  /* its file system is in memory: waiting for it is waiting for memory */
	FILE_KERNEL,  /* the kernel's own: /proc, /sys */
};

enum file_use file_use(const struct host_what *w);

/* Its path says that it is no code: it has one, and not such as both code and data have (file_use takes those for data). */
bool file_is_surely_data(const struct host_what *w);

enum far_end {               /* where the other end of a socket or a pipe is, as far as its text tells */
	       END_NONE,     /* no socket and no pipe; or the kernel itself is there */
	       END_REMOTE,   /* beyond this machine */
	       END_LOOPBACK, /* on this machine, where anybody may listen: whose process it is tells more */
	       END_LOCAL,    /* a pipe, or a socket that never leaves the machine */
	       END_UNKNOWN,  /* a socket */
};

enum far_end far_end(const struct host_what *w);

/* A compiler's process by its name: what it computes is code. */
bool name_is_compiler(const char *name);
