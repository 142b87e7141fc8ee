/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_run_child.h: runs a program in the foreground as a shell would, passing on the signals that reach us alone.
 *
 * The program stays in our process group, so the terminal is its own: it reads, it is stopped by Ctrl-Z and we with it, it gets
 * Ctrl-C from the kernel. A signal sent to us alone (kill PID, a batch system, docker stop) is passed on, once. Where we are
 * killed outright, the program goes on: it may be a training run of days, and its recording needs nobody. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct child_end {
	bool refused; /* by child_watch.begin: it never ran */
	int error;  /* errno: it could not be started; 0: it was */
	int status; /* as waitpid has it */
};

/* begin is called before the program's first instruction, when it has its process; false: it is not to run. Where we are killed meanwhile, it
 * runs. NULL: nobody. */
/* watcher: whom the program's processes let look at them, where else only their ancestors may (Yama); 0 nobody. Until then we and ours may. */
struct child_watch {
	bool (*begin)(pid_t child, pid_t *watcher, void *arg);
	void *arg;
};

/* argv[0] is looked up in PATH. The program begins with the signals as we found them, and with our environment.
 * False: no process could be made, errno says why. */
bool child_run(char *const argv[], const struct child_watch *watch, struct child_end *end);

/* The exit status that says the same as the program's, or ends us by the signal that ended the program: does not return then,
 * unless we are process 1, which signals do not end (128 + signal). */
int child_exit_status(const struct child_end *end);
