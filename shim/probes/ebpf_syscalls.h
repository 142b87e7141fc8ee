/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_syscalls.h: which argument of a system call is the descriptor, the offset, the time limit. */
#pragma once

#include "ebpf_event.h"

void ebpf_syscalls_fill(struct syscall_shape shapes[SHAPES]);
