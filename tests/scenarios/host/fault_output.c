/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_output.c: the thread writes a log, in small pieces: to a pipe or terminal whose reader is slow, or to a file of which each write has to be on
 * the disk ($LAB_WAY). */
#include "work.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>

#define LINE 256
#define SMALL 4096 /* the pipe's room: a reader that is slow is felt at once */

enum way { WAY_PIPE, WAY_SOCKET, WAY_TERMINAL, WAY_FILE };

static char line[LINE];
static int out = -1;
static long way;
static pid_t reader;

/* Another process, which reads what there is, and then does something else for a while. */
static void read_slowly(int in)
{
	char buffer[SMALL];
	long every = lab_param("LAB_READER_NS", MS / 2);
	struct span s = span_begin("output-io", "holder", -1);

	while (read(in, buffer, sizeof(buffer)) > 0)
		sleep_ns(every);
	span_end(&s);
	truth_write();
	_exit(0);
}

static void open_ends(int ends[2])
{
	struct termios raw;
	int size = SMALL;

	switch (way) {
	case WAY_SOCKET:
		REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
		REQUIRE(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == 0);
		break;
	case WAY_TERMINAL:
		REQUIRE(openpty(&ends[0], &ends[1], NULL, NULL, NULL) == 0);
		REQUIRE(tcgetattr(ends[1], &raw) == 0);
		cfmakeraw(&raw);
		REQUIRE(tcsetattr(ends[1], TCSANOW, &raw) == 0);
		break;
	default:
		REQUIRE(pipe(ends) == 0);
		REQUIRE(fcntl(ends[1], F_SETPIPE_SZ, SMALL) >= 0);
	}
}

static void open_output(void)
{
	int ends[2];

	memset(line, '.', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\n';
	way = lab_param("LAB_WAY", WAY_PIPE);
	if (way == WAY_FILE) {
		REQUIRE((out = open(getenv("LAB_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_DSYNC | O_CLOEXEC, 0666)) >=
			0);
		return;
	}
	open_ends(ends);
	REQUIRE((reader = fork()) >= 0);
	if (reader == 0) {
		truth_child();
		close(ends[1]);
		read_slowly(ends[0]);
	}
	close(ends[0]);
	out = ends[1];
	fcntl(out, F_SETFD, FD_CLOEXEC);
}

/* Until the step's time is over, and a line at least. */
static void act_output(long step)
{
	long until = lab_now() + lab_length(step);
	struct span s = span_begin("output-io", "main", step);

	do
		REQUIRE(write(out, line, sizeof(line)) == sizeof(line));
	while (lab_now() < until);
	span_end(&s);
}

static void close_output(void)
{
	close(out);
	if (reader)
		REQUIRE(waitpid(reader, NULL, 0) == reader);
}

const struct fault fault_output = { "output", open_output, NULL, act_output, close_output };
