/* SPDX-License-Identifier: BSD-2-Clause */
/* copy_kind.h: from where to where a copy goes, as far as its arguments say; the driver is asked about host pointers. */
#pragma once

#include "hooks.h"
#include "thread.h"

enum copy_direction { COPY_H2D, COPY_D2H, COPY_D2D, COPY_PEER, COPY_ANY, COPY_OTHER };

enum gst_copy_kind copy_kind(struct thread *t, enum copy_direction direction, uintptr_t dst, uintptr_t src);
enum gst_copy_kind copy_kind_2d(struct thread *t, const CUDA_MEMCPY2D *p);
enum gst_copy_kind copy_kind_3d(struct thread *t, const CUDA_MEMCPY3D *p);
