/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_values.h: the fields of records that are not part of their shape: instants and numbers. */
#pragma once

#include "pack_model.h"

struct pack_thread;

struct pack_memory *pack_memory_new(void); /* NULL: no memory; to be freed */
void pack_memory_clear(struct pack_memory *memory);

/* A thread that was not met for long may have been forgotten: it begins anew. */
struct pack_thread *pack_thread_of(struct pack_model *m, uint32_t tid);
void pack_thread_met(struct pack_thread *t, uint16_t shape);

/* All fields of a record whose shape is known already; shape: its number. */
void pack_values(struct pack_model *m, struct pack_thread *t, const struct pack_layout *layout, uint16_t shape, uint8_t *record);
