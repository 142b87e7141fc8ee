/* SPDX-License-Identifier: BSD-2-Clause */
#include "sample.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apart.h"
#include "futex_owner.h"
#include "names.h"
#include "own_thread.h"
#include "sample_file.h"
#include "sample_others.h"
#include "short_slices.h"
#include "stack.h"
#include "stack_still.h"
#include "thread.h"
#include "throttled.h"

#define SAMPLE_GRAIN_NS 16000 /* of the 200 us that a thread is silent at least, and the 1 ms between two looks */

#define ON_CPU (-1)
#define BLOCKED_ELSEWHERE (-2)
#define UNKNOWN (-3)

static void name_file(struct ring *r, struct gst_sample *s, const struct sample_file *f)
{
	s->fd_kind = f->kind;
	s->file = names_file(r, f->path);
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
	if (s->syscall < 0)
		s->syscall = BLOCKED_ELSEWHERE;
	else
		s->arg = strtoull(end, NULL, 16);
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

/* ---- the others ---------------------------------------------------------------------------------------------------------- */

struct others {
	struct stack_still at[1 + SAMPLE_OTHERS_MAX];
	unsigned n;
	uint32_t holder; /* the first, 0 none */
};

/* At once, so that they are of the same time. Who has the lock, if that says so, goes before all others. */
static void glance_at_others(struct others *o, const struct gst_sample *waiting)
{
	uint32_t tids[SAMPLE_OTHERS_MAX], holder = futex_owner(waiting->arg);
	unsigned n;

	if (!holder)
		holder = stacks_python_holder(waiting->arg);
	if (holder && holder != waiting->tid && !own_thread_is(holder)) {
		o->holder = holder;
		stack_still_glance(&o->at[o->n++], holder);
	}
	n = sample_others(waiting->tid, tids);
	for (unsigned i = 0; i < n; i++)
		if (tids[i] != holder)
			stack_still_glance(&o->at[o->n++], tids[i]);
}

/* The third argument of the system call that it stands in. */
static uint64_t third_argument(const struct stack_still *there)
{
	char *at;

	strtol(there->text, &at, 10);
	strtoull(at, &at, 16);
	strtoull(at, &at, 16);
	return strtoull(at, NULL, 16);
}

/* It has waited in a poll for as long as anybody has looked. */
static bool is_furniture(const struct gst_sample *s, const struct stack_still *there, uint64_t since)
{
	uint64_t idle_ns = sample_file_poll_ns(s->syscall, third_argument(there));

	return !sample_others_ran(s->tid, clock_ticks_in(idle_ns), since, s->ticks);
}

/* It computes, or it is one that takes data and hands them on. */
static bool tells(struct gst_sample *s, struct sample_file *f, const struct stack_still *there, uint64_t since)
{
	if (s->syscall != ON_CPU) {
		if (!sample_file_is_read(s->syscall) && !sample_file_is_poll(s->syscall))
			return false;
		if (!sample_file_of(f, s) || (f->kind != GST_FD_PIPE && f->kind != GST_FD_SOCKET))
			return false;
		if (sample_file_is_poll(s->syscall) && is_furniture(s, there, since))
			return false;
	}
	return !sample_others_is_a_librarys(s->tid);
}

/* Wherever it is: nobody else is waited for. Its number may be of another process's thread, or of none. */
static bool holds(struct gst_sample *s, struct sample_file *f)
{
	s->flags = GST_SAMPLE_HOLDS;
	sample_file_of(f, s);
	return s->syscall != UNKNOWN;
}

/* since: the other one has waited from then on. */
static void sample_others_of(struct ring *r, const struct others *o, uint64_t since, uint64_t now)
{
	for (unsigned i = 0; i < o->n; i++) {
		struct gst_sample s = { .tid = o->at[i].tid, .ticks = now };
		struct sample_file f;
		bool told;

		f.kind = GST_FD_NONE;
		f.path[0] = 0;
		read_look(&s, &o->at[i]);
		told = s.tid == o->holder ? holds(&s, &f) : tells(&s, &f, &o->at[i], since);
		sample_others_note(s.tid, told);
		if (!told)
			continue;
		if (f.path[0])
			name_file(r, &s, &f);
		ring_append(r, GST_SAMPLE, sizeof(s), &s);
	}
}

/* -------------------------------------------------------------------------------------------------------------------------- */

static void sample(struct ring *r, struct thread_slot *slot, uint64_t now)
{
	struct gst_sample s = { .tid = __atomic_load_n(&slot->tid, __ATOMIC_RELAXED), .ticks = now };
	uint64_t since = __atomic_load_n(&slot->last_end, __ATOMIC_RELAXED);
	struct others others = { .n = 0 };
	struct stack_still there;
	struct sample_file f;

	__atomic_store_n(&slot->last_sample, now, __ATOMIC_RELAXED);
	stack_still_look(&there, s.tid);
	read_look(&s, &there);
	if (s.syscall == SYS_futex)
		glance_at_others(&others, &s);
	else if (s.syscall == BLOCKED_ELSEWHERE)
		s.arg = swapped_bytes();
	else if (s.syscall == ON_CPU)
		s.arg = throttled_so_far();
	else if (sample_file_of(&f, &s))
		name_file(r, &s, &f);
	ring_append(r, GST_SAMPLE, sizeof(s), &s);
	stacks_look(r, &there, since, now);
	sample_others_of(r, &others, since, now);
}

/* ---- the thread ------------------------------------------------------------------------------------------------------ */

static enum { NOT_STARTED, AT_WORK, NOT_TO_BE_HAD } thread_is;
static uint32_t bell;    /* how often it was asked */
static uint64_t silence; /* 0: nobody has asked yet */

static void look_around(struct ring *r)
{
	uint64_t asked = __atomic_load_n(&silence, __ATOMIC_RELAXED), grain = clock_grain(SAMPLE_GRAIN_NS);

	throttled_watch();
	for (unsigned i = 0; asked && i < __atomic_load_n(&thread_slots_used, __ATOMIC_RELAXED); i++) {
		uint64_t now = clock_floor(clock_ticks(), grain);

		if (due(&thread_slots[i], now, asked))
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

void samples_begin(void)
{
	static const struct own_thread thread = { "gpushim-look", look_main };

	if (thread_is == NOT_STARTED)
		thread_is = own_thread_start(&thread) ? AT_WORK : NOT_TO_BE_HAD;
}

void samples_ask(uint64_t silence_ticks)
{
	uint64_t now = clock_ticks();
	bool any = false;

	for (unsigned i = 0; i < __atomic_load_n(&thread_slots_used, __ATOMIC_RELAXED) && !any; i++)
		any = due(&thread_slots[i], now, silence_ticks);
	if (!any || thread_is == NOT_TO_BE_HAD)
		return;
	__atomic_store_n(&silence, silence_ticks, __ATOMIC_RELAXED);
	samples_begin();
	__atomic_fetch_add(&bell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void samples_forget(void)
{
	thread_is = NOT_STARTED;
	bell = 0;
	throttled_forget();
	sample_others_forget();
}
