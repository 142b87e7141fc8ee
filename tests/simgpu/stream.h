/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.h: submitting operations in stream order. All locked. */
#pragma once

#include "call.h"
#include "objects.h"

/* The stream a handle means in this call: 0, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or a created one. Which function is asked
 * is a matter of stream capture: each returns the error of what the rules forbid, and ends the captures concerned. */
CUresult stream_find(const struct call *call, CUstream handle, struct CUstream_st **stream); /* to look at it */
/* To enqueue something. Where stream->capture is set, the caller makes it a node with capture_add instead. */
CUresult stream_resolve_capturable(const struct call *call, CUstream handle, struct CUstream_st **stream);
/* To enqueue something that no graph can hold. The stream does not capture. */
CUresult stream_resolve(const struct call *call, CUstream handle, struct CUstream_st **stream);
/* To wait for the stream's work or to ask about it, synchronous copies too. The stream does not capture. */
CUresult stream_resolve_waiting(const struct call *call, CUstream handle, struct CUstream_st **stream);

/* Not for a stream that captures. Gives the operation its place behind the stream's last one and behind what the legacy default stream's rules ask for. */
void stream_submit(const struct call *call, struct CUstream_st *stream, struct op *op);

CUresult stream_wait_idle(const struct call *call, struct CUstream_st *stream); /* all work submitted so far */
void stream_free(struct CUstream_st *stream);                                    /* its pending work goes on */
