/* SPDX-License-Identifier: BSD-2-Clause */
/* truth_log.h: SIMGPU_LOG: one JSON line per operation, the call counts last.
 * Operations are kept as records when they are done and become text in the driver thread or at exit, so a call pays for a
 * copy of 80 bytes. Counting is lock-free. The file is the process's own: a forked child writes one only if the path has %p. */
#pragma once

#include "sim.h"

struct op;

void truth_log_op(const struct op *op); /* locked */
bool truth_log_wanted(void);
void truth_log_flush(void);             /* locked; releases the lock while it writes */
void truth_log_count(unsigned call_id);
