/* SPDX-License-Identifier: BSD-2-Clause */
/* socket_lists.h: sockets looked up in /proc/<pid>/net/tcp and its like: for those of other network namespaces, and of processes that are not
 * for us to ask. The kernel takes milliseconds for them, however short they are; of long ones no more than their beginning is read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct socket_lists {
	char *text[4];          /* as last read, of this network namespace */
	uint64_t read_ns, net;
	uint64_t not_before_ns; /* no more than a twentieth of the time is spent in reading them */
	size_t most;            /* bytes of each; 0: as much as is sensible (tests) */
};

struct socket_line {
	char name[80];  /* "tcp:10.0.0.1:443", "udp:[::1]:53" */
	uint64_t peer;  /* the other end's inode, where it is on this machine; 0 not known */
	bool connected; /* it will not change any more */
};

/* pid: a process of its network namespace. False: not found, or it is too soon to read them anew. */
bool socket_lists_find(struct socket_lists *l, uint32_t pid, uint64_t inode, struct socket_line *out);
void socket_lists_free(struct socket_lists *l);
