/* SPDX-License-Identifier: BSD-2-Clause */
/* work.h: what faults give to devices beside the step's kernel. Device 0's context is current in the main thread; others are made when they
 * are asked for, and a call for another device puts the current one back. */
#pragma once

#include "lab.h"

#include <cuda.h>

#define DEVICES_MAX 8

#define CHECK(call) REQUIRE((call) == CUDA_SUCCESS)

/* A kernel of a device, by what its name says that it takes: "short__50us". */
CUfunction work_kernel(int device, const char *name);
CUfunction work_kernel_of(int device, const char *word, long us);
CUcontext work_context(int device);
/* Stream n of a device, which waits for no other. */
CUstream work_stream(int device, int n);
void work_launch(int device, CUfunction kernel, CUstream stream);
/* With $LAB_REALTIME nobody takes this thread's CPU away, where that is allowed: gaps of microseconds are not the machine's. */
void work_realtime(void);
/* Until the device has nothing to do. */
void work_wait(int device);

/* From now on the device's thread is this one's: its context is current until it is put back. */
CUcontext work_enter(int device);
void work_leave(CUcontext was);
