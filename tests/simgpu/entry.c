/* SPDX-License-Identifier: BSD-2-Clause */
/* entry.c: the exported functions, made from entry_points.def. */
#include "call.h"
#include "call_names.h"

#include <cudaProfiler.h>

#define ENTRY(symbol, ...) CALL_##symbol,
#define ENTRY0 ENTRY
#define ENTRY_PTSZ(symbol, ...) CALL_##symbol, CALL_##symbol##_ptsz,
#define ENTRY_PTDS(symbol, ...) CALL_##symbol, CALL_##symbol##_ptds,
enum call_id {
#include "entry_points.def"
	CALL_IMPLEMENTED
};
#undef ENTRY
#undef ENTRY_PTSZ
#undef ENTRY_PTDS

#define ENTRY(symbol, ...) #symbol,
#define ENTRY_PTSZ(symbol, ...) #symbol, #symbol "_ptsz",
#define ENTRY_PTDS(symbol, ...) #symbol, #symbol "_ptds",
static const char *const names[] = {
#include "entry_points.def"
};
#undef ENTRY
#undef ENTRY0
#undef ENTRY_PTSZ
#undef ENTRY_PTDS

unsigned call_count(void)
{
	return CALL_IMPLEMENTED + stub_count;
}

const char *call_name(unsigned call_id)
{
	return call_id < CALL_IMPLEMENTED ? names[call_id] : stub_names[call_id - CALL_IMPLEMENTED];
}

int stub_called(unsigned stub)
{
	struct call call;
	CUresult result = call_enter(&call, CALL_IMPLEMENTED + stub, NEED_INIT, false);

	return result ? (int)result : CUDA_ERROR_NOT_SUPPORTED;
}

#define DEFINE(symbol, implementation, need, per_thread, params, ...)                 \
	SIM_EXPORT CUresult symbol params                                             \
	{                                                                             \
		struct call call;                                                     \
		CUresult result = call_enter(&call, CALL_##symbol, need, per_thread); \
                                                                                      \
		return result ? result : api_##implementation(&call, ##__VA_ARGS__);  \
	}
#define ENTRY(symbol, implementation, need, params, ...) \
	DEFINE(symbol, implementation, need, false, params, __VA_ARGS__)
#define ENTRY0(symbol, implementation, need) DEFINE(symbol, implementation, need, false, (void))
#define ENTRY_PTSZ(symbol, implementation, need, params, ...)            \
	DEFINE(symbol, implementation, need, false, params, __VA_ARGS__) \
	DEFINE(symbol##_ptsz, implementation, need, true, params, __VA_ARGS__)
#define ENTRY_PTDS(symbol, implementation, need, params, ...)            \
	DEFINE(symbol, implementation, need, false, params, __VA_ARGS__) \
	DEFINE(symbol##_ptds, implementation, need, true, params, __VA_ARGS__)
#include "entry_points.def"
