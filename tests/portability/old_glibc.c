/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program's objects, compiled with this system's headers, ask for and an older libc does not have under that name. Linked with
 * them and with the old libraries they make a program that runs there. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OLD __attribute__((visibility("hidden")))

struct stat;
OLD int fstat(int fd, struct stat *st);
OLD int fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

OLD int stat(const char *path, struct stat *st);
OLD int stat(const char *path, struct stat *st)
{
	return (int)syscall(SYS_stat, path, st);
}

/* glibc 2.38 has other names for these where the newest C is spoken. */
long old_strtol(const char *text, char **end, int base) __asm__("strtol");
unsigned long old_strtoul(const char *text, char **end, int base) __asm__("strtoul");
int old_vsscanf(const char *text, const char *format, va_list args) __asm__("vsscanf");

OLD long __isoc23_strtol(const char *text, char **end, int base);
OLD long __isoc23_strtol(const char *text, char **end, int base)
{
	return old_strtol(text, end, base);
}

OLD long __isoc23_strtoll(const char *text, char **end, int base) __attribute__((alias("__isoc23_strtol")));

OLD unsigned long __isoc23_strtoul(const char *text, char **end, int base);
OLD unsigned long __isoc23_strtoul(const char *text, char **end, int base)
{
	return old_strtoul(text, end, base);
}

OLD unsigned long __isoc23_strtoull(const char *text, char **end, int base) __attribute__((alias("__isoc23_strtoul")));

OLD int __isoc23_sscanf(const char *text, const char *format, ...);
OLD int __isoc23_sscanf(const char *text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = old_vsscanf(text, format, args);
	va_end(args);
	return n;
}
