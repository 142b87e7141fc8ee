/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc_sockets.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../proc_text.h"

#define UNSURE_NS 20000000u /* until what is not connected, or was not found, is asked about again */
#define SOCKETS 8192u       /* known at a time: a power of two */
#define PLACES 8u           /* where one of them may be */

/* ---- the socket itself ----------------------------------------------------------------------------------- */

struct ends {
	struct sockaddr_storage here, there;
	int protocol;
	bool listens;
};

static bool read_ends(int fd, struct ends *e)
{
	socklen_t here = sizeof(e->here), there = sizeof(e->there), type_size = sizeof(int);
	socklen_t listens_size = sizeof(int);
	int type = 0, listens = 0;

	e->listens = getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) == 0 && listens;
	if (e->listens || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 ||
	    getpeername(fd, (struct sockaddr *)&e->there, &there) != 0 ||
	    getsockname(fd, (struct sockaddr *)&e->here, &here) != 0)
		return false;
	e->protocol = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	return e->there.ss_family == AF_INET || e->there.ss_family == AF_INET6;
}

/* Asked of the process that the pidfd is of: its number, or the descriptor's, may be another's by now, whose files are none of our business. */
static bool is_still(uint32_t pid, int fd, uint64_t inode)
{
	char text[64];
	unsigned long long now;

	return proc_text_link(text, sizeof(text), "/proc/%u/fd/%d", pid, fd) &&
	       sscanf(text, "socket:[%llu]", &now) == 1 && now == inode;
}

/* A copy of the descriptor, for a moment, tells it at once, in whatever network namespace. Whoever may see a task's system calls may have it. */
static bool ask_itself(uint32_t pid, int fd, uint64_t inode, struct ends *e)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), copy = -1;
	struct stat is;
	bool known;

	if (process >= 0 && is_still(pid, fd, inode))
		copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	known = copy >= 0 && fstat(copy, &is) == 0 && S_ISSOCK(is.st_mode) && is.st_ino == inode && read_ends(copy, e);
	if (copy >= 0)
		close(copy);
	if (process >= 0)
		close(process);
	return known;
}

static void name_peer(const struct ends *e, char name[PROC_SOCKET_NAME])
{
	const struct sockaddr_in *four = (const void *)&e->there;
	const struct sockaddr_in6 *six = (const void *)&e->there;
	bool old = e->there.ss_family == AF_INET;
	char address[INET6_ADDRSTRLEN];

	inet_ntop(e->there.ss_family, old ? (const void *)&four->sin_addr : &six->sin6_addr, address, sizeof(address));
	snprintf(name, PROC_SOCKET_NAME, old ? "%s:%s:%u" : "%s:[%s]:%u", e->protocol == IPPROTO_TCP ? "tcp" : "udp",
		 address, ntohs(four->sin_port)); /* it stands at the same place in both */
}

static bool is_loopback(const struct sockaddr_storage *a)
{
	const struct sockaddr_in *four = (const void *)a;
	const struct sockaddr_in6 *six = (const void *)a;

	return a->ss_family == AF_INET ? (ntohl(four->sin_addr.s_addr) >> 24) == 127
				       : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* Is its other end on this machine, at whichever of its addresses? */
static bool is_local(const struct ends *e)
{
	const struct sockaddr_in *here = (const void *)&e->here, *there = (const void *)&e->there;
	const struct sockaddr_in6 *here6 = (const void *)&e->here, *there6 = (const void *)&e->there;

	if (e->here.ss_family != e->there.ss_family)
		return false;
	if (is_loopback(&e->there))
		return true;
	return e->there.ss_family == AF_INET ? here->sin_addr.s_addr == there->sin_addr.s_addr
					     : IN6_ARE_ADDR_EQUAL(&here6->sin6_addr, &there6->sin6_addr);
}

static uint64_t net_of(const char *who)
{
	char text[64];
	unsigned long long inode;

	return proc_text_link(text, sizeof(text), "/proc/%s/ns/net", who) && sscanf(text, "net:[%llu]", &inode) == 1
		       ? inode
		       : 0;
}

/* sock_diag speaks of our own network namespace alone. */
static bool is_ours(struct proc_sockets *s, uint32_t pid)
{
	char who[16];

	if (!s->own_net)
		s->own_net = net_of("self");
	snprintf(who, sizeof(who), "%u", pid);
	return s->own_net && net_of(who) == s->own_net;
}

/* False: sock_diag knows nothing of such sockets. */
static bool find_peer(struct proc_sockets *s, uint32_t pid, const struct ends *e, uint64_t *peer)
{
	if (!is_ours(s, pid))
		return false;
	*peer = socket_diag_inet(&s->diag, e->protocol, &e->there, &e->here);
	return *peer || socket_diag_inet(&s->diag, e->protocol, &e->here, &e->there);
}

/* ---- asking ---------------------------------------------------------------------------------------------- */

static void look_up(struct proc_sockets *s, uint32_t pid, struct proc_socket *socket)
{
	struct socket_line line;

	if (!socket_lists_find(&s->lists, pid, socket->inode, &line))
		return;
	snprintf(socket->name, sizeof(socket->name), "%s", line.name);
	socket->peer = line.peer;
	socket->sure = line.connected;
}

static void ask(struct proc_sockets *s, uint32_t pid, int fd, struct proc_socket *socket)
{
	struct ends ends = { .listens = false };
	bool to_be_accepted = false;

	socket->asked_ns = mono_ns();
	if (socket_diag_unix(&s->diag, socket->inode, &socket->peer)) {
		snprintf(socket->name, sizeof(socket->name), "unix:[%llu]:[%llu]", (unsigned long long)socket->inode,
			 (unsigned long long)socket->peer);
		socket->sure = socket->peer != 0;
		return;
	}
	if (fd >= 0 && !socket->listens && ask_itself(pid, fd, socket->inode, &ends)) {
		name_peer(&ends, socket->name);
		bool known = find_peer(s, pid, &ends, &socket->peer);
		/* Of a local one there is another end here, once it is accepted. */
		socket->sure = socket->peer || !is_local(&ends);
		if (known || socket->sure)
			return;
		to_be_accepted = true;
	}
	socket->listens |= ends.listens;
	look_up(s, pid, socket);
	socket->sure = socket->sure && (socket->peer || !to_be_accepted);
}

/* ---- what is known -------------------------------------------------------------------------------------- */

static struct proc_socket *places_of(struct proc_sockets *s, uint64_t inode)
{
	return &s->at[inode * 0x9e3779b97f4a7c15u >> 32 & (SOCKETS - PLACES)];
}

static struct proc_socket *known(struct proc_sockets *s, uint64_t inode)
{
	struct proc_socket *first, *oldest;

	if (!s->at && !(s->at = calloc(SOCKETS, sizeof(*s->at))))
		return NULL;
	first = oldest = places_of(s, inode);
	for (struct proc_socket *k = first; k < first + PLACES; k++) {
		if (k->asked_ns && k->inode == inode)
			return k;
		if (k->asked_ns < oldest->asked_ns)
			oldest = k;
	}
	*oldest = (struct proc_socket){ .inode = inode };
	return oldest;
}

const struct proc_socket *proc_sockets_find(struct proc_sockets *s, uint32_t pid, int fd, uint64_t inode)
{
	struct proc_socket *socket = known(s, inode);

	if (!socket)
		return NULL;
	if (!socket->sure && (!socket->asked_ns || mono_ns() - socket->asked_ns > UNSURE_NS))
		ask(s, pid, fd, socket);
	return socket->name[0] ? socket : NULL;
}

uint64_t proc_sockets_peer(struct proc_sockets *s, uint64_t inode)
{
	uint64_t peer;

	for (struct proc_socket *k = s->at ? places_of(s, inode) : NULL; k && k < places_of(s, inode) + PLACES; k++)
		if (k->asked_ns && k->inode == inode && k->peer)
			return k->peer;
	return socket_diag_unix(&s->diag, inode, &peer) ? peer : 0;
}

void proc_sockets_free(struct proc_sockets *s)
{
	socket_diag_close(&s->diag);
	socket_lists_free(&s->lists);
	free(s->at);
	*s = (struct proc_sockets){ 0 };
}
