/* SPDX-License-Identifier: BSD-2-Clause */
/* step_words.h: what programs call the iterations of their loops, and what is none. */
#pragma once

#include <stdbool.h>

/* "ProfilerStep#", "train step", …; submits: its thread gives the device work. */
bool name_is_step(const char *name, bool submits);
/* Something that holds many: "epoch", "training", … */
bool name_is_outer(const char *name);
/* Libraries say what they do themselves: none of it is the program's loop. */
bool domain_is_library(const char *domain);
/* A kernel that changes parameters: "…FusedAdamMathFunctor…". */
bool name_is_optimizer(const char *kernel);
