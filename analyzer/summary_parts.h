/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_parts.h: what of a summary needs no timeline: memory, steps, threads. */
#pragma once

#include "summary.h"

/* Side by side (pool.h). s->run is set; what was made is freed with the summary, also where not all could be. */
enum err_kind summary_parts(struct summary *s, struct error *e);
