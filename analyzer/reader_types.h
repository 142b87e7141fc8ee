/* SPDX-License-Identifier: BSD-2-Clause */
/* reader_types.h: what is known of each type of record: how long it is, what lies behind it, when it was complete. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../shim/format_host.h"

/* The size a type must have in a file of this kind (enum gst_file_kind); 0 for a type that is not known there. A name or list is longer. */
uint16_t record_size(uint32_t kind, uint16_t type);

/* Does its size suit its type? A name's text and a list's entries lie inside their record, everything else has one size. */
bool record_fits(uint32_t kind, const struct gst_record *h);

/* When the record was complete, as far as it says so itself; 0 where it does not. */
uint64_t record_ticks(const struct gst_record *h);
