/* SPDX-License-Identifier: BSD-2-Clause */
#include "bias.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nap.h"
#include "thread.h"

/* struct bias.owner: a thread's slot, or one of these. */
#define NOBODY_YET ((uintptr_t)0)
#define SHARED ((uintptr_t)1)
#define ENDING ((uintptr_t)1) /* a bit: the slot is the owner's no longer, but it may be counting still */

/* The owner is inside for a few instructions. If it lost its CPU there it comes back within some milliseconds; one that is
 * stopped there for good (a debugger) must not stop us too: two submissions may then get one number. */
#define PATIENCE 5000 /* naps of 20 us */

static bool possible;

void bias_start(void)
{
	possible = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ||
		   syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void bias_fence(void)
{
	static uint32_t fences;

	__atomic_fetch_add(&fences, 1, __ATOMIC_SEQ_CST); /* for ourselves, where nobody owns anything */
	if (possible)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static void wait_until_out(const struct bias *b, const struct thread_slot *owner)
{
	for (unsigned n = 0; n < PATIENCE && __atomic_load_n(&owner->counting, __ATOMIC_ACQUIRE) == b; n++)
		nap(n);
}

bool bias_take(struct bias *b, struct thread_slot *me)
{
	uintptr_t owner = __atomic_load_n(&b->owner, __ATOMIC_ACQUIRE), want;

	if (owner == NOBODY_YET) {
		want = possible && thread_slot_is_own(me) ? (uintptr_t)me : SHARED;
		if (__atomic_compare_exchange_n(&b->owner, &owner, want, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return want != SHARED;
	}
	/* Any number of threads may be here at once; each makes sure for itself. */
	while (owner != SHARED) {
		const struct thread_slot *slot = (const struct thread_slot *)(owner & ~ENDING);

		if (slot == me)
			break; /* this thread owned them, and is in no addition but this one */
		want = owner | ENDING;
		if (owner != want &&
		    !__atomic_compare_exchange_n(&b->owner, &owner, want, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			continue;
		bias_fence();
		wait_until_out(b, slot);
		if (__atomic_compare_exchange_n(&b->owner, &want, SHARED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			break;
		owner = want;
	}
	return false;
}

bool bias_is_others(const struct bias *b, const struct thread_slot *me)
{
	uintptr_t owner = __atomic_load_n(&b->owner, __ATOMIC_ACQUIRE);

	return owner != SHARED && owner != NOBODY_YET && owner != (uintptr_t)me;
}

bool bias_is_own(const struct bias *b, const struct thread_slot *me)
{
	return __atomic_load_n(&b->owner, __ATOMIC_ACQUIRE) == (uintptr_t)me;
}
