/* SPDX-License-Identifier: BSD-2-Clause */
/* pipe_ends.h: which process of the tree holds which end of a pipe or socket (GST_PIPE_END): who may have written what another waited for. */
#pragma once

#include "host_file.h"
#include "proc_fd.h"

struct pipe_ends;

struct pipe_ends *pipe_ends_new(struct host_file *file, struct proc_files *files);
void pipe_ends_free(struct pipe_ends *p);

/* A process of the tree: looked at soon, and again as it grows older. */
void pipe_ends_process(struct pipe_ends *p, uint32_t pid);
/* It became another program, whose descriptors may be others. */
void pipe_ends_renew(struct pipe_ends *p, uint32_t pid);
void pipe_ends_gone(struct pipe_ends *p, uint32_t pid);
/* That process waits at this one: who has its other end is looked for now, if that is not known. peer: of a socket, which is told; 0 not known. */
void pipe_ends_wanted(struct pipe_ends *p, uint32_t pid, uint64_t inode, uint64_t peer);
/* Every round: looks at those whose turn it is, for a millisecond at most. */
void pipe_ends_tick(struct pipe_ends *p);
