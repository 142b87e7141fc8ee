/* SPDX-License-Identifier: BSD-2-Clause */
/* socket_diag.h: sock_diag(7): the kernel is asked about one socket of our own network namespace, however many there are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct socket_diag {
	int fd; /* netlink socket + 1, 0 not opened yet, -1 none to be had */
};

/* False: no UNIX socket of that inode. peer: 0 it has none. */
bool socket_diag_unix(struct socket_diag *d, uint64_t inode, uint64_t *peer);
/* The inode of the connection between these two (IPPROTO_TCP, IPPROTO_UDP) as the one at `here` has it; 0: none here, or not known. */
uint64_t socket_diag_inet(struct socket_diag *d, int protocol, const struct sockaddr_storage *here, const struct sockaddr_storage *there);
void socket_diag_close(struct socket_diag *d);
