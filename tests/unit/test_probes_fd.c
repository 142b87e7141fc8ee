/* SPDX-License-Identifier: BSD-2-Clause */
/* What a descriptor of another process is: here a child's, which has those of its parent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/probes/proc_fd.h"

static struct proc_files *files;

/* What fd is in a process that has it too. */
static struct proc_fd *of_a_child(int fd)
{
	static struct proc_fd out;
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	memset(&out, 0, sizeof(out));
	assert_true(proc_fd_read(files, (uint32_t)child, fd, &out));
	assert_false(proc_fd_read(files, (uint32_t)child, 987, &(struct proc_fd){ .pos = 0 }));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return &out;
}

static uint64_t inode_of(int fd)
{
	struct stat s;

	assert_int_equal(fstat(fd, &s), 0);
	return s.st_ino;
}

static void test_a_file(void **unused)
{
	char path[] = "/var/tmp/probes-fd-XXXXXX";
	int fd = mkstemp(path);
	struct proc_fd *f;
	struct statfs fs;
	struct stat s;

	(void)unused;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(lseek(fd, 12345, SEEK_SET), 12345);
	assert_int_equal(fstat(fd, &s), 0);
	assert_int_equal(fstatfs(fd, &fs), 0);
	f = of_a_child(fd);
	assert_string_equal(f->name, path);
	assert_int_equal(f->kind, GST_FD_FILE);
	assert_int_equal(f->pos, 12345);
	assert_int_equal(f->inode, s.st_ino);
	assert_int_equal(f->dev, major(s.st_dev) << 20 | minor(s.st_dev));
	assert_int_equal(f->fs, (uint32_t)fs.f_type);
	assert_int_equal(f->ends, GST_PIPE_READS | GST_PIPE_WRITES);
	unlink(path);
	close(fd);
}

static void test_the_ends_of_a_pipe(void **unused)
{
	int ends[2];
	char name[64];
	struct proc_fd *f;

	(void)unused;
	assert_int_equal(pipe(ends), 0);
	snprintf(name, sizeof(name), "pipe:[%llu]", (unsigned long long)inode_of(ends[0]));
	f = of_a_child(ends[0]);
	assert_string_equal(f->name, name);
	assert_int_equal(f->kind, GST_FD_PIPE);
	assert_int_equal(f->inode, inode_of(ends[0]));
	assert_int_equal(f->ends, GST_PIPE_READS);
	assert_int_equal(f->pos, UINT64_MAX);
	f = of_a_child(ends[1]);
	assert_int_equal(f->ends, GST_PIPE_WRITES);
	close(ends[0]);
	close(ends[1]);
}

/* An emulator may have no way to ask the kernel about sockets. */
static bool can_ask(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void test_a_unix_socket_knows_its_peer(void **unused)
{
	int pair[2];
	char name[64];
	struct proc_fd *f;

	(void)unused;
	if (!can_ask())
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	snprintf(name, sizeof(name), "unix:[%llu]:[%llu]", (unsigned long long)inode_of(pair[0]),
		 (unsigned long long)inode_of(pair[1]));
	f = of_a_child(pair[0]);
	assert_int_equal(f->kind, GST_FD_SOCKET);
	assert_string_equal(f->name, name);
	assert_int_equal(f->peer, inode_of(pair[1]));
	close(pair[0]);
	close(pair[1]);
}

/* A connection to ourselves: the end that connected, and the one that was accepted. */
static unsigned connected(int family, const struct sockaddr *address, socklen_t size, int ends[3])
{
	struct sockaddr_in6 there; /* the port stands at the same place in both families */

	ends[2] = socket(family, SOCK_STREAM, 0);
	if (ends[2] < 0 || bind(ends[2], address, size) != 0 || listen(ends[2], 1) != 0)
		return 0;
	assert_int_equal(getsockname(ends[2], (struct sockaddr *)&there, &(socklen_t){ sizeof(there) }), 0);
	ends[0] = socket(family, SOCK_STREAM, 0);
	assert_int_equal(connect(ends[0], (struct sockaddr *)&there, size), 0);
	ends[1] = accept(ends[2], NULL, NULL);
	assert_true(ends[1] >= 0);
	return ntohs(there.sin6_port);
}

static void check_connection(unsigned port, int ends[3], const char *form)
{
	char name[64];
	struct proc_fd *f;

	snprintf(name, sizeof(name), form, port);
	f = of_a_child(ends[0]);
	assert_int_equal(f->kind, GST_FD_SOCKET);
	assert_string_equal(f->name, name);
	assert_int_equal(f->inode, inode_of(ends[0]));
	/* The list is not read twice in a hurry; the other end was not to be found then. */
	assert_int_equal(f->peer, inode_of(ends[1]));
	for (int i = 0; i < 3; i++)
		close(ends[i]);
}

static void test_a_tcp_connection(void **unused)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int ends[3];
	unsigned port = connected(AF_INET, (struct sockaddr *)&four, sizeof(four), ends);

	(void)unused;
	if (!port || !can_ask())
		skip();
	check_connection(port, ends, "tcp:127.0.0.1:%u");
}

static void test_a_tcp_connection_of_the_new_kind(void **unused)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int ends[3];
	unsigned port = connected(AF_INET6, (struct sockaddr *)&six, sizeof(six), ends);

	(void)unused;
	if (!port)
		skip();
	proc_files_free(files); /* nor right after another was looked for */
	files = proc_files_new();
	check_connection(port, ends, "tcp:[::1]:%u");
}

static void test_what_is_neither(void **unused)
{
	int fd = epoll_create1(0), nothing = open("/dev/null", O_RDONLY);
	struct proc_fd *f;

	(void)unused;
	f = of_a_child(fd);
	assert_string_equal(f->name, "anon_inode:[eventpoll]");
	assert_int_equal(f->kind, GST_FD_OTHER);
	f = of_a_child(nothing);
	assert_string_equal(f->name, "/dev/null");
	assert_int_equal(f->kind, GST_FD_OTHER);
	close(fd);
	close(nothing);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file),
		cmocka_unit_test(test_the_ends_of_a_pipe),
		cmocka_unit_test(test_a_unix_socket_knows_its_peer),
		cmocka_unit_test(test_a_tcp_connection),
		cmocka_unit_test(test_a_tcp_connection_of_the_new_kind),
		cmocka_unit_test(test_what_is_neither),
	};

	int failed;

	files = proc_files_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_files_free(files);
	return failed;
}
