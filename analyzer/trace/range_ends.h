/* SPDX-License-Identifier: BSD-2-Clause */
/* range_ends.h: when pushed ranges ended whose end was not recorded. A thread pops what it pushed in the opposite order, so a range has
 * ended by the time at which its thread pushes the next one at its level or further out, and by the end of the one around it. */
#pragma once

#include <stddef.h>

struct range;

/* Leaves the ranges in another order. An end of INT64_MAX stays where nothing tells: the range may still be open. */
void range_ends_find(struct range *ranges, size_t n);
