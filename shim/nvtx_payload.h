/* SPDX-License-Identifier: BSD-2-Clause */
/* nvtx_payload.h: NVTX's extension for structured payloads: the program registers what its structures look like, and hands their bytes
 * over with ranges. NCCL says its communicators and sizes so. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "nvtx_api.h"

struct thread;

/* A GST_RANGE_DATA for each. */
void nvtx_payload_write(struct thread *t, uint32_t domain, uint32_t range, const struct nvtx_data *data, size_t n);

/* Gives the extension our functions. 0: not one that we know. */
int nvtx_payload_attach(const struct nvtx_extension *e);
