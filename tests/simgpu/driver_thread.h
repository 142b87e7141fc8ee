/* SPDX-License-Identifier: BSD-2-Clause */
/* driver_thread.h: the driver's one thread: runs host functions in order, moves the bytes of transfers that take real time,
 * and lets small transfers' bytes and the truth log appear when nobody calls. Started at its first work; blocks all signals. */
#pragma once

#include <stdint.h>

void driver_thread_start(void);             /* locked: have it run, if it does not yet */
void driver_thread_expect(uint64_t due_ns); /* locked: be awake by then */
void driver_thread_expect_data(uint64_t end_ns); /* locked: bytes should be there soon after */
