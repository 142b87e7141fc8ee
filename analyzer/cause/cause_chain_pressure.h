/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_chain_pressure.h: what the kernel's own totals (PSI, cpu.stat) and a task's reclaiming say of a stretch of time. No cause by itself. */
#pragma once

#include "host/host_trace.h"

/* Memory was short: the task reclaimed some then, or tasks of this machine stood still for want of it, for a hundredth of the time or more. */
bool memory_was_short(const struct host_trace *h, const struct host_task *task, int64_t begin_ns, int64_t end_ns);

enum pressure { PRESSURE_CPU, PRESSURE_MEMORY, PRESSURE_IO, PRESSURE_QUOTA };

/* "some task of this machine waited for the disk in 45 % of that time (PSI)"; "" where nothing is known or it is nothing. */
void pressure_words(char *buf, size_t size, const struct host_trace *h, enum pressure of, int64_t begin_ns,
		    int64_t end_ns);
