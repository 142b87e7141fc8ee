/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_socket.c: the batch comes from another machine, or a process that nobody follows: $LAB_PORT on this one, which is asked, with a delay in ns,
 * and answers so late, with $LAB_ANSWER bytes. */
#include "lab.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd;
static long batch;
static char *buffer;

static void open_socket(void)
{
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const char *port = getenv("LAB_PORT");

	REQUIRE(port);
	batch = lab_param("LAB_ANSWER", 1 << 18);
	REQUIRE((buffer = malloc((size_t)batch)));
	peer.sin_port = htons((uint16_t)atoi(port));
	REQUIRE((fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0);
	REQUIRE(connect(fd, (struct sockaddr *)&peer, sizeof(peer)) == 0);
}

static void act_socket(long step)
{
	struct span s = span_begin("input-network", "main", step);
	int64_t late = lab_length(step);

	REQUIRE(send(fd, &late, sizeof(late), MSG_NOSIGNAL) == sizeof(late));
	for (long done = 0; done < batch;) {
		ssize_t n = recv(fd, buffer + done, (size_t)(batch - done), 0);

		REQUIRE(n > 0);
		done += n;
	}
	span_end(&s);
}

static void close_socket(void)
{
	close(fd);
}

const struct fault fault_socket = { "socket", open_socket, NULL, act_socket, close_socket };
