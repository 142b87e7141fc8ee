/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_run.h: launches of kernels that have a body. Locked. */
#pragma once

#include "objects.h"

/* Gives the operation what its kernel's body needs, if it has one. INVALID_VALUE: the first parameter is not known. */
CUresult kernel_run_attach(struct op *op, CUfunction f, void **params);
bool kernel_run_ended(struct op *op, uint64_t now_ns); /* calls the body once; true: op->duration_ns says when */
void kernel_run_free(struct kernel_run *run);          /* NULL is fine */
