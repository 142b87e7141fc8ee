/* SPDX-License-Identifier: BSD-2-Clause */
/* run_files_parts.h: what run_files.c (one file after another) and run_directory.c (which of a directory's) share, and
 * run_windows.c of it. */
#pragma once

#include <sys/stat.h>

#include "import/import.h"
#include "run_files.h"

enum err_kind run_files_no_memory(struct error *e);
bool run_files_ends_with(const char *text, const char *end);
/* Is it listed already, by whatever name? */
bool run_files_have(const struct run_files *files, const struct stat *st);
/* One file, whatever it is. */
enum err_kind run_files_add_file(struct run_files *files, const char *path, struct error *e);
/* … that is another tool's trace. */
enum err_kind run_files_import(struct run_files *files, const char *path, enum import_format format, const struct stat *st, struct error *e);
/* What is to be told of an imported trace. False: no memory. */
bool run_files_warn(struct trace *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum err_kind run_files_add_directory(struct run_files *files, const char *path, struct error *e);
