/* SPDX-License-Identifier: BSD-2-Clause */
/* reader_types.h: what is known of each type of record: how long it is, what lies behind it, when it was complete. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shim/format_host.h"

#define RECORD_FORMS 64 /* types are lower, of both kinds of file */

struct record_form {
	uint16_t size;    /* what it must have at least; 0: a type that is not known */
	uint8_t ticks_at; /* offset of what record_ticks says; 0 none */
	bool plain;       /* it has that size, and means nothing to the reader: a wrong one or another needs a closer look */
};

/* Of a file of this kind (enum gst_file_kind), by type. */
const struct record_form *record_forms(uint32_t kind);

/* The size a type must have in a file of this kind (enum gst_file_kind); 0 for a type that is not known there. A name or list is longer. */
uint16_t record_size(uint32_t kind, uint16_t type);

/* Does its size suit its type? A name's text and a list's entries lie inside their record, everything else has one size. */
bool record_fits(uint32_t kind, const struct gst_record *h);

/* When the record was complete, as far as it says so itself; 0 where it does not. */
uint64_t record_ticks(const struct gst_record *h);
