/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h: a subcommand's options are rows; they give parsing, limits and help. Nothing here prints.
 *
 *   static const struct option_row rows[] = {
 *           { "top", 0, OPT_COUNT, offsetof(struct report_opts, top), "N", "list the N longest gaps (8)", 0, OPTION_ANY },
 *   }; */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

enum option_type {
	OPT_FLAG,  /* bool */
	OPT_COUNT, /* size_t, max at the most */
	OPT_TEXT,  /* const char *, borrowed from argv */
	OPT_WORD,  /* const char *: one of those that `value` lists with | between them */
	OPT_MAYBE, /* size_t, as COUNT; the number may be left out (--stacks, --stacks=99): OPTION_USUAL then */
	OPT_LIST,  /* struct option_list: as TEXT, and may be given several times */
	OPT_RUN,   /* int: a number, "all" or "last" (enum option_run) */
};

enum option_run { OPTION_RUN_LAST = -1, OPTION_RUN_ALL = -2 }; /* as run.h has them */

#define OPTION_LIST 32

struct option_list {
	const char *at[OPTION_LIST]; /* borrowed from argv */
	size_t n;
};

struct option_row {
	const char *name;
	char letter; /* 0 none */
	enum option_type type;
	size_t offset; /* of the value in the struct that is filled in */
	const char *value; /* what help calls it; NULL for a flag */
	const char *help;
	size_t min, max;
};

#define OPTION_USUAL SIZE_MAX
#define OPTION_ANY (SIZE_MAX - 1) /* as max: no limit worth naming */

struct option_set {
	const char *usage; /* "PATH… [options]" */
	const struct option_row *rows;
	size_t n_rows;
	size_t min_paths, max_paths;
	const char *missing; /* what is said where there are too few; NULL: that no run directory is named */
	const char *alone;   /* "json why": options that exclude each other; NULL none */
	const char *files;   /* "gst json": what files it takes beside directories, by their ends, for completion; NULL: as every command that reads traces */
	bool ends;           /* the first word that is no option ends them: the rest is another program's */
};

/* Fills *values (set to the defaults before). What is no option is moved to the end of argv: argv[*first] … argv[argc - 1].
 * *help is set by --help. argv[0] is the subcommand. ERR_USAGE with the fact, else ERR_NONE. */
enum err_kind options_parse(const struct option_set *set, int argc, char *argv[], void *values, int *first, int *help,
			    struct error *e);

/* Is this option one of those that exclude each other? */
bool options_exclude(const struct option_set *set, const char *name);

/* "-n, --top N", "    --stacks[=HZ]" */
#define OPTIONS_LEFT 80
const char *options_left(char buf[OPTIONS_LEFT], const struct option_row *row);

/* The lines of help, into buf; none is longer than 80 columns. */
void options_help(const struct option_set *set, const char *command, char *buf, size_t size);
