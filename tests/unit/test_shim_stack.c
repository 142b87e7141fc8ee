/* SPDX-License-Identifier: BSD-2-Clause */
/* Native stacks: the same frames as libc finds; and none of what a thread can be in the middle of, nor any nonsense, makes it crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#include "shim/arch.h"
#include "shim/edge.h"
#include "shim/stack.h"
#include "shim/stack_budget.h"
#include "shim/stack_objects.h"
#include "shim/stack_walk.h"
#include "shim_driver.h"
#include "stack_emulated.h"

#define FUNCTION __attribute__((noinline, noclone))
#define BEHIND __asm__ volatile("" : : : "memory")
#define SAMPLES 10000

static struct stack_window window = { .pages = STACK_WINDOW_PAGES };
static struct stack_native frames[STACK_NATIVE_MAX];

/* ---- the same as libc ----------------------------------------------------------------------------------------------------- */

static void *expected[256];
static int n_expected;
static unsigned n_frames;
static bool whole;

FUNCTION static void take_both(void)
{
	struct stack_registers here = { .fp_known = true };

	n_expected = backtrace(expected, 256);
	arch_registers(&here.pc, &here.sp, &here.fp);
	stack_objects_begin();
	n_frames = stack_walk(&here, &window, frames, &whole);
}

FUNCTION static int by_sort(const void *a, const void *b)
{
	take_both();
	return *(const int *)a - *(const int *)b;
}

FUNCTION static void descend(int n)
{
	int some[2] = { 2, 1 };
	char *room = __builtin_alloca((size_t)n * 24 + 1);

	room[0] = 0;
	if (n)
		descend(n - 1);
	else
		qsort(some, 2, sizeof(*some), by_sort);
	BEHIND;
}

static void finds_what_libc_finds(void **state)
{
	(void)state;
	for (int depth = 0; depth < 100; depth += 9) {
		descend(depth);
		assert_true(whole);
		/* From the outermost in: the first ones are two instructions of take_both, and a sanitizer's own frames. */
		assert_in_range(n_frames, depth + 5, n_expected);
		for (unsigned i = 1; i < n_frames; i++)
			assert_int_equal(frames[n_frames - i].at, (uintptr_t)expected[n_expected - (int)i]);
	}
}

/* ---- registers that make no sense ------------------------------------------------------------------------------------------ */

static uint64_t nonsense(uint64_t sp)
{
	switch (random() % 6) {
	case 0:
		return sp + (uint64_t)random() % 100000;
	case 1:
		return sp - (uint64_t)random() % 100000;
	case 2:
		return (uint64_t)(uintptr_t)take_both + (uint64_t)random() % 65536;
	case 3:
		return (uint64_t)(uintptr_t)qsort + (uint64_t)random() % 65536;
	case 4:
		return (uint64_t)random() % 65536;
	}
	return (uint64_t)random() << 33 ^ (uint64_t)random();
}

static void registers_without_sense(void **state)
{
	uint64_t pc, sp, fp;

	(void)state;
	srandom(4711);
	arch_registers(&pc, &sp, &fp);
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct stack_registers r = { .pc = random() % 4 ? pc : nonsense(sp),
					     .sp = random() % 3 ? nonsense(sp) : sp,
					     .fp = random() % 3 ? nonsense(sp) : fp,
					     .fp_known = random() % 8 };

		n_frames = stack_walk(&r, &window, frames, &whole);
		assert_in_range(n_frames, 1, STACK_NATIVE_MAX);
	}
}

/* A stack that somebody wrote over: frame pointers in circles, return addresses of anything. */
static void a_stack_without_sense(void **state)
{
	static uint64_t stack[512];

	(void)state;
	srandom(42);
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct stack_registers r = { .pc = (uint64_t)(uintptr_t)take_both + (uint64_t)random() % 64,
					     .sp = (uint64_t)(uintptr_t)stack,
					     .fp = (uint64_t)(uintptr_t)&stack[random() % 512],
					     .fp_known = true };

		for (unsigned k = 0; k < 512; k++)
			stack[k] = random() % 2 ? (uint64_t)(uintptr_t)&stack[random() % 512] : nonsense(r.sp);
		n_frames = stack_walk(&r, &window, frames, &whole);
		assert_in_range(n_frames, 1, STACK_NATIVE_MAX);
	}
}

/* ---- in the middle of anything ---------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t taken, to_the_end;

static struct stack_registers interrupted_at(const void *context)
{
	const ucontext_t *u = context;
#if defined(__x86_64__)
	const greg_t *g = u->uc_mcontext.gregs;

	return (struct stack_registers){ (uint64_t)g[REG_RIP], (uint64_t)g[REG_RSP], (uint64_t)g[REG_RBP], true };
#else
	return (struct stack_registers){ u->uc_mcontext.pc, u->uc_mcontext.sp, u->uc_mcontext.regs[29], true };
#endif
}

/* What was interrupted, as it stands; then the handler's own, through the kernel's frame. */
static void on_timer(int signal, siginfo_t *info, void *context)
{
	struct stack_registers r = interrupted_at(context), here = { .fp_known = true };
	unsigned outer, inner;
	int saved_errno = errno;
	uint64_t last;
	bool ended;

	(void)signal;
	(void)info;
	outer = stack_walk(&r, &window, frames, &ended);
	last = frames[outer - 1].at;
	arch_registers(&here.pc, &here.sp, &here.fp);
	inner = stack_walk(&here, &window, frames, &whole);
	errno = saved_errno;
	taken++;
	/* The latter ends where the former does; which, where a call leaves its return address in a register, does not know that of a leaf. */
	to_the_end += whole && (ended ? inner > outer && frames[inner - 1].at == last : !ARCH_RA_ON_STACK);
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

FUNCTION static unsigned changes_frames(unsigned n)
{
	char *room = __builtin_alloca(n % 64 + 1);
	int some[8];

	for (int i = 0; i < 8; i++)
		some[i] = (int)(n * 2654435761u >> i);
	qsort(some, 8, sizeof(*some), compare);
	room[0] = (char)some[0];
	return (n ? changes_frames(n - 1) : 0) + (unsigned)room[0];
}

static void signals_in_the_middle_of_frame_changes(void **state)
{
	struct sigaction action = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval every = { { 0, 60 }, { 0, 60 } }, never = { { 0, 0 }, { 0, 0 } };
	char text[64];

	(void)state;
	stack_objects_begin();
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned n = 0; taken < SAMPLES; n++) {
		changes_frames(n % 24);
		snprintf(text, sizeof(text), "%u %g %s", n, n * 0.1, "text");
		free(malloc(n % 4096));
	}
	setitimer(ITIMER_REAL, &never, NULL);
	assert_true(taken >= SAMPLES);
#if !defined(__SANITIZE_THREAD__) /* which calls handlers later, when the stack is another one */
	if (ARCH_RA_ON_STACK ||
	    getauxval(AT_SYSINFO_EHDR)) /* else an emulator's own code is behind a handler, without tables */
		/* Hand-written code of libc has places that no table knows. */
		assert_in_range(to_the_end, SAMPLES * 99 / 100, taken);
#endif
}

/* ---- the whole of it ------------------------------------------------------------------------------------------------------- */

static CUresult fake_launch(CUfunction f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g,
			    unsigned h, CUstream s, void **parameters, void **extra)
{
	(void)f, (void)a, (void)b, (void)c, (void)d, (void)e, (void)g, (void)h, (void)s, (void)parameters, (void)extra;
	return CUDA_SUCCESS;
}

static CUresult fake_function_name(const char **name, CUfunction f)
{
	*name = (uintptr_t)f % 32 ? "odd" : "even";
	return CUDA_SUCCESS;
}

/* libc's random has a lock, which a handler may have interrupted. */
static unsigned any(void)
{
	static __thread unsigned state = 4711;

	return state = state * 1664525 + 1013904223, state >> 8;
}

static void launch(void)
{
	assert_int_equal(cuLaunchKernel((CUfunction)(uintptr_t)(0x5000 + any() % 50 * 16), 1, 1, 1, 32, 1, 1, 0, NULL,
					NULL, NULL),
			 CUDA_SUCCESS);
}

static void on_timer_launch(int signal)
{
	(void)signal;
	launch();
}

FUNCTION static void launch_deep(unsigned n)
{
	char *room = __builtin_alloca(n % 40 * 8 + 1);

	room[0] = 0;
	if (n)
		launch_deep(n - 1);
	launch();
	BEHIND;
}

static void *launches_much(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < SAMPLES / 3; i++) {
		struct thread *t = thread_self();

		t->stacks.credit = INT64_MAX / 4; /* as if time had passed */
		t->until_timed = any() % 4;       /* and the lot had fallen on one of the next calls */
		launch_deep(any() % 30);
	}
	return NULL;
}

static void recorded_from_threads_and_handlers(void **state)
{
	struct sigaction action = { .sa_handler = on_timer_launch, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	const struct gst_stack_cost *cost;
	pthread_t threads[3];
	char command[256];

	(void)state;
	real.cuLaunchKernel = fake_launch;
	real.cuFuncGetName = fake_function_name;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, launches_much, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	me = thread_self();
	stacks_note_cost(&me->ring);
	cost = (const struct gst_stack_cost *)(const void *)(me->ring.segment + me->ring.at - sizeof(*cost));
	assert_int_equal(cost->record.type, GST_STACK_COST);
	assert_in_range(cost->taken, SAMPLES, UINT64_MAX);
	/* Of libc alone: the recorder is a part of this program, and its own frames are left out. */
	assert_in_range(cost->frames, cost->taken, STACK_NATIVE_MAX * cost->taken);
	assert_int_equal(cost->failed, 0);
	assert_int_equal(recorded_on(STREAM_B), 0);
	forget_recorded();
	snprintf(command, sizeof(command), "ls %s/*.gst >/dev/null", directory);
	assert_int_equal(system(command), 0);
}

static struct gst_stack_cost cost_so_far(void)
{
	stacks_note_cost(&me->ring);
	return *(const struct gst_stack_cost *)(const void *)(me->ring.segment + me->ring.at -
							      sizeof(struct gst_stack_cost));
}

static void launch_drawn(unsigned n)
{
	while (n--) {
		me->until_timed = 0;
		launch();
	}
}

/* Each stack is paid for out of what the thread has saved up; without, there is none. */
static void a_thread_without_credit_takes_none(void **state)
{
	struct gst_stack_cost before, after;
	int64_t credit = (int64_t)clock_ticks_in(4000000);

	(void)state;
	real.cuLaunchKernel = fake_launch;
	real.cuFuncGetName = fake_function_name;
	settings.stacks_ppm = 1;
	me->stacks.credit = credit;
	launch_drawn(10);
	before = cost_so_far();
	assert_in_range(credit - me->stacks.credit, 1, (int64_t)clock_ticks_in(1000000000));
	me->stacks.credit = -(int64_t)clock_ticks_in(4000000);
	launch_drawn(1000);
	me->stacks.credit = credit;
	launch_drawn(1);
	after = cost_so_far();
	assert_int_equal(after.taken, before.taken + 1);
	assert_true(after.taken_ticks > before.taken_ticks);
	settings.stacks_ppm = 1000000;
}

/* What all threads together begin with is what the account has; what they leave goes back, and what they overdrew is missing. */
static void short_lives_share_one_account(void **state)
{
	static struct thread t;
	const int64_t most = (int64_t)clock_ticks_in(5000000);
	uint64_t now = clock_ticks();
	int64_t sum = 0;

	(void)state;
	settings.stacks_ppm = 5000;
	stacks_begin();
	for (int i = 0; i < 1000; i++) {
		stacks_thread_begins(&t, now); /* which never end */
		assert_in_range(t.stacks.credit, i < 8, most);
		sum += t.stacks.credit;
	}
	assert_in_range(sum, most / 2, most);
	for (int i = 0; i < 1000; i++) { /* one a millisecond */
		now += clock_ticks_in(1000000);
		stacks_thread_begins(&t, now);
		sum += t.stacks.credit;
	}
	assert_in_range(sum, most * 3 / 2, most * 2 + 1000);
	stacks_begin();
	stacks_thread_begins(&t, clock_ticks());
	t.stacks.credit = most;
	stacks_thread_ended(&t);
	stacks_thread_begins(&t, clock_ticks());
	assert_in_range(t.stacks.credit, most / 2, most);
	t.stacks.credit = -100 * most;
	stacks_thread_ended(&t);
	stacks_thread_begins(&t, clock_ticks());
	assert_int_equal(t.stacks.credit, 0);
	settings.stacks_ppm = 1000000;
	stacks_begin();
}

static void a_small_share_is_earned_however_often_it_is_asked_for(void **state)
{
	struct thread_stacks s = { .credit = 0, .credited = 1000 };

	(void)state;
	for (uint64_t ticks = 1000; ticks <= 1001000; ticks += 70)
		stack_budget_update(&s, ticks, 10);
	stack_budget_update(&s, 1001000, 10);
	assert_int_equal(s.credit, 10);
	stack_budget_update(&s, 500000, 10); /* another thread had come further */
	assert_int_equal(s.credit, 10);
	stack_budget_update(&s, 1101000, 10);
	assert_int_equal(s.credit, 11);
}

/* A stack is taken behind its call: the time until the next one is the program's but for that. */
static void a_stack_makes_no_silence(void **state)
{
	uint64_t end = 1000000, silence = thread_silence_ticks;

	(void)state;
	me->stacks.last_end = end - 1;
	me->stacks.last_ticks = 500;
	assert_false(stacks_silence(me, end, end + silence));
	assert_true(stacks_silence(me, end, end + silence + 1));
	me->stacks.last_end = end;
	assert_false(stacks_silence(me, end, end + silence + 500));
	assert_true(stacks_silence(me, end, end + silence + 501));
	me->stacks.began = end; /* what was before the first call is not known */
	assert_false(stacks_silence(me, end, end + silence + 501));
}

/* As behind a sandbox: the program's calls go on, nothing is asked again, and the trace says why there is nothing. */
static void where_the_kernel_refuses(void **state)
{
	struct gst_stack_cost before, after;
	unsigned asked;

	(void)state;
	real.cuLaunchKernel = fake_launch;
	real.cuFuncGetName = fake_function_name;
	me->stacks.credit = (int64_t)clock_ticks_in(4000000);
	launch_drawn(1);
	before = cost_so_far();
	assert_int_equal(before.python & GST_STACKS_REFUSED, 0);
	me->stacks.credit = (int64_t)clock_ticks_in(4000000);
	refuse_reads = EPERM;
	errno = 4242;
	launch_drawn(1);
	assert_int_equal(errno, 4242);
	asked = asked_reads;
	launch_drawn(100);
	stacks_refused_by_framework(me, clock_ticks());
	assert_int_equal(asked_reads, asked);
	after = cost_so_far();
	assert_int_equal(after.python & GST_STACKS_REFUSED, GST_STACKS_REFUSED);
	assert_int_equal(after.taken, before.taken);
	assert_int_equal(after.failed, before.failed + 1);
	refuse_reads = 0;
}

static int set_up_stacks(void **state)
{
	settings.stacks_ppm = 1000000;
	return set_up(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_libc_finds),
		cmocka_unit_test(registers_without_sense),
		cmocka_unit_test(a_stack_without_sense),
		cmocka_unit_test(signals_in_the_middle_of_frame_changes),
		cmocka_unit_test_setup(a_thread_without_credit_takes_none, set_up_stacks),
		cmocka_unit_test(a_small_share_is_earned_however_often_it_is_asked_for),
		cmocka_unit_test_setup(a_stack_makes_no_silence, set_up_stacks),
		cmocka_unit_test_setup(short_lives_share_one_account, set_up_stacks),
		cmocka_unit_test_setup(recorded_from_threads_and_handlers, set_up_stacks),
		cmocka_unit_test_setup(where_the_kernel_refuses, set_up_stacks), /* for good */
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
