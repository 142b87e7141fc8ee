/* SPDX-License-Identifier: BSD-2-Clause */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_secure.h"

/* Whoever calls us could have a file of the other user's written or read, by options and variables. */
static int set_user_id(void)
{
	fputs("gpushim: runs with another user's or group's rights (set-user-ID), which it is not made for\n"
	      "try: sudo chmod u-s,g-s on its file; for host probes sudo setcap cap_bpf,cap_perfmon+ep\n",
	      stderr);
	return ERR_SYSTEM;
}

int main(int argc, char *argv[])
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct command *c = command_find(name);

	if (!secure_start(argc, argv, c && c->capable))
		return set_user_id();
	setlocale(LC_CTYPE, "");
	cmd_signals_start();
	cmd_progress_start();
	if (c)
		return c->run(argc - 1, argv + 1);
	if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return cmd_help(argc - 1, argv + 1);
	if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
		puts("gpushim " GPUSHIM_VERSION);
		return cmd_finish(stdout, "standard output", 0);
	}
	if (*name)
		return cmd_unknown(name);
	cmd_usage(stderr);
	return ERR_USAGE;
}
