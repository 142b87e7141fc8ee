/* SPDX-License-Identifier: BSD-2-Clause */
/* gaps.h: a device's idle time from the stretches of all its streams.
 *
 *   outer   ...|==========|........|=====|........|===    where work may have run; its complement is surely idle
 *   inner   .....|=====|.............|==|...........|=    from the latest first start to the earliest last end
 *   gap          stated: |<-±->............<-±->|         its ends midway between the two, ± half the distance
 *
 * A region is one run of the outer union. Within it the inner union may have holes: possible idle time between streams. Half
 * of a hole is claimed, with errors that make the claim empty at worst. What is neither surely busy nor near an end lies
 * between two submissions and is unresolved. Whatever still remains possible goes into the next gap's error, so for every trace
 *   idle - error <= true idle <= idle + error + unresolved. */
#pragma once

#include "bounds.h"
#include "timeline.h"

/* Fills begin, end, gaps, unresolved and their sums in *out; the gaps' neighbours come later (place.h). */
enum err_kind gaps_build(struct device_timeline *out, const struct device_work *d, struct error *e);
