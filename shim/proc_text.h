/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_text.h: what stands in /proc, as text in the caller's memory, without allocation. All of it may be gone, forbidden or cut short at any moment. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The beginning of a file, NUL-terminated; its bytes, or -1 with errno. */
ssize_t proc_text_read(char *out, size_t size, const char *path, ...) __attribute__((format(printf, 3, 4)));
/* The same of a file that is open, from its beginning. */
ssize_t proc_text_again(int fd, char *out, size_t size);
/* What a symbolic link says; false: there is none, or not for us. */
bool proc_text_link(char *out, size_t size, const char *path, ...) __attribute__((format(printf, 3, 4)));

/* The number behind a name at the beginning of a line ("pos:\t12"); false: no such line. */
bool proc_text_field(const char *text, const char *name, int base, uint64_t *value);
/* The next number in a text, which goes on behind it; false: there is none. */
bool proc_text_number(const char **at, int base, uint64_t *value);
/* Where the line after this one begins; the end of the text if there is none. */
const char *proc_text_next_line(const char *at);

uint64_t mono_ns(void);
/* Of the calling thread. */
uint64_t thread_cpu_ns(void);
