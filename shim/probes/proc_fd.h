/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_fd.h: what a descriptor of another process is. Nothing is asked of a file system, which may be on a server that does not answer: the
 * names come from /proc/<pid>/fd, numbers from fdinfo, the kind of file system from the list of mounts. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "../format_host.h"

struct proc_fd {
	char name[PATH_MAX]; /* path, "pipe:[1]", "socket:[1]", "tcp:10.0.0.1:443", "unix:[1]:[peer]", "anon_inode:[eventpoll]" */
	uint64_t inode;      /* 0 not known */
	uint64_t pos;        /* in the file; UINT64_MAX not known */
	uint64_t peer;       /* a socket's other end, where that is on this machine; 0 not known */
	uint32_t dev;        /* of the file's superblock: major << 20 | minor; 0 not known */
	uint32_t fs;         /* its magic; 0 not known */
	uint16_t ends;       /* enum gst_pipe_end_flags, as it was opened */
	uint8_t kind;        /* enum gst_fd_kind */
	bool unsure;         /* a socket of which more may be known the next time */
};

struct proc_files; /* what was found out about mounts and sockets, to be asked once */

struct proc_files *proc_files_new(void);
void proc_files_free(struct proc_files *f);

/* pid: any task that shares the descriptor table. False: no such descriptor, or its process is not ours to look at. */
bool proc_fd_read(struct proc_files *f, uint32_t pid, int fd, struct proc_fd *out);
/* The same of one that listens, if it is a socket: nothing is done to it. */
bool proc_fd_read_listening(struct proc_files *f, uint32_t pid, int fd, struct proc_fd *out);
/* Of a socket, the other end's inode, as far as it is known without asking the socket itself; 0 not. */
uint64_t proc_fd_peer(struct proc_files *f, uint64_t inode);
/* What kind it is, its inode (of pipes and sockets) and ends alone: much cheaper. */
bool proc_fd_glance(uint32_t pid, int fd, struct proc_fd *out);
/* A path that is not open: the file system it would be on, in that process's view. 0: not known. */
void proc_path_mount(uint32_t pid, const char *path, uint32_t *dev, uint32_t *fs);
