/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_kind.h: pageable, pinned or device memory, and whose, as the driver sees a pointer; remembered per thread and page. Each question
 * takes the driver's lock: what can be known without is not asked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

enum memory_kind { MEMORY_PAGEABLE = 1, MEMORY_PINNED, MEMORY_DEVICE };

enum memory_kind memory_kind(struct thread *t, uintptr_t pointer);

/* Both are device memory: of two devices? Never before the process has used several, nor of managed memory. */
bool memory_of_two_devices(struct thread *t, uintptr_t a, uintptr_t b);

/* The process has a context on this device, or memory of it. Many processes see several devices and use one. */
void memory_device_used(uint32_t device);
/* … or memory of another process, which may be any device's. */
void memory_devices_unknown(void);
bool memory_several_devices(void);
/* After fork, in the child. */
void memory_devices_forget(void);

/* Memory was allocated, pinned, mapped or freed somewhere: what threads remember no longer holds. After the driver's call, and before the
 * program learns of an address. */
void memory_kinds_changed(void);
/* This is another process's memory, from now on in this one's addresses. The driver is asked whose. */
void memory_opened(uintptr_t pointer);
