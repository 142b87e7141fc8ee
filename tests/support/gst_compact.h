/* SPDX-License-Identifier: BSD-2-Clause */
/* gst_compact.h: a trace without its empty space, for the fuzzer. A .gst is at least 528 KiB, nearly all zeros, and every record
 * carries a check value: random changes to one are found by the first check and go no further. In the compact form each byte
 * counts and check values do not appear; gst_expand puts them back. Then flips, also taken from the input, damage the result.
 *
 *   u8 number of flips | u8 level and clock, 0x40 recycled, 0x20 host probes | flips: u32 position, u8 bit | recycled: u32 until, us after the begin | events
 *   event: u8 0xff = new segment | u8 0xfd = kept segment | u8 0xfe, u8 type, payload = a whole record | else 11 bytes: a small record made of small numbers */
#pragma once

#include "gst_image.h"

/* Any bytes give an image; false: no memory. */
bool gst_expand(struct gst_image *out, const uint8_t *data, size_t len);

/* The compact form of a sound image, in malloc'd *out; its size, 0 without memory. */
size_t gst_compact(uint8_t **out, const struct gst_image *image);
