/* SPDX-License-Identifier: BSD-2-Clause */
/* common_random_acts.h: what a thread of random work does. */
#pragma once

#include "common_random_lane.h"

/* One of them, by chance. */
void random_act(struct worker *w);

/* Waits for all its lanes. */
void random_synchronize_all(struct worker *w);

void random_to_device_pageable(struct worker *w);
void random_to_device_pinned(struct worker *w);
void random_to_host_pageable(struct worker *w);
void random_to_host_pinned(struct worker *w);
void random_on_device(struct worker *w);
void random_memset(struct worker *w);
