/* SPDX-License-Identifier: BSD-2-Clause */
/* elsewhere.h: a trace that is not in its run directory: the note that says where it is (FORMAT.md, "Elsewhere"), and its move there. Both touch
 * the run directory, whose server may not answer. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct elsewhere {
	char local[PATH_MAX + 256]; /* where it is */
	const char *end;            /* of its name there and here: ".gst" */
	uint32_t pid;
	uint64_t inode;
	uint64_t start_ticks;
	uint64_t begin_real_ns;
	const char *run_id;
	char note[128];             /* its name in the run directory; "" none */
};

bool elsewhere_leave_note(struct elsewhere *e, const char *run_dir);

/* The trace, then no note, then no trace elsewhere. The lock tells whoever finds the note that it is being moved. Its name goes to `name`.
 * 0, or an errno: it stays where it is. */
int elsewhere_move(const struct elsewhere *e, const char *run_dir, char name[128]);
