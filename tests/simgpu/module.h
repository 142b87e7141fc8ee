/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "objects.h"

/* Locked. */
CUmodule module_new(CUcontext context, struct image *image); /* takes the image over; NULL: out of memory */
void module_free(CUmodule module);                            /* with its functions and globals */
CUresult module_find_function(CUmodule module, const char *name, CUfunction *function); /* made if need be */
CUresult module_find_global(CUmodule module, const char *name, CUdeviceptr *address, size_t *bytes);
bool module_name_missing(const char *name); /* no image has one of this name */

void module_load_takes(uint64_t entry_ns, size_t bytes); /* host time; without the lock */

/* Of a library (library.c). */
void library_forget_module(CUmodule module);
CUmodule library_module(CUlibrary library, CUcontext context); /* made if need be; NULL: out of memory */
