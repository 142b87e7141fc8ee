/* SPDX-License-Identifier: BSD-2-Clause */
/* Exported under CUPTI's names, with what each of them begins with: whoever calls one is about to be the subscriber, or takes the buffers,
 * of which there is one set in a process, or says what is to be recorded (we would take that back with our own). We make room first, then
 * call what the caller would have called without us. Nothing else is done, and at other levels nothing at all. Who looks them up by dlsym, as
 * every program does that could profile itself, has a second set of them, which call what it would have found. */
#include "cupti_hooks.h"

#include <string.h>

#include "cupti.h"
#include "cupti_find.h"
#include "resolve.h"
#include "settings.h"

#define EXPORT __attribute__((visibility("default")))

/* All their arguments are pointers, at most four, or are handed over as one is. */
typedef int forwarded(void *a, void *b, void *c, void *d);

static void make_room(const void *caller)
{
	if (!resolve_is_driver(caller))
		cupti_yield();
}

static int forward(const char *name, const void *caller, void *a, void *b, void *c, void *d)
{
	forwarded *f;

	make_room(caller);
	*(void **)&f = cupti_find_for(caller, name);
	return f ? f(a, b, c, d) : CUPTI_ERROR_NOT_INITIALIZED;
}

static int forward_to(void *const *found, const void *caller, void *a, void *b, void *c, void *d)
{
	forwarded *f;

	make_room(caller);
	*(void **)&f = __atomic_load_n(found, __ATOMIC_ACQUIRE);
	return f(a, b, c, d);
}

#define OWN(name, parameters, a, b, c, d)                                                  \
	EXPORT int name parameters;                                                        \
	EXPORT int name parameters                                                         \
	{                                                                                  \
		return forward(#name, __builtin_return_address(0), a, b, c, d);            \
	}                                                                                  \
	static void *found_##name;                                                         \
	static int by_dlsym_##name parameters                                              \
	{                                                                                  \
		return forward_to(&found_##name, __builtin_return_address(0), a, b, c, d); \
	}

OWN(cuptiSubscribe, (void *subscriber, void *callback, void *user), subscriber, callback, user, NULL)
OWN(cuptiSubscribe_v2, (void *subscriber, void *callback, void *user, void *params), subscriber, callback, user, params)
OWN(cuptiActivityRegisterCallbacks, (void *wanted, void *full), wanted, full, NULL, NULL)
OWN(cuptiActivityRegisterCallbacks_v2, (void *subscriber, void *wanted, void *full), subscriber, wanted, full, NULL)
OWN(cuptiActivityEnable, (unsigned kind), (void *)(uintptr_t)kind, NULL, NULL, NULL)
OWN(cuptiFinalize, (void), NULL, NULL, NULL, NULL)

static const struct row {
	const char *name;
	const void *own;
	void *by_dlsym;
	void **found;
} rows[] = {
#define ROW(name)                                                           \
	{                                                                   \
#name, (void *)name, (void *)by_dlsym_##name, &found_##name \
	}
	ROW(cuptiSubscribe),
	ROW(cuptiSubscribe_v2),
	ROW(cuptiActivityRegisterCallbacks),
	ROW(cuptiActivityRegisterCallbacks_v2),
	ROW(cuptiActivityEnable),
	ROW(cuptiFinalize),
#undef ROW
};

static const struct row *row_of(const char *name)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(name, rows[i].name) == 0)
			return &rows[i];
	return NULL;
}

const void *cupti_own(const char *name)
{
	const struct row *row = row_of(name);

	return row ? row->own : NULL;
}

void *cupti_bind(const char *name, void *found)
{
	const struct row *row = row_of(name);
	void *none = NULL;

	if (!found || !settings.cupti)
		return found;
	if (__atomic_compare_exchange_n(row->found, &none, found, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
	    none == found)
		return row->by_dlsym;
	cupti_yield(); /* a second libcupti: there is one of ours for each name, so not when it is called */
	return found;
}
