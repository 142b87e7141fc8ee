/* SPDX-License-Identifier: BSD-2-Clause */
/* legacy.h: the order that the legacy default stream imposes (CUDA driver API, "Stream synchronization behavior"): its work waits for
 * everything put before it into the blocking streams of its context, and they wait for it in turn. */
#pragma once

#include "bounds.h"

/* Sets each stream's legacy. After bounds_add of all traces; the streams move no more. */
void legacy_find(struct device_work *d);

/* Work is over when work behind it is, across this order too. */
void legacy_tighten(struct device_work *d);

/* What stands behind other work across this order did not start before that had ended: earliest starts from earliest ends. True:
 * something changed. */
bool legacy_order(struct device_work *d);

/* Did w, between begin_ns and end_ns, get to stand behind the legacy stream? The legacy stream itself stands behind every stream that
 * blocks with it: what it waits for says little about its own work. */
bool legacy_met(const struct stream_work *w, int64_t begin_ns, int64_t end_ns);

/* When the legacy stream is asked whether it is done, the streams that block with it may answer for it. Was all their work, as of
 * time_ns, and all that they waited for, known to be over? */
bool legacy_others_done(const struct device_work *d, const struct stream_work *legacy, int64_t time_ns);
