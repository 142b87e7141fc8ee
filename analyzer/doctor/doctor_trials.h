/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_trials.h: what is found by trying, and what else this process knows of itself. */
#pragma once

#include "doctor.h"

/* Fills m, but for root, env, ebpf.can, recorder. dir: the run directory, as the user names it. Each trial is harmless: what it makes is gone at
 * its end. */
void doctor_trials(struct doctor_machine *m, const char *dir);

/* One trial each. */
void doctor_try_driver(struct doctor_machine *m);
void doctor_try_place(struct doctor_machine *m, const char *dir);
