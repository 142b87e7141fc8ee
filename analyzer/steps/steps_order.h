/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_order.h: do iterations launch the same things in the same order? What launches at random has much in common with itself, but no
 * order. */
#pragma once

#include "steps_tokens.h"

/* Of those i with is_step[i], which begin at at[i]. False: no memory. */
bool order_repeats(bool *out, const struct step_tokens *s, const size_t *at, const uint8_t *is_step, size_t n);
