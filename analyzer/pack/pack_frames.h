/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_frames.h: the frames of a stack: programs come by the same ways again. */
#pragma once

#include "pack_model.h"

/* Of a GST_STACK, `size` bytes of them. Returns how many were said: 0 where they are none that fit a frame. */
uint32_t pack_frames(struct pack_model *m, uint8_t *frames, uint32_t size);
