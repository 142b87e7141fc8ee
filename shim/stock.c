/* SPDX-License-Identifier: BSD-2-Clause */
#include "stock.h"

#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apart.h"
#include "file.h"
#include "format.h"
#include "own_thread.h"
#include "pages.h"

#define SLOTS 16
#define WANTED_MAX 8 /* of them; the others hold what is to be unmapped */
#define SHARE_OF_FILE 16
#define POPULATE_BYTES 16384u /* in one go: the program's own mappings wait that long at most */

enum slot_state { SLOT_EMPTY, SLOT_CHANGING, SLOT_READY, SLOT_FULL /* of records: to be unmapped */ };

static struct slot {
	uint32_t state; /* whoever changes it to SLOT_CHANGING owns the slot until its next state */
	struct segment segment;
} slots[SLOTS];

/* Segments to keep in stock: none until a thread is about to need its second one, doubled when that was too few. */
static uint32_t wanted;
static bool begun;     /* … and none where one could not be had: no look that comes later tries again */
static uint32_t ready; /* … and those that are */

static uint32_t thread;       /* 0 not tried, 1 at work, 2 cannot be had */
static uint32_t bell, asleep; /* how often there was work for it; it sleeps on that */

static struct { /* the thread's own: the segment being made */
	struct segment segment;
	uint32_t populated;
} making;

static bool slot_change(struct slot *s, enum slot_state from)
{
	uint32_t expected = from;

	return __atomic_load_n(&s->state, __ATOMIC_RELAXED) == from &&
	       __atomic_compare_exchange_n(&s->state, &expected, SLOT_CHANGING, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void slot_set(struct slot *s, enum slot_state state)
{
	__atomic_store_n(&s->state, state, __ATOMIC_RELEASE);
}

/* Of a small file most is for records. */
static uint32_t wanted_at_most(void)
{
	uint32_t share = segments_allowed() / SHARE_OF_FILE;

	return share > WANTED_MAX ? WANTED_MAX : share ? share : 1;
}

static void want_more(void)
{
	uint32_t now = __atomic_load_n(&wanted, __ATOMIC_RELAXED), most = wanted_at_most();

	__atomic_store_n(&wanted, now ? now * 2 < most ? now * 2 : most : 1, __ATOMIC_RELAXED);
}

void stock_begin(void)
{
	if (begun)
		return;
	begun = true;
	if (!__atomic_load_n(&wanted, __ATOMIC_RELAXED) && !segments_gone())
		want_more();
}

bool stock_take(struct segment *out)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *s = &slots[i];

		if (!slot_change(s, SLOT_READY))
			continue;
		*out = s->segment;
		slot_set(s, SLOT_EMPTY);
		__atomic_fetch_sub(&ready, 1, __ATOMIC_RELAXED);
		return true;
	}
	if (!segments_gone())
		want_more();
	return false;
}

void stock_unmap(uint8_t *base)
{
	for (unsigned i = 0; i < SLOTS && __atomic_load_n(&thread, __ATOMIC_RELAXED) == 1; i++) {
		struct slot *s = &slots[i];

		if (!slot_change(s, SLOT_EMPTY))
			continue;
		s->segment.base = base;
		slot_set(s, SLOT_FULL);
		return;
	}
	segment_release(base);
}

static bool unmap_one(void)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *s = &slots[i];

		if (!slot_change(s, SLOT_FULL))
			continue;
		segment_release(s->segment.base);
		slot_set(s, SLOT_EMPTY);
		return true;
	}
	return false;
}

static void put_in_stock(void)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *s = &slots[i];

		if (!slot_change(s, SLOT_EMPTY))
			continue;
		s->segment = making.segment;
		making.segment.base = NULL;
		__atomic_fetch_add(&ready, 1, __ATOMIC_RELAXED);
		slot_set(s, SLOT_READY);
		return;
	} /* else it waits for an empty slot: what is full is unmapped before it comes here again */
}

bool stock_work(void)
{
	uint32_t populated;

	if (unmap_one())
		return true;
	if (!making.segment.base) {
		if (__atomic_load_n(&ready, __ATOMIC_RELAXED) >= __atomic_load_n(&wanted, __ATOMIC_RELAXED))
			return false;
		if (!segment_try(&making.segment)) {
			/* Until a thread had to make its own, and could. */
			__atomic_store_n(&wanted, 0, __ATOMIC_RELAXED);
			return false;
		}
		making.populated = making.segment.recycles ? GST_SEGMENT_BYTES : 0;
		return true;
	}
	populated = (uint32_t)pages_populate(making.segment.base, GST_SEGMENT_BYTES, making.populated, POPULATE_BYTES);
	if (populated == making.populated)
		put_in_stock(); /* all of it, or as far as this kernel can */
	making.populated = populated;
	return true;
}

static void stock_main(void)
{
	struct sched_param priority = { 0 };

	apart_stay();
	/* It never takes the CPU from a thread that is using it; but it has its fair turn, since it may hold the lock of the process's
	 * mappings, for which a thread of the program may be waiting. */
	sched_setscheduler(0, SCHED_BATCH, &priority);
	for (;;) {
		uint32_t heard = __atomic_load_n(&bell, __ATOMIC_SEQ_CST);

		while (stock_work())
			;
		own_thread_account();
		__atomic_store_n(&asleep, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, heard, NULL, NULL, 0);
		__atomic_store_n(&asleep, 0, __ATOMIC_SEQ_CST);
	}
}

void stock_keep(bool quiet)
{
	static const struct own_thread stock_thread = { "gpushim-stock", stock_main };
	uint32_t have = __atomic_load_n(&ready, __ATOMIC_RELAXED), want = __atomic_load_n(&wanted, __ATOMIC_RELAXED);

	if (have >= want || (!quiet && have * 2 >= want))
		return;
	if (!thread)
		__atomic_store_n(&thread, own_thread_start(&stock_thread) ? 1 : 2, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&asleep, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void stock_forget(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i].state == SLOT_READY || slots[i].state == SLOT_FULL)
			segment_release(slots[i].segment.base);
	if (making.segment.base)
		segment_release(making.segment.base);
	memset(slots, 0, sizeof(slots));
	memset(&making, 0, sizeof(making));
	wanted = ready = asleep = thread = 0;
	begun = false;
}
