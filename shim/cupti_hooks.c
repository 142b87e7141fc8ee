/* SPDX-License-Identifier: BSD-2-Clause */
/* Exported under CUPTI's names, with what each of them begins with: whoever calls one is about to be the subscriber, or takes the buffers,
 * of which there is one set in a process, or says what is to be recorded (we would take that back with our own). We make room first, then
 * call what the caller would have called without us. Nothing else is done, and at other levels nothing at all. */
#include "cupti_hooks.h"

#include <string.h>

#include "cupti.h"
#include "cupti_find.h"
#include "resolve.h"
#include "settings.h"

#define EXPORT __attribute__((visibility("default")))

/* All their arguments are pointers, at most four, or are handed over as one is. */
typedef int forwarded(void *a, void *b, void *c, void *d);

static int forward(const char *name, const void *caller, void *a, void *b, void *c, void *d)
{
	forwarded *f;

	if (!resolve_is_driver(caller))
		cupti_yield();
	*(void **)&f = cupti_find_for(caller, name);
	return f ? f(a, b, c, d) : CUPTI_ERROR_NOT_INITIALIZED;
}

#define OWN(name, parameters, a, b, c, d)                                       \
	EXPORT int name parameters;                                             \
	EXPORT int name parameters                                              \
	{                                                                       \
		return forward(#name, __builtin_return_address(0), a, b, c, d); \
	}

OWN(cuptiSubscribe, (void *subscriber, void *callback, void *user), subscriber, callback, user, NULL)
OWN(cuptiSubscribe_v2, (void *subscriber, void *callback, void *user, void *params), subscriber, callback, user, params)
OWN(cuptiActivityRegisterCallbacks, (void *wanted, void *full), wanted, full, NULL, NULL)
OWN(cuptiActivityRegisterCallbacks_v2, (void *subscriber, void *wanted, void *full), subscriber, wanted, full, NULL)
OWN(cuptiActivityEnable, (unsigned kind), (void *)(uintptr_t)kind, NULL, NULL, NULL)
OWN(cuptiFinalize, (void), NULL, NULL, NULL, NULL)

static const struct {
	const char *name;
	const void *own;
} rows[] = {
	{ "cuptiSubscribe", (void *)cuptiSubscribe },
	{ "cuptiSubscribe_v2", (void *)cuptiSubscribe_v2 },
	{ "cuptiActivityRegisterCallbacks", (void *)cuptiActivityRegisterCallbacks },
	{ "cuptiActivityRegisterCallbacks_v2", (void *)cuptiActivityRegisterCallbacks_v2 },
	{ "cuptiActivityEnable", (void *)cuptiActivityEnable },
	{ "cuptiFinalize", (void *)cuptiFinalize },
};

const void *cupti_own(const char *name)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(name, rows[i].name) == 0)
			return rows[i].own;
	return NULL;
}
