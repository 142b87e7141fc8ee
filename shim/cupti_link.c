/* SPDX-License-Identifier: BSD-2-Clause */
#include "cupti_link.h"

#include <sys/mman.h>

#include "clock.h"
#include "stream.h"
#include "thread.h"

/* Between a launch and its record lie the work in the queues and what our buffers hold, some 50,000 records at most; numbers go to
 * other calls as well, so that places are hit at random. */
#define LINKS (1u << 18) /* power of two */

struct link {
	uint64_t who;  /* correlation | stream << 32; 0 free, or being written */
	uint64_t what; /* seq | device << 32 */
	uint64_t entered_ns;
	uint64_t zero; /* two to a line of the cache */
};
static struct link *links;

bool cupti_link_start(void)
{
	void *p = mmap(NULL, LINKS * sizeof(struct link), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	links = p;
	return true;
}

void cupti_link_enter(uint32_t correlation)
{
	const struct thread *t = &thread_storage;
	const struct stream *s = t->submitting.stream;
	struct link *l = &links[correlation % LINKS];

	if (t->generation != *process_generation || !s || !correlation)
		return;
	/* Releases in place of one fence: who finds the new halves finds `who` changed. */
	__atomic_store_n(&l->who, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&l->what, t->submitting.seq | (uint64_t)s->device << 32, __ATOMIC_RELEASE);
	__atomic_store_n(&l->entered_ns, clock_mono_ns(), __ATOMIC_RELEASE);
	__atomic_store_n(&l->who, correlation | (uint64_t)s->id << 32, __ATOMIC_RELEASE);
}

bool cupti_link_get(uint32_t correlation, struct cupti_submission *out)
{
	const struct link *l = &links[correlation % LINKS];
	uint64_t who = __atomic_load_n(&l->who, __ATOMIC_ACQUIRE), what = __atomic_load_n(&l->what, __ATOMIC_ACQUIRE);
	uint64_t entered_ns = __atomic_load_n(&l->entered_ns, __ATOMIC_ACQUIRE);

	if ((uint32_t)who != correlation || !correlation || __atomic_load_n(&l->who, __ATOMIC_RELAXED) != who)
		return false;
	*out = (struct cupti_submission){ .stream = (uint32_t)(who >> 32),
					  .seq = (uint32_t)what,
					  .device = (uint16_t)(what >> 32),
					  .entered_ns = entered_ns };
	return true;
}
