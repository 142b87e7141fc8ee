/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_kind.h: pageable, pinned or device memory, and whose, as the driver sees a pointer; remembered per thread and page. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

enum memory_kind { MEMORY_PAGEABLE = 1, MEMORY_PINNED, MEMORY_DEVICE };

enum memory_kind memory_kind(struct thread *t, uintptr_t pointer);

/* Both are device memory: of two devices? Never where one device is visible, nor of managed memory. */
bool memory_of_two_devices(struct thread *t, uintptr_t a, uintptr_t b);

/* Memory was allocated, pinned or freed somewhere: what threads remember no longer holds. */
void memory_kinds_changed(void);
