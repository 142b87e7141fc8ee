/* SPDX-License-Identifier: BSD-2-Clause */
/* op_wait.h: what timeline.c must know of the threads that op_wait.c puts to sleep. Locked. */
#pragma once

#include "timeline.h"

bool waiters_asleep(void); /* somebody sleeps and needs time to wake */
void waiters_wake(void);   /* an end became known */
