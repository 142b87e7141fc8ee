/* SPDX-License-Identifier: BSD-2-Clause */
#include "socket_lists.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../proc_text.h"

#define FRESH_NS 20000000u    /* what was read is as good as new */
#define READ_NS 10000000u     /* of CPU time, for all four lists */
#define MOST_BYTES (1u << 20) /* of one: some 7,000 sockets */
#define ESTABLISHED 1u

/* ---- a line ---------------------------------------------------------------------------------------------- */

struct line { /* addresses as the kernel prints them: words in network order, as numbers of this machine, in hexadecimal digits */
	char here[40], there[40];
	unsigned state;
	unsigned long long inode;
};

/* "sl: here there st tx:rx tr:when retransmits uid timeout inode …" */
static bool parse_line(const char *text, struct line *l)
{
	const char *at = strchr(text, ':');

	return at && sscanf(at + 1, "%39s %39s %x %*x:%*x %*x:%*x %*x %*u %*u %llu", l->here, l->there, &l->state,
			    &l->inode) == 4;
}

static const char *line_begin(const char *text, const char *at)
{
	while (at > text && at[-1] != '\n')
		at--;
	return at;
}

/* The line that has this text, and whose inode it is, where one is given. */
static bool find_line(const char *text, const char *needle, uint64_t inode, struct line *l)
{
	for (const char *at = text; (at = strstr(at, needle)); at++)
		if (parse_line(line_begin(text, at), l) && (!inode || l->inode == inode))
			return true;
	return false;
}

/* ---- what it says ---------------------------------------------------------------------------------------- */

static const struct {
	const char *file, *protocol;
	int words; /* of an address */
} lists[4] = { { "tcp", "tcp", 1 }, { "tcp6", "tcp", 4 }, { "udp", "udp", 1 }, { "udp6", "udp", 4 } };

static void name_line(const struct line *l, int list, struct socket_line *out)
{
	int words = lists[list].words, bytes;
	char address[INET6_ADDRSTRLEN];
	const char *at = l->there;
	uint32_t word[4] = { 0 };
	unsigned port = 0;

	for (int i = 0; i < words && sscanf(at, "%8x%n", &word[i], &bytes) == 1; i++)
		at += bytes;
	sscanf(at, ":%x", &port);
	inet_ntop(words == 1 ? AF_INET : AF_INET6, word, address, sizeof(address));
	snprintf(out->name, sizeof(out->name), words == 1 ? "%s:%s:%u" : "%s:[%s]:%u", lists[list].protocol, address,
		 port);
}

/* On one machine the other end is the line with the same addresses the other way round. */
static uint64_t find_peer(const char *text, const struct line *l)
{
	struct line other;
	char needle[96];

	snprintf(needle, sizeof(needle), " %s %s ", l->there, l->here);
	return find_line(text, needle, 0, &other) ? other.inode : 0;
}

static bool search(const struct socket_lists *l, uint64_t inode, struct socket_line *out)
{
	struct line line;
	char needle[32];

	snprintf(needle, sizeof(needle), " %llu ", (unsigned long long)inode);
	for (int i = 0; i < 4; i++) {
		if (!l->text[i] || !find_line(l->text[i], needle, inode, &line))
			continue;
		name_line(&line, i, out);
		out->connected = line.state == ESTABLISHED;
		out->peer = out->connected ? find_peer(l->text[i], &line) : 0;
		return true;
	}
	return false;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

static uint64_t net_of(uint32_t pid)
{
	char text[64];
	unsigned long long inode;

	return proc_text_link(text, sizeof(text), "/proc/%u/ns/net", pid) && sscanf(text, "net:[%llu]", &inode) == 1
		       ? inode
		       : 0;
}

/* Whole lines of its beginning, as much as there is room and time for; NULL: it cannot be read. */
static char *read_list(uint32_t pid, const char *file, size_t most, uint64_t until_cpu_ns)
{
	char path[64], *text = NULL, *more;
	size_t size = 0, used = 0;
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/net/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n > 0 && used < most && thread_cpu_ns() < until_cpu_ns) {
		if (used + 4096 >= size && (more = realloc(text, 2 * size + 16384))) {
			text = more;
			size = 2 * size + 16384;
		}
		n = used + 1 < size ? read(fd, text + used, size - used - 1) : 0;
		used += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (!text)
		return NULL;
	used = used < most ? used : most;
	while (used > 0 && text[used - 1] != '\n')
		used--;
	text[used] = 0;
	return text;
}

/* Their time is not taken by the clock: on a busy machine that goes on while others run. */
static void read_lists(struct socket_lists *l, uint32_t pid, uint64_t net)
{
	uint64_t begin = thread_cpu_ns();

	for (int i = 0; i < 4; i++) {
		free(l->text[i]);
		l->text[i] = read_list(pid, lists[i].file, l->most ? l->most : MOST_BYTES, begin + READ_NS);
	}
	l->read_ns = mono_ns();
	l->net = net;
	l->not_before_ns = l->read_ns + 20 * (thread_cpu_ns() - begin);
}

bool socket_lists_find(struct socket_lists *l, uint32_t pid, uint64_t inode, struct socket_line *out)
{
	uint64_t net = net_of(pid), now = mono_ns();

	/* Of what was read a moment ago many are asked for, one by one. Of two namespaces that are not for us to see nobody knows whether they
	 * are one. */
	if (net && net == l->net && now - l->read_ns < FRESH_NS && search(l, inode, out))
		return true;
	if (now < l->not_before_ns)
		return false; /* the next time */
	read_lists(l, pid, net);
	return search(l, inode, out);
}

void socket_lists_free(struct socket_lists *l)
{
	for (int i = 0; i < 4; i++)
		free(l->text[i]);
	*l = (struct socket_lists){ 0 };
}
