/* SPDX-License-Identifier: BSD-2-Clause */
/* pressure.h: what the machine and the root's control group lacked (GST_PRESSURE), and when the group's quota of CPU time was used up. */
#pragma once

#include "host_file.h"

struct pressure;

/* NULL: no memory. */
struct pressure *pressure_new(uint32_t root);
void pressure_free(struct pressure *p);
/* Are there PSI files, or the group's cpu.stat? */
bool pressure_is_known(const struct pressure *p);
bool pressure_group_is_known(const struct pressure *p);

/* Every round: reads the group's throttling, where it has a quota; and writes a record every 100 ms. */
void pressure_tick(struct pressure *p, struct host_file *f);
/* How much of [begin, end), in which a task of the group was runnable, the group was throttled: at most this, by the sum over its CPUs. */
uint64_t pressure_throttled(struct pressure *p, uint64_t begin, uint64_t end);
