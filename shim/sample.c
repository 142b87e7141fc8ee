/* SPDX-License-Identifier: BSD-2-Clause */
#include "sample.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apart.h"
#include "names.h"
#include "own_thread.h"
#include "sample_file.h"
#include "sample_others.h"
#include "short_slices.h"
#include "stack.h"
#include "stack_still.h"
#include "thread.h"

#define ON_CPU (-1)
#define BLOCKED_ELSEWHERE (-2)
#define UNKNOWN (-3)

static void name_descriptor(struct ring *r, struct gst_sample *s)
{
	struct sample_file f;

	if (!sample_file_of(&f, s))
		return;
	s->fd_kind = f.kind;
	s->file = names_file(r, f.path);
}

/* What of the process's memory is in the swap: who waits in a page fault waits for that, or for a file. */
static uint64_t swapped_bytes(void)
{
	char text[4096], *at;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strstr(text, "VmSwap:");
	return at ? strtoull(at + strlen("VmSwap:"), NULL, 10) * 1024 : 0;
}

static void read_look(struct gst_sample *s, const struct stack_still *there)
{
	char *end;

	s->syscall = UNKNOWN;
	s->state = '?';
	if (!*there->text)
		return;
	if (strncmp(there->text, "running", 7) == 0) {
		s->syscall = ON_CPU;
		s->state = 'R';
		return;
	}
	s->state = 'S';
	s->syscall = (int32_t)strtol(there->text, &end, 10);
	if (s->syscall < 0) {
		s->syscall = BLOCKED_ELSEWHERE;
		s->arg = swapped_bytes();
	} else {
		s->arg = strtoull(end, NULL, 16);
	}
}

uint64_t sample_interval_ns(uint64_t silent_ticks)
{
	uint64_t min = clock_ticks_in(SAMPLE_NS_MIN), max = clock_ticks_in(SAMPLE_NS_MAX), ticks = silent_ticks / 16;

	return ticks <= min ? SAMPLE_NS_MIN : ticks >= max ? SAMPLE_NS_MAX : SAMPLE_NS_MIN * ticks / min;
}

/* In silence, and not looked at for a sixteenth of it. */
static bool due(const struct thread_slot *slot, uint64_t now, uint64_t silence_ticks)
{
	uint64_t silent = now - __atomic_load_n(&slot->last_end, __ATOMIC_RELAXED);

	return __atomic_load_n(&slot->tid, __ATOMIC_RELAXED) && slot->submits &&
	       !__atomic_load_n(&slot->in_call, __ATOMIC_RELAXED) && (int64_t)silent >= 0 && silent >= silence_ticks &&
	       now - __atomic_load_n(&slot->last_sample, __ATOMIC_RELAXED) >=
		       clock_ticks_in(sample_interval_ns(silent) * 3 / 4);
}

/* Of the same time: so they are known for what they are. */
static void sample_others_of(struct ring *r, uint32_t waiting, uint64_t now)
{
	uint32_t tids[SAMPLE_OTHERS_MAX];
	unsigned n = sample_others(waiting, tids);

	for (unsigned i = 0; i < n; i++) {
		struct gst_sample s = { .tid = tids[i], .ticks = now };
		struct stack_still there;

		stack_still_glance(&there, s.tid);
		read_look(&s, &there);
		if (s.syscall == UNKNOWN || s.syscall == SYS_futex)
			continue;
		name_descriptor(r, &s);
		if (s.syscall == ON_CPU || s.fd_kind == GST_FD_PIPE || s.fd_kind == GST_FD_SOCKET)
			sample_others_note(s.tid);
		ring_append(r, GST_SAMPLE, sizeof(s), &s);
	}
}

static void sample(struct ring *r, struct thread_slot *slot, uint64_t now)
{
	struct gst_sample s = { .tid = __atomic_load_n(&slot->tid, __ATOMIC_RELAXED), .ticks = now };
	uint64_t since = __atomic_load_n(&slot->last_end, __ATOMIC_RELAXED);
	struct stack_still there;

	__atomic_store_n(&slot->last_sample, now, __ATOMIC_RELAXED);
	stack_still_look(&there, s.tid);
	read_look(&s, &there);
	name_descriptor(r, &s);
	ring_append(r, GST_SAMPLE, sizeof(s), &s);
	stacks_look(r, &there, since, now);
	if (s.syscall == SYS_futex)
		sample_others_of(r, s.tid, now);
}

/* ---- the thread ------------------------------------------------------------------------------------------------------ */

static enum { NOT_STARTED, AT_WORK, NOT_TO_BE_HAD } state;
static uint32_t bell; /* how often it was asked */
static uint64_t silence;

static void look_around(struct ring *r)
{
	for (unsigned i = 0; i < __atomic_load_n(&thread_slots_used, __ATOMIC_RELAXED); i++) {
		uint64_t now = clock_ticks();

		if (due(&thread_slots[i], now, __atomic_load_n(&silence, __ATOMIC_RELAXED)))
			sample(r, &thread_slots[i], now);
	}
	own_thread_account();
}

static void look_main(void)
{
	struct thread *self;

	apart_stay();
	short_slices();
	self = thread_self();
	while (self) {
		uint32_t heard = __atomic_load_n(&bell, __ATOMIC_ACQUIRE);

		look_around(&self->ring);
		syscall(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, heard, NULL, NULL, 0);
	}
}

void samples_ask(uint64_t silence_ticks)
{
	static const struct own_thread thread = { "gpushim-look", look_main };
	uint64_t now = clock_ticks();
	bool any = false;

	for (unsigned i = 0; i < __atomic_load_n(&thread_slots_used, __ATOMIC_RELAXED) && !any; i++)
		any = due(&thread_slots[i], now, silence_ticks);
	if (!any || state == NOT_TO_BE_HAD)
		return;
	__atomic_store_n(&silence, silence_ticks, __ATOMIC_RELAXED);
	if (state == NOT_STARTED)
		state = own_thread_start(&thread) ? AT_WORK : NOT_TO_BE_HAD;
	__atomic_fetch_add(&bell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void samples_forget(void)
{
	state = NOT_STARTED;
	bell = 0;
	sample_others_forget();
}
