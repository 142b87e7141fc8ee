/* SPDX-License-Identifier: BSD-2-Clause */
/* out_file.h: a file to be written that remembers why it could not be. stdio keeps that an earlier write failed, not the reason. */
#pragma once

#include <stdio.h>

/* As fdopen(fd, "w"); fclose fails with the errno of the first write that did. */
FILE *out_file_open(int fd);
