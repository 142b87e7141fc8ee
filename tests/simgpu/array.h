/* SPDX-License-Identifier: BSD-2-Clause */
/* array.h: CUDA arrays. Their layout is the driver's secret; here it is rows behind rows, and no pointer reaches it. Locked. */
#pragma once

#include "objects.h"

struct array_shape {
	uintptr_t base;
	size_t element_bytes, row_bytes, rows, slices; /* all at least 1 */
	int device;
};

const struct array_shape *array_shape(CUarray array); /* NULL: not an array */
void array_free_all(CUcontext context);
