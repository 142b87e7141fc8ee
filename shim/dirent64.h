/* SPDX-License-Identifier: BSD-2-Clause */
/* dirent64.h: what getdents64 writes into its buffer, which begins at a multiple of 8. The kernel's headers do not have it for programs. */
#pragma once

#include <stdint.h>

struct linux_dirent64 {
	uint64_t ino;
	int64_t off; /* of what is behind it: a place to seek to */
	unsigned short size;
	unsigned char type;
	char name[];
};
