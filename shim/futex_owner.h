/* SPDX-License-Identifier: BSD-2-Clause */
/* futex_owner.h: who has the lock that a thread waits for, where the lock itself says so: glibc's mutexes do, and what is made of them.
 * Conditions, semaphores and other libraries' locks do not. */
#pragma once

#include <stdint.h>

/* word: of the futex that is waited in, the system call's first argument. Its number as it knows itself; 0 not known. Another process's where
 * the lock is shared, and any number where that is no mutex: whoever asks must find a thread of that number. */
uint32_t futex_owner(uint64_t word);
