/* SPDX-License-Identifier: BSD-2-Clause */
#include "cupti.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apart.h"
#include "clock.h"
#include "cupti_buffers.h"
#include "cupti_find.h"
#include "cupti_link.h"
#include "cupti_record.h"
#include "nap.h"
#include "own_thread.h"
#include "settings.h"

#define FLUSH_NS 50000000ull
#define WAIT_NS 2000000000ull /* for another thread that is at it; then without */

enum { NOT_YET, STARTING, ACTIVE, ENDING /* what it still has is taken */, OVER };

static uint32_t state;
static pid_t owner;          /* process that started it */
static uint32_t inside;      /* threads of ours in a call of CUPTI's that must not end */
static bool asked_by_others; /* the program had wanted it for itself before we did */
static struct cupti_api api;
static void *subscriber;
static bool takes_clock; /* CUPTI's times are CLOCK_MONOTONIC */
static struct gst_level news;
static uint32_t news_pending;
static __thread bool starting;

static const uint32_t calls[] = {
#define CUPTI_CALL(name, id) id,
#include "cupti_calls.def"
#undef CUPTI_CALL
};
#define CALLS (sizeof(calls) / sizeof(*calls))

static const uint32_t kinds[] = { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
				  CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMCPY2 };
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static bool is(uint32_t wanted)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == wanted;
}

bool cupti_is_starting(void)
{
	return starting;
}

enum gst_device_level cupti_level(void)
{
	return is(ACTIVE) ? GST_LEVEL_CUPTI : settings.level;
}

/* Which events of our own are injected; other threads look at it at any time. */
static void set_level(enum gst_device_level level)
{
	__atomic_store_n(&settings.level, level, __ATOMIC_RELAXED);
}

/* ---- what CUPTI calls ---------------------------------------------------------------------------------------------- */

static void on_call(void *user, uint32_t domain, uint32_t call_id, const void *data)
{
	const struct cupti_call *call = data;

	(void)user, (void)call_id;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && call->site == CUPTI_API_ENTER && (is(ACTIVE) || is(ENDING)))
		cupti_link_enter(call->correlation);
}

static void on_wanted(uint8_t **buffer, size_t *size, size_t *records)
{
	*records = 0; /* as many as there is room for */
	*size = 0;
	*buffer = is(OVER) ? NULL : cupti_buffers_take(size);
}

static void on_full(struct CUctx_st *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context, (void)stream, (void)size;
	cupti_buffers_fill(buffer, valid);
}

/* ---- beginning ------------------------------------------------------------------------------------------------------ */

/* The driver loads such a tool when it is initialised, and the tool then wants to be the subscriber. */
static bool tool_is_coming(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");

	return path && *path && strcmp(path, "none") != 0;
}

static void disable(void)
{
	for (unsigned i = 0; i < KINDS; i++)
		api.cuptiActivityDisable(kinds[i]);
}

/* Nodes of graphs one by one: what is idle inside a graph's launch is ours to own as well. CUPTI's GRAPH_TRACE, which nobody asks for, would be
 * cheaper and count it busy. */
static int enable(void)
{
	int rc = CUPTI_SUCCESS;

	for (unsigned i = 0; i < KINDS && rc == CUPTI_SUCCESS; i++)
		rc = api.cuptiActivityEnable(kinds[i]);
	for (unsigned i = 0; i < CALLS && rc == CUPTI_SUCCESS; i++)
		api.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					calls[i]); /* an older one lacks some */
	return rc;
}

static void finish_at_exit(void);

static uint64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What we gave cannot be taken back. The clock that CUPTI has by itself, as its documentation says, for whoever uses it behind us. */
static void leave_clock(void)
{
	if (takes_clock)
		api.cuptiActivityRegisterTimestampCallback(real_ns);
}

static enum gst_level_why subscribe(int *result)
{
	*result = api.cuptiSubscribe(&subscriber, on_call, NULL);
	if (*result)
		return *result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? GST_LEVEL_HELD : GST_LEVEL_REFUSED;
	takes_clock = api.cuptiActivityRegisterTimestampCallback &&
		      api.cuptiActivityRegisterTimestampCallback(clock_mono_ns) == CUPTI_SUCCESS;
	cupti_record_start(&api, !takes_clock);
	*result = api.cuptiActivityRegisterCallbacks(on_wanted, on_full);
	if (!*result)
		*result = enable();
	if (!*result && atexit(finish_at_exit) == 0)
		return GST_LEVEL_AS_ASKED;
	disable();
	leave_clock();
	api.cuptiUnsubscribe(subscriber);
	return GST_LEVEL_REFUSED;
}

static enum gst_level_why begin(int *result)
{
	*result = 0;
	if (__atomic_load_n(&asked_by_others, __ATOMIC_ACQUIRE) || tool_is_coming())
		return GST_LEVEL_HELD;
	if (!cupti_find(&api))
		return GST_LEVEL_NO_LIBRARY;
	if (!cupti_link_start() || !cupti_buffers_start())
		return GST_LEVEL_REFUSED;
	return subscribe(result);
}

static const char *const whys[] = { "in force",
				    "no libcupti",
				    "another tool has it",
				    "it refused",
				    "the program wants it for itself",
				    "the process was forked",
				    "the process ends" };

/* ticks 0: from the file's beginning on, which may not be there yet. */
static void tell(enum gst_level_why why, int result, uint64_t ticks)
{
	news = (struct gst_level){
		.ticks = ticks, .level = cupti_level(), .why = why, .result = result, .asked = GST_LEVEL_CUPTI
	};
	__atomic_store_n(&news_pending, 1, __ATOMIC_RELEASE);
	if (why != GST_LEVEL_AS_ASKED && why != GST_LEVEL_ENDS)
		settings_log("CUPTI is not used: %s (%d)", whys[why], result);
}

/* Another thread is at it. It may need a lock of the loader's that we hold, so not for ever. */
static void await_start(void)
{
	uint64_t begin_ns = clock_mono_ns();

	for (unsigned n = 0; is(STARTING) && clock_mono_ns() - begin_ns < WAIT_NS; n++)
		nap(n);
}

void cupti_start(void)
{
	uint32_t not_yet = NOT_YET;
	enum gst_level_why why;
	int result;

	if (!settings.cupti || starting)
		return;
	if (owner && owner != getpid()) { /* a child, of a parent that had no file yet */
		if (!is(OVER))
			cupti_forget();
		return;
	}
	if (!__atomic_compare_exchange_n(&state, &not_yet, STARTING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		await_start();
		return;
	}
	starting = true;
	owner = getpid();
	why = begin(&result);
	if (why == GST_LEVEL_AS_ASKED)
		set_level(GST_LEVEL_HOST);
	__atomic_store_n(&state, why == GST_LEVEL_AS_ASKED ? ACTIVE : OVER, __ATOMIC_RELEASE);
	tell(why, result, 0);
	starting = false;
}

void cupti_announce(struct thread *t)
{
	if (!__atomic_load_n(&news_pending, __ATOMIC_RELAXED) ||
	    !__atomic_exchange_n(&news_pending, 0, __ATOMIC_ACQ_REL))
		return;
	if (!news.ticks)
		news.ticks = clock_ticks();
	ring_append(&t->ring, GST_LEVEL, sizeof(news), &news);
}

/* ---- in force ------------------------------------------------------------------------------------------------------- */

/* False: it is over, or about to be. */
static bool enter(void)
{
	__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&state, __ATOMIC_SEQ_CST) == ACTIVE && owner == getpid())
		return true;
	__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
	return false;
}

static void leave(void)
{
	__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
}

void cupti_attend(struct thread *t)
{
	static uint64_t last_ns;
	uint64_t now_ns;

	if (!is(ACTIVE) || !enter())
		return;
	now_ns = clock_mono_ns();
	if (now_ns - last_ns > FLUSH_NS) {
		last_ns = now_ns;
		api.cuptiActivityFlushAll(0);
	}
	cupti_record_all(t);
	leave();
}

/* ---- ending --------------------------------------------------------------------------------------------------------- */

static void await_others(void)
{
	uint64_t begin_ns = clock_mono_ns();

	for (unsigned n = 0; __atomic_load_n(&inside, __ATOMIC_SEQ_CST) && clock_mono_ns() - begin_ns < WAIT_NS; n++)
		nap(n);
}

/* In the thread of whoever ends it: all that is done is written (where there is a file: else t is NULL), the rest is given up. That may take
 * seconds, in which other threads go on: from its beginning on nobody is to expect their work's times of CUPTI, and it has edges. */
static void end(struct thread *t, enum gst_level_why why)
{
	uint32_t active = ACTIVE;
	uint64_t ticks = t ? clock_ticks() : 0; /* before the state: what begins earlier is linked yet */
	struct undisturbed u;
	uintptr_t depth = thread_storage.depth;

	if (owner != getpid() ||
	    !__atomic_compare_exchange_n(&state, &active, ENDING, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
		return;
	set_level(settings_auto_level());
	undisturbed_begin(&u);
	thread_storage.depth = THREAD_NEVER_RECORDED; /* what libcupti does meanwhile is not the program's doing */
	await_others();
	disable();
	api.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	if (t)
		cupti_record_all(t);
	__atomic_store_n(&state, OVER, __ATOMIC_SEQ_CST);
	leave_clock();
	api.cuptiUnsubscribe(subscriber);
	tell(why, 0, ticks);
	if (t)
		cupti_announce(t);
	thread_storage.depth = depth;
	undisturbed_end(&u);
}

void cupti_yield(void)
{
	int saved_errno = errno;

	if (!settings.cupti || starting) /* or it is libcupti itself */
		return;
	__atomic_store_n(&asked_by_others, true, __ATOMIC_RELEASE);
	if (is(STARTING))
		await_start();
	if (is(ACTIVE))
		end(thread_self(), GST_LEVEL_YIELDED);
	errno = saved_errno;
}

/* While libcupti still works: it is unloaded before us. The program's own handlers of this kind, but for the oldest, have run. */
static void finish_at_exit(void)
{
	struct thread *t = is(ACTIVE) && owner == getpid() ? thread_self() : NULL;

	if (t)
		end(t, GST_LEVEL_ENDS);
}

void cupti_forget(void)
{
	uint32_t was = __atomic_load_n(&state, __ATOMIC_ACQUIRE);

	cupti_record_forget();
	inside = 0;
	starting = false;
	if (was == NOT_YET)
		return;
	state = OVER;
	set_level(settings_auto_level());
	if (was != OVER) {
		tell(GST_LEVEL_FORKED, 0, 0);
	} else { /* what the parent's file says, this one must say as well */
		news.ticks = 0;
		news_pending = 1;
	}
}
