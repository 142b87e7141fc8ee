/* SPDX-License-Identifier: BSD-2-Clause */
/* file_copy.h: all of one file into a new one; what is zero is left out, so that what was allocated and never used costs nothing. */
#pragma once

/* 0, or an errno. When it returns 0, the file system has accepted every byte. */
int file_copy(int from, int to);
