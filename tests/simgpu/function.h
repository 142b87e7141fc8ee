/* SPDX-License-Identifier: BSD-2-Clause */
/* function.h: kernels as functions of a context. Locked. */
#pragma once

#include "objects.h"

struct image;

/* The function a handle means in a context: itself, or that of a CUkernel which was passed for one. NULL: neither. */
CUfunction function_in(CUfunction handle, CUcontext context);

size_t function_shared_limit(CUfunction function); /* bytes of dynamic shared memory a launch may ask for */

CUresult function_read_attribute(const struct function_settings *settings, CUfunction_attribute attribute, int *value);
CUresult function_write_attribute(struct function_settings *settings, CUfunction_attribute attribute, int value);
CUresult function_parameter(const struct image *image, const char *name, size_t index, size_t *offset, size_t *bytes);
