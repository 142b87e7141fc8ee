/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd.h: the subcommands, and what they share. Only these print on standard output and error. */
#pragma once

#include "report/report.h"
#include "tools/options.h"

struct command {
	const char *name;
	int (*run)(int argc, char *argv[]); /* argv[0] is the name; returns the exit status */
	const char *what;
	const struct option_set *options;
	bool capable; /* it has a use for capabilities (setcap) */
	bool hidden;  /* for scripts: help does not list it */
};

extern const struct command commands[];
extern const size_t n_commands;
const struct command *command_find(const char *name); /* NULL: there is none */

int cmd_run(int argc, char *argv[]);
int cmd_host(int argc, char *argv[]);
int cmd_report(int argc, char *argv[]);
int cmd_diff(int argc, char *argv[]);
int cmd_export(int argc, char *argv[]);
int cmd_info(int argc, char *argv[]);
int cmd_pack(int argc, char *argv[]);
int cmd_unpack(int argc, char *argv[]);
int cmd_doctor(int argc, char *argv[]);
int cmd_completion(int argc, char *argv[]);
int cmd_help(int argc, char *argv[]); /* `gpushim help`, `gpushim help report`; no row of the table: no options, and every command's page */

extern const struct option_set cmd_run_options, cmd_host_options, cmd_report_options, cmd_diff_options, cmd_export_options, cmd_info_options, cmd_pack_options, cmd_unpack_options, cmd_doctor_options,
	cmd_completion_options;

/* `gpushim help`, and what is said where no command is named. */
void cmd_usage(FILE *out);
int cmd_unknown(const char *name);

/* Analyses the run and hands its summary on; what went wrong is said. Returns the exit status. symbols NULL: as usual. */
int cmd_analyse(const struct run *run, const struct symbol_options *symbols, int (*use)(const struct summary *s, const void *arg), const void *arg);

/* A reader that went away is a write error, reported as one, and no signal. A program that we run gets the signals as we found them. */
void cmd_signals_start(void);
void cmd_signals_restore(void);

/* From now on how far long work is stands on standard error, if that is a terminal that can take a line back. */
void cmd_progress_start(void);
/* The command does no more than read. */
void cmd_progress_read_only(void);
/* … or it writes tables in the end. */
void cmd_progress_tables(void);
/* It writes a page when all is known. */
void cmd_progress_page(void);
/* Takes the line back: something else is printed. */
void cmd_progress_clear(void);

/* "gpushim: run.gst: byte 4176: record of 65535 bytes, 120 left", then what to try, if anything. Returns the exit status. */
int cmd_fail(const struct error *e, const char *hint);
/* … of no byte: why this file is not taken. */
int cmd_refuse(enum err_kind kind, const char *file, const char *why, const char *hint);

/* options_parse; -1 to go on, else the exit status, everything said. */
int cmd_options(const struct option_set *set, int argc, char *argv[], void *values, int *first);

/* Says on standard error which run of several this is. */
void cmd_say_run(const struct run *run, int which);

/* A usage error where the file to be written is one of those that are being read. */
int cmd_refuse_recording(const struct run *run, const char *path);

/* One line per damaged file and per trace that is not here; ERR_FORMAT if there was one, else ERR_NONE. */
int cmd_damage(const struct run *run);

/* From the environment, and the terminal if fd is one. */
struct report_style cmd_style(int fd);

/* ERR_SYSTEM with the reason when something could not be written. name: what the user calls the file. */
int cmd_finish(FILE *out, const char *name, int status);
