/* SPDX-License-Identifier: BSD-2-Clause */
/* semaphores.h: the external semaphores that have a value which grows, by handle. Of one for which there was no room the value is not known. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

void semaphores_add(uint64_t handle);
bool semaphores_has(uint64_t handle);
void semaphores_remove(uint64_t handle);

/* After fork, in the child. */
void semaphores_forget(void);
