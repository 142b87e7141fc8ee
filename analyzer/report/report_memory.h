/* SPDX-License-Identifier: BSD-2-Clause */
/* report_memory.h: device memory, for people and for programs: what was held, how scattered its free part lay, where there was no room. */
#pragma once

#include "gap/held.h"
#include "report_page.h"
#include "tools/json.h"

void report_memory(const struct page *p, const struct summary *s);
/* "device" in every listing: as in `devices`; of one without work its ordinal, else a number that nobody else has. */
uint32_t report_memory_number(const struct summary *s, const struct memory_device *d);
struct report_scope;
/* For a page without courses and maps: it has its own (html_memory.c). */
void report_memory_json(struct json *j, const struct summary *s, const struct report_scope *scope);
const char *memory_source_name(uint8_t source); /* "allocated" */

/* Where the program asked: the innermost frame of its own, else the innermost; NULL: no stack was taken there. */
const struct frame *memory_asked_from(const struct memory_story *s);
