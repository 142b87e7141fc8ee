/* SPDX-License-Identifier: BSD-2-Clause */
/* place_exact.h: operations that were measured need no place: they have one. */
#pragma once

#include "bounds.h"
#include "timeline.h"

/* Adds the op; there is room in out->ops. count: operations it stands for. False: no memory. */
bool place_exact(struct device_timeline *out, const struct stream_work *w, const struct work *work, uint32_t count);

/* A gap's end that lies at measured work is known as well as that. Needs the gaps' neighbours. */
void place_exact_errors(struct device_timeline *out);
