/* SPDX-License-Identifier: BSD-2-Clause */
/* context.h: contexts and which one is current in this thread. Locked, except context_current. */
#pragma once

#include "objects.h"

CUresult context_current(CUcontext *context); /* NULL: none; CUDA_ERROR_CONTEXT_IS_DESTROYED */
bool context_valid(CUcontext context);
enum wait_how context_wait_how(CUcontext context);
bool context_busy(CUcontext context, bool non_blocking_too); /* as of the last advance */
void context_wait_idle(CUcontext context);                    /* everything submitted so far, all streams */
void context_after_all(CUcontext context, struct op *op);     /* the operation waits for the same */
void context_keep(CUcontext context, struct op *op, bool blocking); /* of a stream that is going away */

/* Life of a context, for those who create it. */
bool context_flags_valid(unsigned flags);
void context_start(CUcontext context, int device, unsigned flags);
void context_stop(CUcontext context); /* waits for the work, then frees everything the context owns */
