/* SPDX-License-Identifier: BSD-2-Clause */
/* root.h: the process that is to be followed: is it still the one that was meant, and what program is it by now? */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "../format.h"

/* A pidfd, of a number of 10 or more. 0: none to be had, of no process, or on this kernel (before 5.3). */
int root_open(pid_t pid);
/* Its number has been nobody else's since it was opened. True where there is no pidfd to tell by. */
bool root_is_same(int fd);

enum root_program { ROOT_GONE, ROOT_NOT_YET, ROOT_OTHER };

/* exe and cmdline into h. ROOT_NOT_YET: it runs what we run, as a child of ours before its exec does, or is about to run another. */
enum root_program root_program(pid_t pid, struct gst_file_header *h);
