/* SPDX-License-Identifier: BSD-2-Clause */
/* hooks.c: every row of hooks.def becomes an exported function that notes the time, calls the driver, and keeps a record. */
#include "hooks.h"

#include "call.h"
#include "capture.h"
#include "file.h"
#include "resolve.h"

#define EXPORT __attribute__((visibility("default")))
#define NOTHING ((void)0)

#define HOOK(sym, family, params, ...) HOOKX(sym, family, NOTHING, NOTHING, params, ##__VA_ARGS__)
#define HOOKX(sym, family, before, after, params, ...)           \
	EXPORT CUresult sym params                               \
	{                                                        \
		struct call c;                                   \
		CUresult rc;                                     \
                                                                 \
		call_enter(&c, HOOK_##sym, GST_FAMILY_##family); \
		before;                                          \
		call_into_driver(&c);                            \
		rc = real.sym(__VA_ARGS__);                      \
		call_from_driver(&c);                            \
		after;                                           \
		call_exit(&c, rc);                               \
		return rc;                                       \
	}
#define REAL(sym, params, ...)
#include "hooks.def"
#undef HOOK
#undef HOOKX
#undef REAL

/* ---- what `real` points to before the driver is found, and where the driver lacks a function ----------------------- */

#define HOOK(sym, family, params, ...) REAL(sym, params, ##__VA_ARGS__)
#define HOOKX(sym, family, before, after, params, ...) REAL(sym, params, ##__VA_ARGS__)
#define REAL(sym, params, ...)                \
	static CUresult find_##sym params     \
	{                                     \
		resolve_driver();             \
		return real.sym(__VA_ARGS__); \
	}
#include "hooks.def"
#undef REAL

static CUresult absent(void) /* arguments are the caller's business in both calling conventions we know */
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

#define REAL(sym, params, ...) .sym = find_##sym,
struct real real = {
#include "hooks.def"
};
#undef REAL
#undef HOOK
#undef HOOKX

#define HOOK(sym, ...) [HOOK_##sym] = { #sym, (void **)&real.sym, (void *)absent, (void *)sym },
#define HOOKX(sym, ...) HOOK(sym)
#define REAL(sym, ...) [HOOK_##sym] = { #sym, (void **)&real.sym, (void *)absent, NULL },
const struct hook hooks[HOOK_COUNT] = {
#include "hooks.def"
};

void hook_count_injected(enum hook_id id)
{
	__atomic_fetch_add(&file_counters()->injected[id], 1, __ATOMIC_RELAXED);
}
