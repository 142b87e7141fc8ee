/* SPDX-License-Identifier: BSD-2-Clause */
#include "late.h"

#include <string.h>

#include "file.h"
#include "ring.h"

#define PLACES 64 /* of all threads: a handler makes few calls, and seldom there */

enum place_state { PLACE_EMPTY, PLACE_CHANGING, PLACE_HOLDS };

static struct place {
	uint32_t state; /* whoever changes it to PLACE_CHANGING owns the place until its next state */
	uint16_t type, size;
	const struct ring *ring;
	union {
		struct gst_record header; /* void until it is appended */
		struct gst_call call;     /* the largest there is */
	} record;
} places[PLACES];

static bool place_take(struct place *p, enum place_state from)
{
	uint32_t expected = from;

	return __atomic_load_n(&p->state, __ATOMIC_RELAXED) == from &&
	       __atomic_compare_exchange_n(&p->state, &expected, PLACE_CHANGING, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void place_set(struct place *p, enum place_state state)
{
	__atomic_store_n(&p->state, state, __ATOMIC_RELEASE);
}

bool late_keep(const struct ring *r, uint16_t type, uint16_t size, const void *record)
{
	for (unsigned i = 0; i < PLACES && size <= sizeof(places[0].record); i++) {
		struct place *p = &places[i];

		if (!place_take(p, PLACE_EMPTY))
			continue;
		p->type = type;
		p->size = size;
		__atomic_store_n(&p->ring, r, __ATOMIC_RELAXED);
		memcpy(&p->record, record, size);
		place_set(p, PLACE_HOLDS);
		return true;
	}
	return false;
}

void late_append(struct ring *r)
{
	for (unsigned i = 0; i < PLACES; i++) {
		struct place *p = &places[i];

		if (__atomic_load_n(&p->ring, __ATOMIC_RELAXED) != r || !place_take(p, PLACE_HOLDS))
			continue;
		ring_append(r, p->type, p->size, &p->record);
		__atomic_store_n(&p->ring, NULL, __ATOMIC_RELAXED);
		place_set(p, PLACE_EMPTY);
	}
}

void late_drop(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (place_take(&places[i], PLACE_HOLDS)) {
			file_count_dropped(DROP_BUSY, 1);
			place_set(&places[i], PLACE_EMPTY);
		}
}

void late_forget(void)
{
	memset(places, 0, sizeof(places));
}
