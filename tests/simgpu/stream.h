/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.h: submitting operations in stream order. All locked. */
#pragma once

#include "call.h"
#include "objects.h"

/* The stream a handle means in this call: 0, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or a created one. */
CUresult stream_resolve(const struct call *call, CUstream handle, struct CUstream_st **stream);

/* Gives the operation its place behind the stream's last one and behind what the legacy default stream's rules ask for. */
void stream_submit(const struct call *call, struct CUstream_st *stream, struct op *op);

CUresult stream_wait_idle(const struct call *call, struct CUstream_st *stream); /* all work submitted so far */
void stream_free(struct CUstream_st *stream);                                    /* its pending work goes on */
