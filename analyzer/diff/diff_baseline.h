/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_baseline.h: runs as a file to keep beside the code: all that a comparison asks of them, in JSON (schema "gpushim.baseline/1").
 *
 * A newer version may add keys, and causes: a reader passes over keys that it does not know, and counts the time of a cause that it does not know as
 * unexplained, so that sums hold. Anything else raises the schema's number, and is refused by who knows a lower one. What is 0 may be left
 * out. Whole numbers are exact; others are written so that they are read as the same.
 *
 * A file is not trusted: how many things it may hold, how deep they nest, how long texts are and how large numbers is limited; an object whose parts do
 * not sum to its whole is refused. */
#pragma once

#include <stdio.h>

#include "diff_run.h"

#define BASELINE_SCHEMA "gpushim.baseline/"
#define BASELINE_VERSION 1
#define BASELINE_RUNS 256
#define BASELINE_DEVICES 1024 /* of a run */
#define BASELINE_FACTS 64
#define BASELINE_TEXT 4096            /* bytes of a text; kept is what diff_keep_text() keeps */
#define BASELINE_DEPTH 16             /* of what is passed over, too */
#define BASELINE_NUMBER ((int64_t)1 << 56) /* either way: two years, 64 PiB */
#define BASELINE_BYTES ((uint64_t)64 << 20) /* of the file; lists may take four times as much memory */

/* The same runs give the same bytes. ERR_SYSTEM: they cannot be written. */
enum err_kind diff_baseline_write(FILE *out, const struct diff_run *runs, size_t n, struct error *e);

/* *runs is the caller's: diff_run_free() each, then free(). After a failure there are none. */
enum err_kind diff_baseline_read(struct diff_run **runs, size_t *n, const char *path, struct error *e);
