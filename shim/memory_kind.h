/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_kind.h: pageable, pinned or device memory, as the driver sees a pointer; remembered per thread and page. */
#pragma once

#include <stdint.h>

#include "thread.h"

enum memory_kind { MEMORY_PAGEABLE = 1, MEMORY_PINNED, MEMORY_DEVICE };

enum memory_kind memory_kind(struct thread *t, uintptr_t pointer);

/* Memory was allocated, pinned or freed somewhere: what threads remember no longer holds. */
void memory_kinds_changed(void);
