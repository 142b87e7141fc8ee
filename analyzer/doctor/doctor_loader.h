/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_loader.h: the loader's functions. A static program that used them would need the very C library that it was linked with: there the
 * pointer is null (doctor_static.c stands before doctor_loader.c), and libc's are not linked in. */
#pragma once

struct doctor_loader {
	void *(*open)(const char *name, int flags);
	void *(*symbol)(void *handle, const char *name);
	int (*info)(void *handle, int request, void *answer);
	char *(*error)(void);
};

extern const struct doctor_loader *const doctor_loader;
