/* SPDX-License-Identifier: BSD-2-Clause */
/* recover_parts.h: what recovery_build is made of. Each fills in its part of a zeroed recovery; false: no memory. */
#pragma once

#include "recover.h"

bool recover_set_window(struct recovery *r, const struct summary_device *d); /* recover_window.c: begin_ns … calls_from_ns */
/* recover_losses.c: what is lost and what else the time is, but for blocked_ns and what can be won. After the window. */
bool recover_add_losses(struct recovery *r, const struct summary *s, const struct summary_device *d);
void recover_set_feeder(struct recovery *r, const struct summary *s, const struct summary_device *d); /* recover_host.c: and blocked_ns */
