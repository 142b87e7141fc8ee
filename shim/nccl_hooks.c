/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl_hooks.c: every row of nccl_hooks.def becomes
 *   <sym>_on        notes the time, calls one copy of libnccl, and keeps a record
 *   <sym>           exported, for programs that are linked against libnccl: the copy is the one in their scope
 *   <sym>_0 … _7    what dlsym hands out: bound to the copy that was asked for */
#include "nccl_hooks.h"

#include "nccl_call.h"
#include "nccl_capture.h"
#include "nccl_copy.h"

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((noinline)) static
#define NOTHING ((void)0)
#define CALLER __builtin_return_address(0)
#define NO_OP 0xffff
#define NO_TYPE 0xff

#define WITH_COPY(...) (struct nccl_copy * copy, __VA_ARGS__)

_Static_assert(NCCL_COPIES == 8, "EACH_COPY has one for each");
/* clang-format off: it comes to no end with these */
#define EACH_COPY(X, type, sym, params, ...) \
	X(type, sym, 0, params, __VA_ARGS__) \
	X(type, sym, 1, params, __VA_ARGS__) \
	X(type, sym, 2, params, __VA_ARGS__) \
	X(type, sym, 3, params, __VA_ARGS__) \
	X(type, sym, 4, params, __VA_ARGS__) \
	X(type, sym, 5, params, __VA_ARGS__) \
	X(type, sym, 6, params, __VA_ARGS__) \
	X(type, sym, 7, params, __VA_ARGS__)
/* clang-format on */
#define BOUND(type, sym, n, params, ...)                       \
	static type sym##_##n params                           \
	{                                                      \
		return sym##_on(&nccl_copies[n], __VA_ARGS__); \
	}
#define BOUND0(type, sym, n, params, ...)         \
	static type sym##_##n params              \
	{                                         \
		return sym##_on(&nccl_copies[n]); \
	}
#define BOUND_VOID(type, sym, n, params, ...) \
	static type sym##_##n params          \
	{                                     \
		sym##_on(&nccl_copies[n]);    \
	}

#define NCCL(sym, kind, comm, params, ...) NCCLX(sym, kind, comm, NOTHING, NOTHING, params, __VA_ARGS__)
#define NCCLX(sym, kind, comm, before, after, params, ...)                                          \
	HIDDEN ncclResult_t sym##_on WITH_COPY params                                               \
	{                                                                                           \
		struct nccl_call c;                                                                 \
		ncclResult_t rc;                                                                    \
                                                                                                    \
		nccl_enter(&c, copy, NCCL_##sym, GST_NCCL_##kind, comm);                            \
		before;                                                                             \
		rc = copy->real.sym(__VA_ARGS__);                                                   \
		nccl_returned(&c, rc);                                                              \
		after;                                                                              \
		nccl_exit(&c);                                                                      \
		return rc;                                                                          \
	}                                                                                           \
	EACH_COPY(BOUND, ncclResult_t, sym, params, __VA_ARGS__)                                    \
	EXPORT ncclResult_t sym params                                                              \
	{                                                                                           \
		struct nccl_route to = nccl_route(comm, CALLER);                                    \
                                                                                                    \
		return to.itself ? to.copy->real.sym(__VA_ARGS__) : sym##_on(to.copy, __VA_ARGS__); \
	}
#define NCCL0(sym, kind, before, after)                                     \
	HIDDEN ncclResult_t sym##_on(struct nccl_copy *copy)                \
	{                                                                   \
		struct nccl_call c;                                         \
		ncclResult_t rc;                                            \
                                                                            \
		nccl_enter(&c, copy, NCCL_##sym, GST_NCCL_##kind, NULL);    \
		before;                                                     \
		rc = copy->real.sym();                                      \
		nccl_returned(&c, rc);                                      \
		after;                                                      \
		nccl_exit(&c);                                              \
		return rc;                                                  \
	}                                                                   \
	EACH_COPY(BOUND0, ncclResult_t, sym, (void), )                      \
	EXPORT ncclResult_t sym(void)                                       \
	{                                                                   \
		struct nccl_route to = nccl_route_group(CALLER);            \
                                                                            \
		return to.itself ? to.copy->real.sym() : sym##_on(to.copy); \
	}
#define NCCL_TEXT(sym, comm, params, ...)                                                           \
	HIDDEN const char *sym##_on WITH_COPY params                                                \
	{                                                                                           \
		struct nccl_call c;                                                                 \
		const char *text;                                                                   \
                                                                                                    \
		nccl_enter(&c, copy, NCCL_##sym, GST_NCCL_QUERY, comm);                             \
		text = copy->real.sym(__VA_ARGS__);                                                 \
		nccl_returned(&c, ncclSuccess);                                                     \
		nccl_exit(&c);                                                                      \
		return text;                                                                        \
	}                                                                                           \
	EACH_COPY(BOUND, const char *, sym, params, __VA_ARGS__)                                    \
	EXPORT const char *sym params                                                               \
	{                                                                                           \
		struct nccl_route to = nccl_route(comm, CALLER);                                    \
                                                                                                    \
		return to.itself ? to.copy->real.sym(__VA_ARGS__) : sym##_on(to.copy, __VA_ARGS__); \
	}
#define NCCL_VOID(sym)                                                  \
	HIDDEN void sym##_on(struct nccl_copy *copy)                    \
	{                                                               \
		struct nccl_call c;                                     \
                                                                        \
		nccl_enter(&c, copy, NCCL_##sym, GST_NCCL_OTHER, NULL); \
		copy->real.sym();                                       \
		nccl_returned(&c, ncclSuccess);                         \
		nccl_exit(&c);                                          \
	}                                                               \
	EACH_COPY(BOUND_VOID, void, sym, (void), )                      \
	EXPORT void sym(void)                                           \
	{                                                               \
		struct nccl_route to = nccl_route(NULL, CALLER);        \
                                                                        \
		if (to.itself)                                          \
			to.copy->real.sym();                            \
		else                                                    \
			sym##_on(to.copy);                              \
	}
#include "nccl_hooks.def"
#undef NCCL
#undef NCCLX
#undef NCCL0
#undef NCCL_TEXT
#undef NCCL_VOID

/* ---- what stands for a function that a copy lacks ------------------------------------------------------------------- */

static ncclResult_t absent(void) /* arguments are the caller's business in both calling conventions we know */
{
	return ncclInvalidUsage;
}

static const char *absent_text(void)
{
	return "there is no NCCL library that has this call";
}

static void absent_void(void)
{
}

#define ROW(sym, otherwise)                                                                                     \
	[NCCL_##sym] = { #sym,                                                                                  \
			 (void *)otherwise,                                                                     \
			 (void *)sym,                                                                           \
			 { (void *)sym##_0, (void *)sym##_1, (void *)sym##_2, (void *)sym##_3, (void *)sym##_4, \
			   (void *)sym##_5, (void *)sym##_6, (void *)sym##_7 } },
#define NCCL(sym, ...) ROW(sym, absent)
#define NCCLX(sym, ...) ROW(sym, absent)
#define NCCL0(sym, ...) ROW(sym, absent)
#define NCCL_TEXT(sym, ...) ROW(sym, absent_text)
#define NCCL_VOID(sym) ROW(sym, absent_void)
const struct nccl_hook nccl_hooks[NCCL_COUNT] = {
#include "nccl_hooks.def"
};
