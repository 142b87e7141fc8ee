/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall_names.h: the system calls a waiting training thread is found in, by number, and what being in one means. */
#pragma once

#include <stdint.h>

#include "shim/format.h"

enum syscall_kind {
	SYSCALL_OTHER,
	SYSCALL_READ,  /* takes data: from what, the descriptor says */
	SYSCALL_POLL,  /* waits until a descriptor has data */
	SYSCALL_WRITE, /* hands data over */
	SYSCALL_FLUSH, /* waits for a disk */
	SYSCALL_SLEEP, /* waits for a time */
	SYSCALL_FUTEX, /* waits for another thread */
};

struct syscall_name {
	const char *name;
	enum syscall_kind kind;
};

/* header: of the file, which tells the processor. NULL where the number is not in the table. */
const struct syscall_name *syscall_find(const struct gst_file_header *header, int32_t number);
