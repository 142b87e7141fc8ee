/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_help.c: what there is, and every command's page: by man where it is there and has ours, else by ourselves. */
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "cmd_manual.h"
#include "tools/text.h"

void cmd_usage(FILE *out)
{
	fputs("usage: gpushim run [-o DIR] -- PROGRAM [ARGUMENTS]\n       gpushim host -p PID [-o DIR]\n       gpushim COMMAND PATH... [options]\n\n",
	      out);
	for (size_t i = 0; i < n_commands; i++)
		if (!commands[i].hidden)
			fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].what);
	fputs("\nPATH is a run directory (gpushim-out), a .gst file, an archive of these, a\n"
	      "Kineto trace or an export of Nsight Systems. gpushim help COMMAND is a\n"
	      "command's page, gpushim COMMAND --help its options.\n"
	      "Exit status: 0 fine, 2 usage, 3 bad input, 4 system.\n",
	      out);
}

int cmd_unknown(const char *name)
{
	char clean[64];

	fprintf(stderr, "gpushim: there is no command %s\n", text_clean(clean, sizeof(clean), name, 40));
	fputs("try: gpushim help\n", stderr);
	return ERR_USAGE;
}

/* The page's file: beside this program as it is built, or where `make install` puts it. */
static bool find_page(const char *name, char path[PATH_MAX])
{
	static const char *const places[] = { "man", "../share/man/man1" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = 0;
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(path, PATH_MAX, "%s/%s/%s.1", self, places[i], name) < PATH_MAX && access(path, R_OK) == 0)
			return true;
	return false;
}

/* False: man could not. */
static bool by_man(const char *name)
{
	extern char **environ;
	static char man[] = "man";
	char path[PATH_MAX], *argv[] = { man, path, NULL };
	int status = 0;
	pid_t pid;

	if (!isatty(STDOUT_FILENO) || !find_page(name, path))
		return false;
	cmd_signals_restore();
	if (posix_spawnp(&pid, man, NULL, NULL, argv, environ))
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int cmd_help(int argc, char *argv[])
{
	bool source = argc > 1 && strcmp(argv[1], "--man") == 0; /* for make install: the page as man reads it */
	const char *about = argc > 1 + source ? argv[1 + source] : NULL;
	const struct command *c = about ? command_find(about) : NULL;
	const struct report_style style = cmd_style(STDOUT_FILENO);
	char name[64];

	if (!c && about && strcmp(about, "gpushim") != 0)
		return cmd_unknown(about);
	if (!about && !source) {
		cmd_usage(stdout);
		return cmd_finish(stdout, "standard output", 0);
	}
	snprintf(name, sizeof(name), "gpushim%s%s", c ? "-" : "", c ? c->name : "");
	if (source)
		manual_source(stdout, c);
	else if (!by_man(name))
		manual_text(stdout, c, &style);
	return cmd_finish(stdout, "standard output", 0);
}
