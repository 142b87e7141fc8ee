/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols_static.c: of the statically linked program alone (Makefile). libdw's own client of debug servers loads a library when the program
 * starts; a static program that does so needs the very C library that it was linked with, and it is carried to other machines. These
 * stand in its place, so that the linker leaves it out. `--debuginfod` is a program of its own and works all the same. */
#include <elfutils/libdwfl.h>
#include <stddef.h>

struct debuginfod_client *dwfl_get_debuginfod_client(Dwfl *dwfl);
int __libdwfl_debuginfod_find_executable(Dwfl *dwfl, const unsigned char *id, size_t n);
int __libdwfl_debuginfod_find_debuginfo(Dwfl *dwfl, const unsigned char *id, size_t n);
void __libdwfl_debuginfod_end(struct debuginfod_client *client);

struct debuginfod_client *dwfl_get_debuginfod_client(Dwfl *dwfl)
{
	(void)dwfl;
	return NULL;
}

int __libdwfl_debuginfod_find_executable(Dwfl *dwfl, const unsigned char *id, size_t n)
{
	(void)dwfl;
	(void)id;
	(void)n;
	return -1;
}

int __libdwfl_debuginfod_find_debuginfo(Dwfl *dwfl, const unsigned char *id, size_t n)
{
	(void)dwfl;
	(void)id;
	(void)n;
	return -1;
}

void __libdwfl_debuginfod_end(struct debuginfod_client *client)
{
	(void)client;
}
