/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sqlite_static.c: of the statically linked program alone (Makefile: --wrap). SQLite loads extensions by dlopen where it is asked to,
 * which it never is here; the C library's would need the very library that the program was linked with, and the linker warns of it. */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}
