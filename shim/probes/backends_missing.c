/* SPDX-License-Identifier: BSD-2-Clause */
/* backends_missing.c: ways to watch that this build does not have. Whoever adds one takes its line out. */
#include "backend.h"

const struct backend backend_proc = { .name = "proc", .how = GST_PROBES_PROC };
