/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_output.h: a file for the user that is there whole or not at all. It is written beside its place, and takes it when it is complete;
 * what was there before stays until then, and after an error. Whoever looks (a browser, node_exporter) never sees a half.
 * Written in place is what cannot be exchanged like that: standard output, pipes, devices, a file with several hard links or one whose
 * owner we cannot give to another, a file in a folder that takes no new ones. Links are followed, permissions kept. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "tools/error.h"

struct output {
	const char *name; /* as the user calls it */
	FILE *file;       /* *.gz: packed on its way */
	char *path;       /* what is written; NULL: standard output, or in place */
	char *target;     /* what it becomes */
	char *scratch;    /* output_path's, if it is another file */
	bool packed;
};

#define OUTPUT_CLOSED { NULL, NULL, NULL, NULL, NULL, false }

/* name "-": standard output. Returns the exit status; what went wrong is said. */
int output_open(struct output *o, const char *name);

/* Would both take one place? */
bool output_same(const struct output *a, const struct output *b);

/* For who cannot write in one go: an empty file, to be filled by its name; its content is what output_close puts into place. Then nothing is to be
 * written to `file`. NULL: it cannot be made. */
const char *output_path(struct output *o, struct error *e);

/* With status 0 the file takes its place, else it is gone. Returns the status, of writing where that was 0. Nothing for one that is not open. */
int output_close(struct output *o, int status);
