/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_memory.h: what is mapped at an address of another process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_memory {
	uint64_t begin, end, offset; /* offset: in the file, of begin */
	uint64_t inode;              /* 0: memory of no file */
	uint32_t dev;                /* major << 20 | minor */
};

/* path: the file's. False: nothing is mapped there, or it is not for us to know. */
bool proc_memory_at(uint32_t pid, uint64_t address, struct proc_memory *m, char *path, size_t size);
