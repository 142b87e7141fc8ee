/* SPDX-License-Identifier: BSD-2-Clause */
/* common.h: what the fuzzers share: an input that holds several traces, and what every analysis owes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/gst_image.h"
#include "timeline/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Aborts where it does not hold: what a fuzzer looks for. */
void require(bool holds);

/* Inputs of which two readings were compared: replay says how many. */
extern size_t fuzz_compared;

#define FUZZ_TRACES 3

/* Up to three traces: u8 their number less one, then each as
 *
 *   u16 bytes of its compact form (gst_compact.h) | u8 seconds after the first's beginning | u8 bytes of text | text | compact form
 *
 * The text is what its file header says: run id, host and command line, with a zero byte between them. The last trace takes what is
 * left. Returns their number; free each. */
size_t fuzz_expand(struct gst_image images[FUZZ_TRACES], const uint8_t *data, size_t len);

/* The device's sums hold and its gaps lie in order inside it. */
void fuzz_check_device(const struct device_timeline *d);
