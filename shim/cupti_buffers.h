/* SPDX-License-Identifier: BSD-2-Clause */
/* cupti_buffers.h: the memory that CUPTI writes its records into: so much and no more, had in advance. CUPTI asks for it and gives it back in
 * any thread, the program's too; who reads it is one thread at a time. Where none is left CUPTI drops records, and counts them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Once; false: no memory. */
bool cupti_buffers_start(void);

/* A free one of *size bytes; NULL: none. */
uint8_t *cupti_buffers_take(size_t *size);
/* It holds so many bytes of records. */
void cupti_buffers_fill(uint8_t *buffer, size_t bytes);

/* The one that was given back first; NULL: none. Then it is the caller's until it is free again. */
uint8_t *cupti_buffers_next(size_t *bytes);
void cupti_buffers_free(uint8_t *buffer);
