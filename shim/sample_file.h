/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_file.h: what is at the descriptor that a thread waits at: in its own table, and without asking a server that may not answer: that is
 * just when the thread stands there. The thread's alone that looks. */
#pragma once

#include <stdbool.h>

#include "format.h"

struct sample_file {
	enum gst_fd_kind kind;
	char path[512]; /* or "pipe:[…]", "socket:[…]", "anon_inode:…" */
};

/* By its system call. False: that has none worth naming, or it is not to be seen (any more). */
bool sample_file_of(struct sample_file *f, const struct gst_sample *s);

/* Of a poll: ns after which it comes back though there is nothing, 0 never. wait: its third argument. */
uint64_t sample_file_poll_ns(long nr, uint64_t wait);

/* Is the system call one that takes data from its descriptor? And one that waits until there is something to be taken? */
bool sample_file_is_read(long nr);
bool sample_file_is_poll(long nr);
