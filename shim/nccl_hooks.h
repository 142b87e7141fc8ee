/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl_hooks.h: what nccl_hooks.def expands to: ids, the functions of one copy of libnccl, the table that joins names and pointers. */
#pragma once

#include "hooks.h"
#include "nccl_api.h"

#define NCCL_COPIES 8 /* of libnccl in one process that are told apart */

#define NCCL(sym, ...) NCCL_##sym,
#define NCCLX(sym, ...) NCCL_##sym,
#define NCCL0(sym, ...) NCCL_##sym,
#define NCCL_TEXT(sym, ...) NCCL_##sym,
#define NCCL_VOID(sym) NCCL_##sym,
enum nccl_id {
#include "nccl_hooks.def"
	NCCL_COUNT
};
#undef NCCL
#undef NCCLX
#undef NCCL0
#undef NCCL_TEXT
#undef NCCL_VOID
_Static_assert(NCCL_COUNT <= GST_NCCL_MAX, "readers have a place for every name");

#define NCCL(sym, kind, comm, params, ...) ncclResult_t(*sym) params;
#define NCCLX(sym, kind, comm, before, after, params, ...) ncclResult_t(*sym) params;
#define NCCL0(sym, kind, before, after) ncclResult_t (*sym)(void);
#define NCCL_TEXT(sym, comm, params, ...) const char *(*sym)params;
#define NCCL_VOID(sym) void (*sym)(void);
struct nccl_functions {
#include "nccl_hooks.def"
};
#undef NCCL
#undef NCCLX
#undef NCCL0
#undef NCCL_TEXT
#undef NCCL_VOID
_Static_assert(sizeof(struct nccl_functions) == NCCL_COUNT * sizeof(void *), "one pointer a row");

/* The calls as one caller's scope has them. None is NULL: what a library lacks is a function that returns ncclInvalidUsage. */
struct nccl_copy {
	union {
		struct nccl_functions real;
		void *at[NCCL_COUNT];
	};
	uint32_t index; /* below NCCL_COPIES; that of `absent` is NCCL_COPIES */
	int version;    /* ncclGetVersion's, 0 not asked yet, or not known */
	uint32_t named; /* its path stands in the file */
	char path[512];
};

struct nccl_hook {
	const char *name;
	void *absent;              /* for a copy that has none */
	void *wrapper;             /* ours, exported: finds the copy by its caller */
	void *bound[NCCL_COPIES];  /* ours, each for one copy */
};
extern const struct nccl_hook nccl_hooks[NCCL_COUNT];
