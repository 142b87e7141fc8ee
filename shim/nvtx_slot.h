/* SPDX-License-Identifier: BSD-2-Clause */
/* nvtx_slot.h: NVTX's one place for a tool: NVTX_INJECTION64_PATH in the environment names a library, which each copy of NVTX in the process
 * loads. We put ourselves there if nobody else is; whoever is, stays. */
#pragma once

#include "format.h"

/* Constructor. */
void nvtx_slot_take(void);

/* OURS, TAKEN or OFF. */
enum gst_nvtx_what nvtx_slot(void);
/* Looks again: the program may have put a tool there itself since. */
enum gst_nvtx_what nvtx_slot_again(void);
/* TAKEN: by whom. */
const char *nvtx_slot_other(void);
