/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_child.h: something that may kill, hang or print is done in a process of its own. */
#pragma once

#include "doctor.h"

/* Calls work(answer) in a child, whose result, an errno or 0, becomes trial->error. *answer, size bytes, comes back as the child left it; as it was
 * where there is no answer. What the child prints is nowhere to be seen. */
void doctor_child(struct doctor_trial *trial, int (*work)(void *answer), void *answer, size_t size, unsigned seconds);
