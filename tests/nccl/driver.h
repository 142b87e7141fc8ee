/* SPDX-License-Identifier: BSD-2-Clause */
/* driver.h: the driver, reached as the static cudart inside the real libnccl does: dlopen, one dlsym, cuGetProcAddress. */
#pragma once

#include "shim/nccl_api.h"

#include <stdbool.h>

struct driver {
#define DRIVER(name) typeof(name) *name;
#include "driver.def"
#undef DRIVER
};

extern struct driver driver;

bool driver_ready(void);                         /* false: no driver, or not the simulated one */
ncclResult_t driver_context(CUcontext *context); /* the thread's, or the first device's primary one, which becomes the thread's */

enum { KERNEL_ARGUMENT_BYTES = 4096 };
const char *kernel_name(int function, ncclDataType_t type, ncclRedOp_t op); /* that of the real library; mangled */
ncclResult_t kernel_find(const char *name, CUfunction *kernel);             /* in the thread's context */
