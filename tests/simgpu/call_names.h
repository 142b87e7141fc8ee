/* SPDX-License-Identifier: BSD-2-Clause */
/* call_names.h: every exported call has a number: first the rows of entry_points.def, then the generated stubs. */
#pragma once

unsigned call_count(void);
const char *call_name(unsigned call_id); /* the exported name */

/* In the generated code: */
extern const char *const stub_names[];
extern const unsigned stub_count;
int stub_called(unsigned stub); /* counts; always CUDA_ERROR_NOT_SUPPORTED */
