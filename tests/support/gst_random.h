/* SPDX-License-Identifier: BSD-2-Clause */
/* gst_random.h: .gst files of random records, the same again for the same seed. */
#pragma once

#include "tests/support/gst_image.h"

/* Not 0. */
void gst_random_seed(uint64_t seed);
/* 0 to n - 1. */
uint64_t gst_random_below(uint64_t n);
/* As many bits as chance has it. */
uint64_t gst_random_number(void);

/* Records of every type, with few values and with any, some not committed, of three threads. False: no memory. */
bool gst_random_image(struct gst_image *image, unsigned records);
