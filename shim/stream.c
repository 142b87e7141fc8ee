/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream.h"

#include <string.h>

#include "apart.h"
#include "file.h"
#include "memory_kind.h"
#include "nap.h"

#define PROBES 64     /* a handle is found or given a place within this distance of its hash */
#define PATIENCE 5000 /* naps of 20 us: who is stopped where others wait (a debugger) must not stop them too */

static struct stream table[STREAM_TABLE];

/* Sets of streams, one bit each: a synchronise looks at the few that matter, not at the table. */
struct set {
	uint64_t words[STREAM_TABLE / 64];
};
static struct set unmarked; /* has work that no edge marks and that is not known to have finished */
static struct set busy;     /* has work that is not known to have finished */
static struct set blocking; /* is ordered against the legacy stream */
static uint32_t last_id;
static uint32_t inserting; /* spin lock: an undisturbed thread enters a new stream, without asking the driver */

static inline void set_add(struct set *set, const struct stream *s)
{
	uint64_t *word = &set->words[(s - table) / 64], bit = 1ull << (s - table) % 64;

	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_ACQ_REL);
}

static inline void set_remove(struct set *set, const struct stream *s)
{
	uint64_t *word = &set->words[(s - table) / 64], bit = 1ull << (s - table) % 64;

	if (__atomic_load_n(word, __ATOMIC_RELAXED) & bit)
		__atomic_fetch_and(word, ~bit, __ATOMIC_ACQ_REL);
}

static inline bool set_has(const struct set *set, const struct stream *s)
{
	return __atomic_load_n(&set->words[(s - table) / 64], __ATOMIC_RELAXED) >> (s - table) % 64 & 1;
}

struct stream_key stream_key_of(struct thread *t, CUstream stream)
{
	uint64_t handle = (uintptr_t)stream;

	if (handle <= (uintptr_t)CU_STREAM_LEGACY)
		return (struct stream_key){ (uintptr_t)CU_STREAM_LEGACY, thread_context(t), 0 };
	if (handle == (uintptr_t)CU_STREAM_PER_THREAD)
		return (struct stream_key){ handle, thread_context(t), t->tid };
	return (struct stream_key){ handle, 0, 0 };
}

static inline struct stream *probe(const struct stream_key *k, unsigned i)
{
	uint64_t h = (k->handle ^ k->context ^ k->tid) * 0x9e3779b97f4a7c15u >> 45;

	return &table[(h + i) % STREAM_TABLE];
}

static bool matches(const struct stream *s, const struct stream_key *k)
{
	return __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == STREAM_LIVE && s->handle == k->handle &&
	       (!k->context || s->context == k->context) && s->tid == k->tid;
}

static struct stream *find(const struct stream_key *k)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct stream *s = probe(k, i);

		if (matches(s, k))
			return s;
		if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) == STREAM_FREE)
			break;
	}
	return NULL;
}

static struct stream *place_of(const struct stream_key *k)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct stream *s = probe(k, i);

		if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) != STREAM_LIVE)
			return s;
	}
	return NULL;
}

/* What the driver says of a stream: the context of one that the program made decides its device. False: there is no such stream.
 * The thread may never return from here (gate.h), and so holds nothing that others wait for. */
static bool describe(struct thread *t, const struct stream_key *k, struct gst_stream *r)
{
	CUstream handle = (CUstream)(uintptr_t)k->handle;
	CUcontext context = NULL;
	unsigned flags = 0;
	int priority = 0;
	CUdevice device;
	CUresult rc;

	*r = (struct gst_stream){ .handle = k->handle, .context = k->context, .device = 0xffff };
	r->kind = k->handle == (uintptr_t)CU_STREAM_LEGACY       ? GST_STREAM_LEGACY
		  : k->handle == (uintptr_t)CU_STREAM_PER_THREAD ? GST_STREAM_PER_THREAD
								 : GST_STREAM_CREATED;
	if (thread_context(t))
		r->device = t->device;
	if (r->kind != GST_STREAM_CREATED)
		return true;
	rc = INJECT(cuStreamGetCtx, handle, &context);
	if (rc == CUDA_ERROR_INVALID_HANDLE || rc == CUDA_ERROR_INVALID_VALUE ||
	    rc == CUDA_ERROR_CONTEXT_IS_DESTROYED || rc == CUDA_ERROR_INVALID_CONTEXT)
		return false;
	if (rc == CUDA_SUCCESS)
		r->context = (uintptr_t)context;
	/* A green context's stream may be used while another context is current. */
	if (r->context != t->context && INJECT(cuStreamGetDevice, handle, &device) == CUDA_SUCCESS)
		r->device = (uint16_t)device;
	if (INJECT(cuStreamGetFlags, handle, &flags) == CUDA_SUCCESS)
		r->flags = flags;
	if (INJECT(cuStreamGetPriority, handle, &priority) == CUDA_SUCCESS)
		r->priority = priority;
	return true;
}

static bool insert_begin(void)
{
	for (unsigned n = 0; __atomic_exchange_n(&inserting, 1, __ATOMIC_ACQUIRE); n++) {
		if (n == PATIENCE)
			return false;
		nap(n);
	}
	return true;
}

static void insert_end(void)
{
	__atomic_store_n(&inserting, 0, __ATOMIC_RELEASE);
}

/* Between insert_begin and insert_end. NULL: no place. */
static struct stream *enter(struct thread *t, const struct stream_key *k, struct gst_stream *r)
{
	struct stream *s = place_of(k);

	if (!s)
		return NULL;
	memset(s, 0, offsetof(struct stream, state));
	memset((char *)s + offsetof(struct stream, device), 0, sizeof(*s) - offsetof(struct stream, device));
	s->handle = k->handle;
	s->context = r->context;
	s->tid = k->tid;
	s->id = r->id = ++last_id;
	s->device = r->device;
	if (s->device != 0xffff)
		memory_device_used(s->device); /* its context may never be current */
	s->kind = r->kind;
	t->own_stream |= s->kind == GST_STREAM_PER_THREAD;
	if (s->kind != GST_STREAM_LEGACY && !(r->flags & CU_STREAM_NON_BLOCKING))
		set_add(&blocking, s);
	ring_append(&t->ring, GST_STREAM, sizeof(*r), r);
	__atomic_store_n(&s->state, STREAM_LIVE, __ATOMIC_RELEASE);
	return s;
}

/* NULL: no such stream, or no place for it (counted). */
static struct stream *insert(struct thread *t, const struct stream_key *k)
{
	struct stream *s = NULL;
	struct gst_stream r;
	struct undisturbed u;

	if (place_of(k)) { /* else each use would ask in vain */
		if (!describe(t, k, &r))
			return NULL;
		undisturbed_begin(&u);
		if (insert_begin()) {
			s = find(k); /* another thread may have been faster */
			if (!s)
				s = enter(t, k, &r);
			insert_end();
		}
		undisturbed_end(&u);
	}
	if (!s)
		__atomic_fetch_add(&file_counters()->streams_untracked, 1, __ATOMIC_RELAXED);
	return s;
}

struct stream *stream_find(struct thread *t, CUstream handle)
{
	struct stream *s = stream_again(t, handle);
	struct stream_key k;

	if (s)
		return s;
	k = stream_key_of(t, handle);
	return find(&k);
}

struct stream *stream_look_up(struct thread *t, CUstream handle)
{
	struct stream_key k = stream_key_of(t, handle);
	struct stream *s;

	if (!k.context && k.handle <= (uintptr_t)CU_STREAM_PER_THREAD)
		return NULL; /* no context: the driver will say so */
	s = find(&k);
	if (!s)
		s = insert(t, &k);
	if (!s)
		return NULL;
	t->last_handle = (uintptr_t)handle;
	t->last_stream = s;
	return s;
}

/* ---- progress ------------------------------------------------------------------------------------------------------- */

static void raise_to(uint64_t *p, uint64_t value)
{
	uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

	while (old < value && !__atomic_compare_exchange_n(p, &old, value, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
}

static bool has_unmarked(const struct stream *s)
{
	uint64_t entered = __atomic_load_n(&s->entered, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&s->marked, __ATOMIC_ACQUIRE) < entered &&
	       __atomic_load_n(&s->done, __ATOMIC_ACQUIRE) < entered;
}

static bool is_busy(const struct stream *s)
{
	return !stream_is_empty(s);
}

/* A set may hold streams that have left it in truth: f is called for those that `still` says are in it. */
static void set_each(const struct set *set, bool (*still)(const struct stream *s),
		     void (*f)(struct stream *s, void *arg), void *arg)
{
	for (uint32_t w = 0; w < STREAM_TABLE / 64; w++) {
		for (uint64_t bits = __atomic_load_n(&set->words[w], __ATOMIC_ACQUIRE); bits; bits &= bits - 1) {
			struct stream *s = &table[w * 64 + (uint32_t)__builtin_ctzll(bits)];

			if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == STREAM_LIVE && still(s))
				f(s, arg);
		}
	}
}

void stream_submitted(struct stream *s)
{
	set_add(&busy, s);
	set_add(&unmarked, s);
}

/* Takes the stream out of the sets it no longer belongs to; a submission may come in at any point of this, which is seen in time
 * unless it is another thread's that owns the counters: then it stays, and the owner takes it out. */
static void settle(struct stream *s)
{
	if (bias_is_others(&s->bias, thread_storage.slot))
		return;
	if (!has_unmarked(s)) {
		set_remove(&unmarked, s);
		if (has_unmarked(s))
			set_add(&unmarked, s);
	}
	if (stream_is_empty(s)) {
		set_remove(&busy, s);
		if (!stream_is_empty(s))
			set_add(&busy, s);
	}
}

void stream_finished(struct stream *s, uint64_t covers)
{
	raise_to(&s->done, covers);
	settle(s);
}

void stream_marked(struct stream *s, uint64_t covers)
{
	raise_to(&s->marked, covers);
	settle(s);
}

void streams_each_unmarked(void (*f)(struct stream *s, void *arg), void *arg)
{
	set_each(&unmarked, has_unmarked, f, arg);
}

static void note_any(struct stream *s, void *any)
{
	(void)s;
	*(bool *)any = true;
}

bool streams_any_unmarked(void)
{
	bool any = false;

	set_each(&unmarked, has_unmarked, note_any, &any);
	return any;
}

bool streams_any_busy(void)
{
	bool any = false;

	set_each(&busy, is_busy, note_any, &any);
	return any;
}

static bool is_used(const struct stream *s, uint64_t since)
{
	uint64_t entered = __atomic_load_n(&s->entered, __ATOMIC_RELAXED);

	return entered && ((int64_t)(__atomic_load_n(&s->last_submit, __ATOMIC_RELAXED) - since) > 0 ||
			   entered != __atomic_load_n(&s->returned, __ATOMIC_RELAXED));
}

static uint32_t value_tid; /* 0 nobody's */
#define MANY_TIDS UINT32_MAX

void stream_value_awaited(const struct thread *t, const struct stream *s)
{
	uint32_t first = __atomic_load_n(&value_tid, __ATOMIC_RELAXED);

	if (!set_has(&blocking, s) || first == t->tid || first == MANY_TIDS)
		return;
	if (first ||
	    !__atomic_compare_exchange_n(&value_tid, &first, t->tid, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		__atomic_store_n(&value_tid, MANY_TIDS, __ATOMIC_SEQ_CST);
}

bool streams_value_beside(const struct thread *t)
{
	uint32_t tid = __atomic_load_n(&value_tid, __ATOMIC_SEQ_CST);

	return tid && tid != t->tid;
}

bool streams_used_beside(const struct thread *t, const struct stream *legacy, uint64_t since)
{
	if (streams_value_beside(t))
		return true;
	for (uint32_t w = 0; w < STREAM_TABLE / 64; w++) {
		for (uint64_t bits = __atomic_load_n(&blocking.words[w], __ATOMIC_ACQUIRE); bits; bits &= bits - 1) {
			const struct stream *s = &table[w * 64 + (uint32_t)__builtin_ctzll(bits)];

			if (s->context == legacy->context && !bias_is_own(&s->bias, t->slot) && is_used(s, since) &&
			    __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == STREAM_LIVE)
				return true;
		}
	}
	return false;
}

struct context_sync {
	uint64_t context, begin;
};

static void finish_if(struct stream *s, void *arg)
{
	const struct context_sync *sync = arg;

	uint64_t covers = stream_covers(s); /* first: then last_submit is at least as new */

	if (s->context == sync->context && __atomic_load_n(&s->last_submit, __ATOMIC_RELAXED) < sync->begin)
		stream_finished(s, covers);
}

/* Streams that went with work in them: of one context, since when; of several, for ever. */
static struct {
	uint64_t context, ticks;
} gone_busy;
#define SEVERAL UINT64_MAX

void streams_finished_context(uint64_t context, uint64_t begin)
{
	struct context_sync sync = { context, begin };

	set_each(&busy, is_busy, finish_if, &sync);
	if (__atomic_load_n(&gone_busy.ticks, __ATOMIC_SEQ_CST) < begin)
		__atomic_compare_exchange_n(&gone_busy.context, &context, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

void streams_each_busy(void (*f)(struct stream *s, void *arg), void *arg)
{
	set_each(&busy, is_busy, f, arg);
}

bool streams_left_busy(void)
{
	return __atomic_load_n(&gone_busy.context, __ATOMIC_SEQ_CST) != 0;
}

static void retire(struct stream *s)
{
	if (!stream_is_empty(s)) {
		uint64_t none = 0, context = s->context ? s->context : SEVERAL;

		__atomic_store_n(&gone_busy.ticks, clock_ticks(), __ATOMIC_SEQ_CST);
		if (!__atomic_compare_exchange_n(&gone_busy.context, &none, context, false, __ATOMIC_SEQ_CST,
						 __ATOMIC_RELAXED) &&
		    none != context)
			__atomic_store_n(&gone_busy.context, SEVERAL, __ATOMIC_SEQ_CST);
	}
	set_remove(&blocking, s); /* first: its place may be another one's at once, and nobody adds that again */
	__atomic_store_n(&s->state, STREAM_DEAD, __ATOMIC_RELEASE);
	set_remove(&unmarked, s);
	set_remove(&busy, s);
}

void stream_retire(uint64_t handle)
{
	struct stream_key k = { handle, 0, 0 };
	struct stream *s = handle > (uintptr_t)CU_STREAM_PER_THREAD ? find(&k) : NULL;

	if (s)
		retire(s);
}

void streams_retire(uint64_t context, uint32_t tid)
{
	for (unsigned i = 0; i < STREAM_TABLE; i++) {
		struct stream *s = &table[i];

		if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == STREAM_LIVE &&
		    (context ? s->context == context : s->tid == tid))
			retire(s);
	}
}

uint16_t streams_device(uint64_t context)
{
	for (unsigned i = 0; i < STREAM_TABLE; i++)
		if (__atomic_load_n(&table[i].state, __ATOMIC_ACQUIRE) == STREAM_LIVE && table[i].context == context)
			return table[i].device;
	return 0xffff;
}

void streams_forget(void)
{
	memset(table, 0, sizeof(table));
	memset(&unmarked, 0, sizeof(unmarked));
	memset(&busy, 0, sizeof(busy));
	memset(&blocking, 0, sizeof(blocking));
	memset(&gone_busy, 0, sizeof(gone_busy));
	last_id = inserting = value_tid = 0;
}
