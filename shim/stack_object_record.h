/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_object_record.h: an object's GST_OBJECT, with its name and what can be told of its file now. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ring;
struct stack_object;

/* False: the loader lists it no longer, so that its name is not known. Else it is told of, or there was no room for it. */
bool stack_object_write(struct ring *r, const struct stack_object *o, uint32_t id);
