/* SPDX-License-Identifier: BSD-2-Clause */
/* process.c: the lock, initialisation, and what fork does to both.
 * The page with `alive` is wiped in a child of fork, whichever way it was forked. A child of an initialised process
 * therefore sees initialised && !alive and is refused at the door, before the lock another thread may have held. */
#include "sim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { WIPED = 8 }; /* pages, and room to spare */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool initialised;
static atomic_uchar *_Atomic alive;
static _Atomic uint64_t last_thread;
static __thread uint64_t this_thread;
static struct {
	void *_Atomic page;
	size_t bytes;
} wiped[WIPED];
static atomic_uint wiped_count;

uint64_t sim_thread(void)
{
	if (!this_thread)
		this_thread = atomic_fetch_add(&last_thread, 1) + 1;
	return this_thread;
}

void sim_lock(void)
{
	pthread_mutex_lock(&lock);
}

bool sim_lock_for(uint64_t ns)
{
	uint64_t until_ns = clock_now_ns() + ns;

	while (pthread_mutex_trylock(&lock)) {
		if (clock_now_ns() > until_ns)
			return false;
		clock_sleep_until(clock_now_ns() + 100 * NSEC_PER_USEC);
	}
	return true;
}

void sim_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

pthread_mutex_t *sim_mutex(void)
{
	return &lock;
}

void *sim_wiped_page(size_t bytes)
{
	unsigned slot;
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	madvise(page, bytes, MADV_WIPEONFORK);
	slot = atomic_fetch_add(&wiped_count, 1);
	if (slot < WIPED) {
		wiped[slot].bytes = bytes;
		atomic_store(&wiped[slot].page, page);
	}
	return page;
}

static void wipe(void)
{
	for (unsigned i = 0; i < WIPED; i++)
		if (atomic_load(&wiped[i].page))
			memset(atomic_load(&wiped[i].page), 0, wiped[i].bytes);
}

/* For kernels before 4.14, and emulators: qemu-user says yes to MADV_WIPEONFORK and does nothing. */
__attribute__((constructor)) static void wipe_in_children(void)
{
	pthread_atfork(NULL, NULL, wipe);
}

bool sim_initialised(void)
{
	return atomic_load_explicit(&initialised, memory_order_acquire);
}

bool sim_forked(void)
{
	atomic_uchar *flag;

	if (!sim_initialised())
		return false;
	flag = atomic_load_explicit(&alive, memory_order_relaxed);
	return flag && !atomic_load_explicit(flag, memory_order_relaxed);
}

void sim_set_initialised(void)
{
	atomic_uchar *flag = sim_wiped_page(4096);

	if (flag)
		atomic_store(flag, 1);
	atomic_store(&alive, flag);
	atomic_store_explicit(&initialised, true, memory_order_release);
}
