/* SPDX-License-Identifier: BSD-2-Clause */
#include "socket_diag.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define ESTABLISHED 1u

static int diag_open(struct socket_diag *d)
{
	if (!d->fd) {
		int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
		d->fd = fd < 0 ? -1 : fd + 1;
	}
	return d->fd < 0 ? -1 : d->fd - 1;
}

/* The kernel answers a question about a single socket before sendto returns. The answer's bytes; 0: there is none of the kind asked for. */
static size_t ask(struct socket_diag *d, const void *question, size_t size, void *answer, size_t room)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	const struct nlmsghdr *head = answer;
	int fd = diag_open(d);
	ssize_t n;

	if (fd < 0 || sendto(fd, question, size, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return 0;
	n = recv(fd, answer, room, 0);
	if (n < (ssize_t)sizeof(*head) || head->nlmsg_len > (size_t)n || head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	return head->nlmsg_len;
}

bool socket_diag_unix(struct socket_diag *d, uint64_t inode, uint64_t *peer)
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
	_Alignas(8) char answer[4096];
	size_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg)), n;

	*peer = 0;
	if (inode > UINT32_MAX || (n = ask(d, &question, sizeof(question), answer, sizeof(answer))) < at)
		return false;
	while (at + sizeof(struct nlattr) + 4 <= n) {
		const struct nlattr *a = (const void *)(answer + at);

		if (a->nla_type == UNIX_DIAG_PEER && a->nla_len >= sizeof(*a) + 4)
			*peer = *(const uint32_t *)(a + 1);
		at += NLA_ALIGN(a->nla_len > sizeof(*a) ? a->nla_len : sizeof(*a));
	}
	return true;
}

/* ---- TCP and UDP ----------------------------------------------------------------------------------------- */

struct address {
	uint32_t words[4];
	uint16_t port; /* in network order */
	bool four;     /* of version 4, also where a socket of version 6 has it */
};

static struct address address_of(const struct sockaddr_storage *s)
{
	const struct sockaddr_in *four = (const void *)s;
	const struct sockaddr_in6 *six = (const void *)s;
	struct address a = { .port = four->sin_port, .four = s->ss_family == AF_INET };

	if (a.four) {
		a.words[0] = four->sin_addr.s_addr;
		return a;
	}
	memcpy(a.words, &six->sin6_addr, sizeof(a.words));
	if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
		a.four = true;
		a.words[0] = a.words[3];
		a.words[1] = a.words[2] = a.words[3] = 0;
	}
	return a;
}

static bool is_at(const struct address *a, uint8_t family, const uint32_t words[4], uint16_t port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = port };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = port, .sin_addr = { words[0] } };
	struct sockaddr_storage s = { 0 };
	struct address it;

	memcpy(&six.sin6_addr, words, sizeof(six.sin6_addr));
	if (family == AF_INET)
		memcpy(&s, &four, sizeof(four));
	else
		memcpy(&s, &six, sizeof(six));
	it = address_of(&s);
	return it.port == a->port && it.four == a->four && !memcmp(it.words, a->words, sizeof(it.words));
}

/* Of UDP the kernel takes the question's source for the other end, as if it were a packet that comes in. Its answer's source is the socket's own. */
static struct inet_diag_sockid question_of(int protocol, const struct address *here, const struct address *there)
{
	const struct address *from = protocol == IPPROTO_UDP ? there : here, *to = from == here ? there : here;
	struct inet_diag_sockid id = { .idiag_sport = from->port,
				       .idiag_dport = to->port,
				       .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } };

	memcpy(id.idiag_src, from->words, sizeof(from->words));
	memcpy(id.idiag_dst, to->words, sizeof(to->words));
	return id;
}

uint64_t socket_diag_inet(struct socket_diag *d, int protocol, const struct sockaddr_storage *here,
			  const struct sockaddr_storage *there)
{
	struct address from = address_of(here), to = address_of(there);
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 ask;
	} question = {
		.head = { .nlmsg_len = sizeof(question),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.ask = { .sdiag_family = from.four ? AF_INET : AF_INET6,
			 .sdiag_protocol = (uint8_t)protocol,
			 .idiag_states = UINT32_MAX,
			 .id = question_of(protocol, &from, &to) },
	};
	_Alignas(8) char answer[4096];
	const struct inet_diag_msg *m = (const void *)(answer + NLMSG_HDRLEN);

	if (from.four != to.four)
		return 0;
	if (ask(d, &question, sizeof(question), answer, sizeof(answer)) < NLMSG_LENGTH(sizeof(*m)))
		return 0;
	/* Where there is no such connection it may be one that listens there. */
	if (m->idiag_state != ESTABLISHED || !is_at(&from, m->idiag_family, m->id.idiag_src, m->id.idiag_sport) ||
	    !is_at(&to, m->idiag_family, m->id.idiag_dst, m->id.idiag_dport))
		return 0;
	return m->idiag_inode;
}

void socket_diag_close(struct socket_diag *d)
{
	if (d->fd > 0)
		close(d->fd - 1);
	d->fd = 0;
}
