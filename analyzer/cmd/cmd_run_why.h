/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_run_why.h: why a program that ran left no recording. */
#pragma once

#include <stddef.h>

/* One line without an end, into buf. program: as it was called, looked up in PATH. */
void why_nothing(char *buf, size_t size, const char *program);
