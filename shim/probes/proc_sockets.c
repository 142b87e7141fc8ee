/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc_sockets.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "proc_text.h"

#define UNSURE_NS 20000000u /* until what is not connected, or was not found, is asked about again */
#define FRESH_NS 20000000u  /* what was read is as good as new */
#define SOCKETS_MAX 65536u  /* known at a time */
#define ESTABLISHED 1u

/* ---- UNIX sockets: sock_diag tells the other end ------------------------------------------------------- */

static int diag_open(struct proc_sockets *s)
{
	if (!s->diag) {
		int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
		s->diag = fd < 0 ? -1 : fd + 1;
	}
	return s->diag < 0 ? -1 : s->diag - 1;
}

/* The kernel answers one such question before sendto returns. */
static ssize_t diag_ask(int fd, uint64_t inode, void *answer, size_t size)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req ask;
	} question = {
		.head = { .nlmsg_len = sizeof(question),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.ask = { .sdiag_family = AF_UNIX,
			 .udiag_states = UINT32_MAX,
			 .udiag_ino = (uint32_t)inode,
			 .udiag_show = UDIAG_SHOW_PEER,
			 .udiag_cookie = { UINT32_MAX, UINT32_MAX } },
	};
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (sendto(fd, &question, sizeof(question), 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -1;
	return recv(fd, answer, size, 0);
}

/* False: no UNIX socket of this network namespace. */
static bool ask_unix(struct proc_sockets *s, uint64_t inode, struct proc_socket *out)
{
	_Alignas(8) char answer[4096];
	struct nlmsghdr *head = (void *)answer;
	int fd = diag_open(s);
	ssize_t n = fd < 0 || inode > UINT32_MAX ? -1 : diag_ask(fd, inode, answer, sizeof(answer));
	size_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg));

	if (n < (ssize_t)at || head->nlmsg_len > (size_t)n || head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	while (at + sizeof(struct nlattr) + 4 <= head->nlmsg_len) {
		struct nlattr *a = (void *)(answer + at);
		if (a->nla_type == UNIX_DIAG_PEER && a->nla_len >= sizeof(*a) + 4)
			out->peer = *(const uint32_t *)(a + 1);
		at += NLA_ALIGN(a->nla_len > sizeof(*a) ? a->nla_len : sizeof(*a));
	}
	snprintf(out->name, sizeof(out->name), "unix:[%llu]:[%llu]", (unsigned long long)inode,
		 (unsigned long long)out->peer);
	out->sure = out->peer != 0;
	return true;
}

/* ---- TCP and UDP: lists --------------------------------------------------------------------------------- */

struct line {
	uint32_t here[4],
		there[4]; /* as the kernel prints them: words in network order, read as numbers of this machine */
	unsigned here_port, there_port, state;
	unsigned long long inode;
};

static bool parse_address(const char **at, uint32_t words[4], int n, unsigned *port)
{
	int bytes;

	for (int i = 0; i < n; i++, *at += bytes)
		if (sscanf(*at, "%8x%n", &words[i], &bytes) != 1)
			return false;
	if (sscanf(*at, ":%x%n", port, &bytes) != 1)
		return false;
	*at += bytes + 1;
	return true;
}

/* "sl: here:port there:port st tx:rx tr:when retransmits uid timeout inode …" */
static bool parse_line(const char *text, int words, struct line *l)
{
	const char *at = strchr(text, ':');

	memset(l, 0, sizeof(*l));
	if (!at)
		return false;
	at += 2;
	return parse_address(&at, l->here, words, &l->here_port) &&
	       parse_address(&at, l->there, words, &l->there_port) &&
	       sscanf(at, "%x %*x:%*x %*x:%*x %*x %*u %*u %llu", &l->state, &l->inode) == 2;
}

static void name_line(const struct line *l, const char *protocol, int words, char name[PROC_SOCKET_NAME])
{
	char address[INET6_ADDRSTRLEN];

	inet_ntop(words == 1 ? AF_INET : AF_INET6, l->there, address, sizeof(address));
	snprintf(name, PROC_SOCKET_NAME, words == 1 ? "%s:%s:%u" : "%s:[%s]:%u", protocol, address, l->there_port);
}

/* On one machine the other end is the line with the same addresses the other way round. */
static uint64_t find_peer(const char *text, int words, const struct line *l)
{
	struct line other;

	for (const char *at = proc_text_next_line(text); *at; at = proc_text_next_line(at))
		if (parse_line(at, words, &other) && other.here_port == l->there_port &&
		    other.there_port == l->here_port && !memcmp(other.here, l->there, sizeof(l->there)) &&
		    !memcmp(other.there, l->here, sizeof(l->here)))
			return other.inode;
	return 0;
}

static const struct {
	const char *file, *protocol;
	int words; /* of an address */
} lists[4] = { { "tcp", "tcp", 1 }, { "tcp6", "tcp", 4 }, { "udp", "udp", 1 }, { "udp6", "udp", 4 } };

static bool search_list(const char *text, const char *protocol, int words, uint64_t inode, struct proc_socket *out)
{
	struct line l;

	for (const char *at = text ? proc_text_next_line(text) : ""; *at; at = proc_text_next_line(at)) {
		if (!parse_line(at, words, &l) || l.inode != inode)
			continue;
		name_line(&l, protocol, words, out->name);
		out->sure = l.state == ESTABLISHED;
		out->peer = out->sure ? find_peer(text, words, &l) : 0;
		return true;
	}
	return false;
}

static bool search_lists(const struct proc_sockets *s, uint64_t inode, struct proc_socket *out)
{
	for (int i = 0; i < 4; i++)
		if (search_list(s->list[i], lists[i].protocol, lists[i].words, inode, out))
			return true;
	return false;
}

static uint64_t net_of(uint32_t pid)
{
	char text[64];
	unsigned long long inode;

	return proc_text_link(text, sizeof(text), "/proc/%u/ns/net", pid) && sscanf(text, "net:[%llu]", &inode) == 1
		       ? inode
		       : 0;
}

/* Not by the clock: on a busy machine that goes on while others run. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void read_lists(struct proc_sockets *s, uint32_t pid, uint64_t net)
{
	uint64_t begin = cpu_ns();

	for (int i = 0; i < 4; i++) {
		free(s->list[i]);
		s->list[i] = proc_text_whole(NULL, "/proc/%u/net/%s", pid, lists[i].file);
	}
	s->list_ns = mono_ns();
	s->net = net;
	s->not_before_ns = s->list_ns + 20 * (cpu_ns() - begin);
}

static void ask_lists(struct proc_sockets *s, uint32_t pid, struct proc_socket *socket)
{
	uint64_t net = net_of(pid), now = mono_ns();

	/* Of what was read a moment ago many are asked for, one by one. */
	if (net == s->net && now - s->list_ns < FRESH_NS && search_lists(s, socket->inode, socket))
		return;
	if (now < s->not_before_ns)
		return; /* the next time */
	read_lists(s, pid, net);
	search_lists(s, socket->inode, socket);
}

/* ---- TCP and UDP: the socket itself --------------------------------------------------------------------- */

static bool is_local(const struct sockaddr_storage *a)
{
	const struct sockaddr_in *four = (const void *)a;
	const struct sockaddr_in6 *six = (const void *)a;

	return a->ss_family == AF_INET ? (ntohl(four->sin_addr.s_addr) >> 24) == 127
				       : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static bool name_peer(int fd, struct proc_socket *socket, bool *local)
{
	struct sockaddr_storage a;
	socklen_t size = sizeof(a), type_size = sizeof(int);
	char address[INET6_ADDRSTRLEN];
	int type = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 ||
	    getpeername(fd, (struct sockaddr *)&a, &size) != 0 || (a.ss_family != AF_INET && a.ss_family != AF_INET6))
		return false;
	if (a.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&a)->sin_addr, address, sizeof(address));
	else
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&a)->sin6_addr, address, sizeof(address));
	snprintf(socket->name, PROC_SOCKET_NAME, a.ss_family == AF_INET ? "%s:%s:%u" : "%s:[%s]:%u",
		 type == SOCK_STREAM ? "tcp" : "udp", address, ntohs(((struct sockaddr_in *)&a)->sin_port));
	*local = is_local(&a);
	return true;
}

/* A copy of the descriptor, for a moment, tells it at once, in whatever network namespace. Whoever may see a task's system calls may have it. */
static bool ask_itself(uint32_t pid, int fd, struct proc_socket *socket, bool *local)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), copy = -1;
	struct stat is;
	bool known;

	if (process >= 0)
		copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	known = copy >= 0 && fstat(copy, &is) == 0 && is.st_ino == socket->inode && name_peer(copy, socket, local);
	if (copy >= 0)
		close(copy);
	if (process >= 0)
		close(process);
	return known;
}

static void ask(struct proc_sockets *s, uint32_t pid, int fd, struct proc_socket *socket)
{
	bool local = false;

	socket->asked_ns = mono_ns();
	if (ask_unix(s, socket->inode, socket))
		return;
	if (!socket->name[0] && ask_itself(pid, fd, socket, &local) && !local) {
		socket->sure = true;
		return;
	}
	ask_lists(s, pid, socket); /* of a local one there is another end here */
}

/* ---- what is known -------------------------------------------------------------------------------------- */

static struct proc_socket *known(struct proc_sockets *s, uint64_t inode)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->at[i].inode == inode)
			return &s->at[i];
	if (s->n == SOCKETS_MAX)
		s->n = 0;
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;
		struct proc_socket *at = realloc(s->at, cap * sizeof(*at));
		if (!at)
			return NULL;
		s->at = at;
		s->cap = cap;
	}
	s->at[s->n] = (struct proc_socket){ .inode = inode };
	return &s->at[s->n++];
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

void proc_sockets_free(struct proc_sockets *s)
{
	if (s->diag > 0)
		close(s->diag - 1);
	for (int i = 0; i < 4; i++)
		free(s->list[i]);
	free(s->at);
	*s = (struct proc_sockets){ 0 };
}
