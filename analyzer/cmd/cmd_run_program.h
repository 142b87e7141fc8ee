/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_run_program.h: what a process will be once it has executed a command line. */
#pragma once

#include "shim/format.h"

struct run_program {
	char exe[sizeof(((struct gst_file_header *)0)->exe)];
	char cmdline[sizeof(((struct gst_file_header *)0)->cmdline)];
};

/* As /proc will have it where argv[0] leads to an executable, as execvp finds it, which is not a script. Nowhere: exe is argv[0]. */
void run_program_guess(struct run_program *p, char *const argv[]);
