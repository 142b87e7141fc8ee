/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_op.h: a node as an operation of the model. Locked. */
#pragma once

#include "objects.h"

CUresult graph_op_check_copy(const CUDA_MEMCPY_NODE_PARAMS *copy);
CUresult graph_op_check_set(const CUDA_MEMSET_NODE_PARAMS_v2 *set);
CUresult graph_op_new(CUgraphNode node, int device, struct op **op); /* device: where what has no context of its own runs */
