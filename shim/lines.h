/* SPDX-License-Identifier: BSD-2-Clause */
/* lines.h: a text file of /proc by lines, without allocation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lines {
	int fd;
	size_t at, used;
	char buffer[4096];
};

bool lines_open(struct lines *l, const char *path);
/* The next line without its end; what does not fit into `line` is left out. False: no more. */
bool lines_next(struct lines *l, char *line, size_t size);
void lines_close(struct lines *l);
