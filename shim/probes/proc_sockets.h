/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_sockets.h: whom a socket is connected to. UNIX sockets: sock_diag tells. Others are asked themselves (pidfd_getfd(2), where we may) and
 * sock_diag for the other end; or they are looked up in lists. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "socket_diag.h"
#include "socket_lists.h"

#define PROC_SOCKET_NAME 80

struct proc_socket {
	uint64_t inode, peer; /* peer: the other end's, where it is on this machine; 0 not known */
	uint64_t asked_ns;    /* 0: not yet */
	bool sure;            /* connected: it will not change any more */
	bool listens;         /* it is not asked itself again: a copy, however short-lived, may keep its port in use when it is closed */
	char name[PROC_SOCKET_NAME]; /* "tcp:10.0.0.1:443", "unix:[1]:[2]", "udp:[::1]:53"; "" not known */
};

struct proc_sockets {
	struct proc_socket *at; /* each may be at a few places; of these the one asked about longest ago makes room; NULL: none yet */
	struct socket_diag diag;
	struct socket_lists lists;
	uint64_t own_net;       /* network namespace that sock_diag speaks of; 0 not known */
};

/* pid: a process that has it as fd, in whose network namespace it is looked for; fd -1: it is not asked itself. NULL: nothing is known, or no memory. Valid until the next call. */
const struct proc_socket *proc_sockets_find(struct proc_sockets *s, uint32_t pid, int fd, uint64_t inode);
/* The other end's, as far as it is known without asking the socket itself; 0 not. */
uint64_t proc_sockets_peer(struct proc_sockets *s, uint64_t inode);
void proc_sockets_free(struct proc_sockets *s);
