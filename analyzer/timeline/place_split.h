/* SPDX-License-Identifier: BSD-2-Clause */
/* place_split.h: folded launches (launches.h) that gaps lie within: those beside the gaps stay together, those that gaps cut become ops of their own. */
#pragma once

#include "place_of.h"
#include "timeline.h"

struct place_room {
	struct op *part; size_t cap_part; /* a part's ops, while they are split */
	size_t cap, planned; /* ops for which there is room in out->ops; that there will be */
};

/* Room for so many ops more than was planned. False: no memory. */
bool place_make_room(struct device_timeline *out, struct place_room *room, size_t more);

/* The ops from `first` on are a part that place_lay has laid out, up to end_ns; they are afterwards, too. Calls of launches that are told apart from others
 * are copies in out->more. near: as of place_leave_gaps. False: no memory. */
bool place_split(struct device_timeline *out, size_t first, int64_t end_ns, struct place_room *room, struct place_alike *alike, size_t *near);
void place_room_free(struct place_room *room);
