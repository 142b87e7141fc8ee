/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_table.c: every subcommand is a row: main, help, man pages and completion go by it. */
#include "cmd.h"

#include <string.h>

const struct command commands[] = {
	{ "run", cmd_run, "record a program, and report when it has ended", &cmd_run_options, true, false },
	{ "host", cmd_host, "follow a process that runs already: what its threads wait for", &cmd_host_options, true,
	  false },
	{ "report", cmd_report, "how long each device was idle, and why", &cmd_report_options, false, false },
	{ "diff", cmd_diff, "did idle time get worse, where, and are we sure", &cmd_diff_options, false, false },
	{ "export", cmd_export, "the run for other tools: timelines, stacks, metrics, tables", &cmd_export_options,
	  false, false },
	{ "info", cmd_info, "what was recorded, what was lost, whether it can be trusted", &cmd_info_options, false,
	  false },
	{ "pack", cmd_pack, "recordings into one small file, which every command reads", &cmd_pack_options, false,
	  false },
	{ "unpack", cmd_unpack, "the recordings of such a file, as they were", &cmd_unpack_options, false, false },
	{ "doctor", cmd_doctor, "what this machine lets a recording see, and what lets it see more",
	  &cmd_doctor_options, true, false },
	{ "completion", cmd_completion, "the completion of a shell, bash or zsh, as make install installs it",
	  &cmd_completion_options, false, true },
};

const size_t n_commands = sizeof(commands) / sizeof(commands[0]);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < n_commands; i++)
		if (strcmp(name, commands[i].name) == 0)
			return &commands[i];
	return NULL;
}
