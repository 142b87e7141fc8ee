/* SPDX-License-Identifier: BSD-2-Clause */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "cmd_secure.h"
#include "text.h"

static const struct command commands[] = {
	{ "run", cmd_run, "record a program, and report when it has ended", true },
	{ "host", cmd_host, "follow a process that runs already: what its threads wait for", true },
	{ "report", cmd_report, "how long each device was idle, and why", false },
	{ "export", cmd_export, "the run for other tools: timelines, stacks, metrics, tables", false },
	{ "info", cmd_info, "what was recorded, what was lost, whether it can be trusted", false },
	{ "doctor", cmd_doctor, "what this machine lets a recording see, and what would let it see more", true },
};

static void usage(FILE *out)
{
	fputs("usage: gpushim run [-o DIR] -- PROGRAM [ARGUMENTS]\n       gpushim host -p PID [-o DIR]\n       gpushim COMMAND PATH... [options]\n\n",
	      out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].what);
	fputs("\nPATH is a run directory (gpushim-out) or a .gst file. gpushim COMMAND --help lists a command's options.\n"
	      "Exit status: 0 fine, 2 usage, 3 bad input, 4 system.\n",
	      out);
}

static int unknown(const char *name)
{
	char clean[64];

	fprintf(stderr, "gpushim: there is no command %s\n", text_clean(clean, sizeof(clean), name, 40));
	fputs("try: gpushim help\n", stderr);
	return ERR_USAGE;
}

/* Whoever calls us could have a file of the other user's written or read, by options and variables. */
static int set_user_id(void)
{
	fputs("gpushim: runs with another user's or group's rights (set-user-ID), which it is not made for\n"
	      "try: sudo chmod u-s,g-s on its file; for host probes sudo setcap cap_bpf,cap_perfmon+ep\n",
	      stderr);
	return ERR_SYSTEM;
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(name, commands[i].name) == 0)
			return &commands[i];
	}
	return NULL;
}

/* `help report` is `report --help`. */
static int help(char *about)
{
	static char option[] = "--help";
	char *argv[] = { about, option, NULL };
	const struct command *c = about ? find(about) : NULL;

	if (c)
		return c->run(2, argv);
	if (about)
		return unknown(about);
	usage(stdout);
	return cmd_finish(stdout, "standard output", 0);
}

int main(int argc, char *argv[])
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct command *c = find(name);

	if (!secure_start(argc, argv, c && c->capable))
		return set_user_id();
	setlocale(LC_CTYPE, "");
	cmd_signals_start();
	cmd_progress_start();
	if (c)
		return c->run(argc - 1, argv + 1);
	if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return help(argc > 2 ? argv[2] : NULL);
	if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
		puts("gpushim " GPUSHIM_VERSION);
		return cmd_finish(stdout, "standard output", 0);
	}
	if (*name)
		return unknown(name);
	usage(stderr);
	return ERR_USAGE;
}
