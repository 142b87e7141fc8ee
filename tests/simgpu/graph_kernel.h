/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_kernel.h: a kernel node's parameters and its copy of the arguments. Locked. */
#pragma once

#include "objects.h"

CUresult graph_kernel_check(const CUDA_KERNEL_NODE_PARAMS_v3 *kernel);
bool graph_kernel_copy(CUgraphNodeParams *to, const CUgraphNodeParams *from); /* all else is copied; false: out of memory */
void graph_kernel_free(CUgraphNodeParams *params); /* of a copy */
