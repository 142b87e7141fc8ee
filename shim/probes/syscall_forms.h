/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall_forms.h: which of a system call's arguments say what it waits for. */
#pragma once

#include <stdint.h>

enum syscall_points { /* at what else in the caller's memory */
	SYSCALL_NONE,
	SYSCALL_PATH,  /* argument `at` is a path */
	SYSCALL_POLL,  /* arguments 0, 1: struct pollfd[n] */
	SYSCALL_SELECT, /* arguments 0, 1, 2: n, readable, writable */
	SYSCALL_EPOLL, /* argument 0 is an epoll descriptor: what it watches stands in its fdinfo */
};

struct syscall_form {
	int16_t number;
	int8_t fd, bytes, offset; /* argument, -1 none */
	uint8_t points;           /* enum syscall_points */
	int8_t at;
};

/* NULL: it waits for nothing that has a name. */
const struct syscall_form *syscall_form(int64_t number);
/* That function of the kernel, in which a task sleeps: in which system call it is, where that is all there is to be seen; -2 not known. */
int32_t syscall_by_wchan(const char *function);
