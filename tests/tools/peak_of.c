/* SPDX-License-Identifier: BSD-2-Clause */
/* peak_of FILE COMMAND…: runs the command, and writes into the file how many bytes of memory it had at most. Its exit status is the command's, 128 and the
 * signal's number where one ended it. For scripts/bench-*: of a child that Python starts the kernel says no less than Python itself has. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	FILE *to = argc > 2 ? fopen(argv[1], "w") : NULL;
	pid_t child = to ? fork() : -1;
	struct rusage used;
	int status;

	if (child == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &used) != child) {
		fputs("usage: peak_of FILE COMMAND…\n", stderr);
		return EXIT_FAILURE;
	}
	fprintf(to, "%ld\n", used.ru_maxrss * 1024);
	fclose(to);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
