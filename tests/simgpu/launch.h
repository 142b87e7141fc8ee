/* SPDX-License-Identifier: BSD-2-Clause */
/* launch.h: kernels and host functions as operations, for streams and graphs. A kernel is described as a graph's node is. Locked. */
#pragma once

#include "objects.h"

CUfunction launch_function(const CUDA_KERNEL_NODE_PARAMS_v3 *k); /* NULL: no such function any more */
CUresult launch_check(const CUDA_KERNEL_NODE_PARAMS_v3 *k);
CUresult launch_op(const CUDA_KERNEL_NODE_PARAMS_v3 *k, struct op **op);
CUresult launch_host_op(const struct host_call *host, int device, struct op **op);
