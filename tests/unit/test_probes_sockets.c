/* SPDX-License-Identifier: BSD-2-Clause */
/* Whom a socket is connected to: by asking for that one alone, and by lists that are read as far as they are allowed to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/probes/proc_fd.h"
#include "shim/probes/proc_sockets.h"
#include "shim/proc_text.h"

static unsigned copies_taken; /* of descriptors */

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);

/* It takes six arguments, however few there are: what else is there is passed on unused. */
__attribute__((no_sanitize("address", "undefined"))) long __wrap_syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	copies_taken += nr == SYS_pidfd_getfd;
	return __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static uint64_t inode_of(int fd)
{
	struct stat s;

	assert_int_equal(fstat(fd, &s), 0);
	return s.st_ino;
}

static struct sockaddr_storage own_address(int fd)
{
	struct sockaddr_storage a = { 0 };

	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &(socklen_t){ sizeof(a) }), 0);
	return a;
}

/* One that listens, at a port of 127.0.0.1 that is given. */
static int listening(unsigned *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_storage own;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 4), 0);
	own = own_address(fd);
	*port = ntohs(((struct sockaddr_in *)(void *)&own)->sin_port);
	return fd;
}

/* Connects by version 4, or by version 6 to the address that stands for the same. */
static int connected(bool six, unsigned port)
{
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)port),
				    .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);

	assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr), 1);
	if (fd >= 0 && connect(fd, six ? (struct sockaddr *)&mapped : (struct sockaddr *)&four,
			       six ? sizeof(mapped) : sizeof(four)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool can_ask(void)
{
	struct socket_diag d = { 0 };
	unsigned port;
	int there = listening(&port), near = connected(false, port);
	struct sockaddr_storage from = own_address(near), to = own_address(there);
	bool can = socket_diag_inet(&d, IPPROTO_TCP, &from, &to) == inode_of(near);

	socket_diag_close(&d);
	close(near);
	close(there);
	return can;
}

static void a_connection_is_found_by_its_addresses(bool six)
{
	struct socket_diag d = { 0 };
	unsigned port;
	int there = listening(&port), near = connected(six, port), far;
	struct sockaddr_storage from, to;

	if (near < 0) {
		close(there);
		skip(); /* no version 6 here */
	}
	from = own_address(near);
	to = own_address(there);
	assert_int_equal(socket_diag_inet(&d, IPPROTO_TCP, &to, &from), 0); /* it is nobody's until it is accepted */
	far = accept(there, NULL, NULL);
	assert_int_equal(socket_diag_inet(&d, IPPROTO_TCP, &from, &to), inode_of(near));
	assert_int_equal(socket_diag_inet(&d, IPPROTO_TCP, &to, &from), inode_of(far));
	/* There is one that listens at `to`, which is none that is connected. */
	((struct sockaddr_in *)(void *)&from)->sin_port ^= htons(1);
	assert_int_equal(socket_diag_inet(&d, IPPROTO_TCP, &to, &from), 0);
	socket_diag_close(&d);
	close(far);
	close(near);
	close(there);
}

static void test_a_connection_is_found_by_its_addresses(void **unused)
{
	(void)unused;
	if (!can_ask())
		skip();
	a_connection_is_found_by_its_addresses(false);
}

static void test_so_is_one_whose_addresses_are_mapped(void **unused)
{
	(void)unused;
	if (!can_ask())
		skip();
	a_connection_is_found_by_its_addresses(true);
}

static void test_no_list_is_read_for_it(void **unused)
{
	struct proc_sockets s = { 0 };
	const struct proc_socket *found;
	char name[64];
	unsigned port;
	int there, near, far;

	(void)unused;
	if (!can_ask())
		skip();
	there = listening(&port);
	near = connected(false, port);
	found = proc_sockets_find(&s, (uint32_t)getpid(), near, inode_of(near));
	assert_non_null(found);
	assert_false(found->sure); /* its other end is not there yet */
	far = accept(there, NULL, NULL);
	for (int i = 0; i < 3000 && !found->sure; i++) {
		usleep(1000);
		found = proc_sockets_find(&s, (uint32_t)getpid(), near, inode_of(near));
	}
	snprintf(name, sizeof(name), "tcp:127.0.0.1:%u", port);
	assert_string_equal(found->name, name);
	assert_int_equal(found->peer, inode_of(far));
	assert_true(found->sure);
	assert_int_equal(s.lists.read_ns, 0);
	proc_sockets_free(&s);
	close(far);
	close(near);
	close(there);
}

#define MANY 40

/* A datagram socket at 127.0.0.<host>, at this port. */
static int datagram(uint8_t host, unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = { htonl((INADDR_LOOPBACK & ~0xffu) | host) } };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void connect_to(int fd, const struct sockaddr_storage *to)
{
	assert_int_equal(connect(fd, (const struct sockaddr *)to, sizeof(struct sockaddr_in)), 0);
}

/* Of the same port, or of two. */
static void two_datagram_sockets_are_told_apart(bool same)
{
	struct socket_diag d = { 0 };
	struct sockaddr_storage one_at, other_at;
	int one = datagram(1, 0), other;

	one_at = own_address(one);
	other = datagram(2, same ? ntohs(((struct sockaddr_in *)(void *)&one_at)->sin_port) : 0);
	other_at = own_address(other);
	connect_to(one, &other_at);
	assert_int_equal(socket_diag_inet(&d, IPPROTO_UDP, &one_at, &other_at), inode_of(one));
	assert_int_equal(socket_diag_inet(&d, IPPROTO_UDP, &other_at, &one_at), 0); /* it is nobody's yet */
	connect_to(other, &one_at);
	assert_int_equal(socket_diag_inet(&d, IPPROTO_UDP, &one_at, &other_at), inode_of(one));
	assert_int_equal(socket_diag_inet(&d, IPPROTO_UDP, &other_at, &one_at), inode_of(other));
	socket_diag_close(&d);
	close(one);
	close(other);
}

static bool can_ask_of_datagrams(void)
{
	struct socket_diag d = { 0 };
	int fd = datagram(1, 0);
	struct sockaddr_storage at = own_address(fd);
	bool can;

	connect_to(fd, &at);
	can = socket_diag_inet(&d, IPPROTO_UDP, &at, &at) == inode_of(fd); /* a kernel may have no udp_diag */
	socket_diag_close(&d);
	close(fd);
	return can;
}

static void test_datagram_sockets_are_found_by_their_addresses(void **unused)
{
	(void)unused;
	if (!can_ask_of_datagrams())
		skip();
	two_datagram_sockets_are_told_apart(false);
	two_datagram_sockets_are_told_apart(true);
}

/* An address of this machine that is not 127.0.0.1. */
static bool outer_address(struct sockaddr_in *a)
{
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all) != 0)
		return false;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		const struct sockaddr_in *its = (const void *)i->ifa_addr;

		if (found || !its || its->sin_family != AF_INET || ntohl(its->sin_addr.s_addr) >> 24 == 127)
			continue;
		*a = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = its->sin_addr };
		found = true;
	}
	freeifaddrs(all);
	return found;
}

/* Until it is accepted its other end is nobody's, by whichever of this machine's addresses it is connected. */
static void test_one_to_this_machines_own_address_is_asked_again(void **unused)
{
	struct proc_sockets s = { 0 };
	const struct proc_socket *found;
	struct sockaddr_storage at;
	struct sockaddr_in a;
	int there, near, far;

	(void)unused;
	if (!can_ask() || !outer_address(&a))
		skip();
	there = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(there, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(there, 4), 0);
	at = own_address(there);
	near = socket(AF_INET, SOCK_STREAM, 0);
	connect_to(near, &at);
	found = proc_sockets_find(&s, (uint32_t)getpid(), near, inode_of(near));
	assert_non_null(found);
	assert_false(found->sure);
	far = accept(there, NULL, NULL);
	for (int i = 0; i < 3000 && !found->sure; i++) {
		usleep(1000);
		found = proc_sockets_find(&s, (uint32_t)getpid(), near, inode_of(near));
	}
	assert_true(found->sure);
	assert_int_equal(found->peer, inode_of(far));
	proc_sockets_free(&s);
	close(far);
	close(near);
	close(there);
}

/* A line has 150 bytes: of so many no more than two have room. */
static void test_of_a_long_list_the_beginning_is_read(void **unused)
{
	int fd[MANY];
	unsigned port, found[2] = { 0, 0 };

	(void)unused;
	for (int i = 0; i < MANY; i++)
		fd[i] = listening(&port);
	for (int cut = 0; cut < 2; cut++) {
		struct socket_lists l = { .most = cut ? 400 : 0 };

		for (int i = 0; i < MANY; i++) {
			struct socket_line line;

			found[cut] += socket_lists_find(&l, (uint32_t)getpid(), inode_of(fd[i]), &line);
			assert_true(!l.text[0] || !cut || strlen(l.text[0]) <= 400);
		}
		socket_lists_free(&l);
	}
	for (int i = 0; i < MANY; i++)
		close(fd[i]);
	if (!found[0])
		skip(); /* an emulator's /proc, say */
	assert_int_equal(found[0], MANY);
	assert_true(found[1] <= 2);
}

static void test_a_list_tells_both_ends(void **unused)
{
	struct socket_lists l = { 0 };
	struct socket_line line;
	char name[64];
	unsigned port;
	int there = listening(&port), near = connected(false, port), far = accept(there, NULL, NULL);

	(void)unused;
	snprintf(name, sizeof(name), "tcp:127.0.0.1:%u", port);
	if (!socket_lists_find(&l, (uint32_t)getpid(), inode_of(near), &line))
		skip();
	assert_string_equal(line.name, name);
	assert_int_equal(line.peer, inode_of(far));
	assert_true(line.connected);
	assert_true(socket_lists_find(&l, (uint32_t)getpid(), inode_of(there), &line) || l.not_before_ns);
	socket_lists_free(&l);
	close(far);
	close(near);
	close(there);
}

/* Nobody knows whether it is the same: here one that is no more, whose namespace is none, after another such. */
static void test_a_list_of_a_namespace_that_is_not_known_is_of_one_process(void **unused)
{
	struct socket_lists l = { .read_ns = mono_ns(), .not_before_ns = UINT64_MAX };
	struct socket_line line;

	(void)unused;
	l.text[0] = strdup(
		"   0: 0100007F:0050 0100007F:0051 01 00000000:00000000 00:00000000 00000000     0        0 4711 1 \n");
	assert_false(socket_lists_find(&l, INT32_MAX, 4711, &line));
	socket_lists_free(&l);
}

/* As when its number was closed and used again, or the process has ended. */
static void test_of_a_descriptor_that_is_another_by_now_no_copy_is_taken(void **unused)
{
	struct proc_sockets s = { 0 };
	unsigned port;
	int there = listening(&port), near = connected(false, port), ends[2];
	int process = (int)syscall(SYS_pidfd_open, getpid(), 0); /* an emulator may have none */

	(void)unused;
	assert_int_equal(pipe(ends), 0);
	copies_taken = 0;
	proc_sockets_find(&s, (uint32_t)getpid(), ends[0], inode_of(near));
	proc_sockets_find(&s, (uint32_t)getpid(), there, inode_of(near) + (1ull << 40));
	assert_int_equal(copies_taken, 0);
	proc_sockets_find(&s, (uint32_t)getpid(), there, inode_of(there));
	assert_int_equal(copies_taken, 1);
	proc_sockets_free(&s);
	close(process);
	close(ends[0]);
	close(ends[1]);
	close(near);
	close(there);
}

/* A copy, for however short a time, would keep its port in use when it is closed. */
static void test_one_that_listens_is_asked_once_at_most(void **unused)
{
	struct proc_sockets s = { 0 };
	struct proc_files *files = proc_files_new();
	static struct proc_fd out;
	unsigned port;
	int there = listening(&port);
	int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int copy = process >= 0 ? (int)syscall(SYS_pidfd_getfd, process, there, 0) : -1;

	(void)unused;
	if (copy < 0)
		skip(); /* no descriptor can be copied here */
	close(copy);
	copies_taken = 0;
	for (int i = 0; i < 4; i++) {
		proc_sockets_find(&s, (uint32_t)getpid(), there, inode_of(there));
		usleep(25000);
	}
	assert_int_equal(copies_taken, process >= 0);
	copies_taken = 0;
	assert_true(proc_fd_read_listening(files, (uint32_t)getpid(), there, &out));
	assert_int_equal(out.kind, GST_FD_SOCKET);
	assert_int_equal(copies_taken, 0);
	proc_files_free(files);
	proc_sockets_free(&s);
	close(process);
	close(there);
}

/* As where all of a process's sockets are looked through. */
static void test_of_whom_nobody_waits_at_the_other_end_is_told_without_a_copy(void **unused)
{
	struct proc_sockets s = { 0 };
	unsigned port;
	int there, near, far, pair[2];

	(void)unused;
	if (!can_ask())
		skip();
	there = listening(&port);
	near = connected(false, port);
	far = accept(there, NULL, NULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	copies_taken = 0;
	assert_int_equal(proc_sockets_peer(&s, inode_of(pair[0])), inode_of(pair[1]));
	assert_int_equal(proc_sockets_peer(&s, inode_of(near)), 0);
	assert_int_equal(copies_taken, 0);
	/* What is known since somebody waited there. */
	proc_sockets_find(&s, (uint32_t)getpid(), near, inode_of(near));
	assert_int_equal(proc_sockets_peer(&s, inode_of(near)), inode_of(far));
	proc_sockets_free(&s);
	close(pair[0]);
	close(pair[1]);
	close(far);
	close(near);
	close(there);
}

/* More than may be known at a time: all are told of, none is kept for ever. */
static void test_many_sockets_take_a_bounded_room(void **unused)
{
	struct proc_sockets s = { 0 };
	int pair[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	for (uint64_t inode = 1; inode < 100000; inode++) {
		struct proc_socket *at = s.at;

		/* Far beyond any there is, so that nobody is asked for long. */
		proc_sockets_find(&s, UINT32_MAX, -1, inode << 32);
		assert_true(!at || s.at == at);
		s.lists.not_before_ns = UINT64_MAX;
	}
	if (can_ask()) {
		const struct proc_socket *found = proc_sockets_find(&s, (uint32_t)getpid(), pair[0], inode_of(pair[0]));

		assert_non_null(found);
		assert_int_equal(found->peer, inode_of(pair[1]));
	}
	proc_sockets_free(&s);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_connection_is_found_by_its_addresses),
		cmocka_unit_test(test_so_is_one_whose_addresses_are_mapped),
		cmocka_unit_test(test_no_list_is_read_for_it),
		cmocka_unit_test(test_datagram_sockets_are_found_by_their_addresses),
		cmocka_unit_test(test_one_to_this_machines_own_address_is_asked_again),
		cmocka_unit_test(test_of_a_long_list_the_beginning_is_read),
		cmocka_unit_test(test_a_list_tells_both_ends),
		cmocka_unit_test(test_a_list_of_a_namespace_that_is_not_known_is_of_one_process),
		cmocka_unit_test(test_of_a_descriptor_that_is_another_by_now_no_copy_is_taken),
		cmocka_unit_test(test_one_that_listens_is_asked_once_at_most),
		cmocka_unit_test(test_of_whom_nobody_waits_at_the_other_end_is_told_without_a_copy),
		cmocka_unit_test(test_many_sockets_take_a_bounded_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
