/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_parts.h: what a summary is made of. What was made is freed with it, also where not all could be. */
#pragma once

#include "summary.h"

/* What needs no timeline: memory, steps, threads. s->run is set. */
enum err_kind summary_parts(struct summary *s, struct error *e);

/* The devices, behind these; the timeline is set. */
enum err_kind summary_devices(struct summary *s, struct error *e);
