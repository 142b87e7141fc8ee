/* SPDX-License-Identifier: BSD-2-Clause */
/* gzip.h: a file whose content is packed on its way. */
#pragma once

#include <stdio.h>

/* As fdopen(fd, "w"). What cannot be written shows as with any FILE: ferror, and fclose fails with errno set. */
FILE *gzip_open(int fd);
