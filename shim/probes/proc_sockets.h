/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_sockets.h: whom a socket is connected to: sock_diag for UNIX sockets; others are asked themselves (pidfd_getfd(2), where we may), or
 * looked up in /proc/<pid>/net/tcp and its like, which takes the kernel milliseconds, however short the list is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_SOCKET_NAME 80

struct proc_socket {
	uint64_t inode, peer; /* peer: the other end's, where it is on this machine; 0 not known */
	uint64_t asked_ns;
	bool sure;            /* connected: it will not change any more */
	char name[PROC_SOCKET_NAME]; /* "tcp:10.0.0.1:443", "unix:[1]:[2]", "udp:[::1]:53"; "" not known */
};

struct proc_sockets {
	struct proc_socket *at; size_t n, cap;
	char *list[4];          /* as last read, of this network namespace */
	uint64_t list_ns, net;
	uint64_t not_before_ns; /* they may be long: no more than a twentieth of the time is spent in reading them */
	int diag;               /* netlink socket + 1, 0 not opened yet, -1 none to be had */
};

/* pid: a process that has it as fd, in whose network namespace it is looked for. NULL: nothing is known, or no memory. Valid until the next call. */
const struct proc_socket *proc_sockets_find(struct proc_sockets *s, uint32_t pid, int fd, uint64_t inode);
void proc_sockets_free(struct proc_sockets *s);
