/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_none.c: in place of the other ebpf*.c where clang, bpftool or libbpf could not be had. */
#include "ebpf.h"

#include <stddef.h>
#include <stdio.h>

const struct backend *const backend_ebpf = NULL;

bool ebpf_can(char why[256])
{
	snprintf(why, 256, "this build has no eBPF: clang, bpftool and libbpf-dev were not there");
	return false;
}
