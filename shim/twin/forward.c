/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver's functions that the twin exports and does not record (not_hooked.def): each a jump to where its place points, at first
 * to a stub that asks here (forward_<arch>.S). A function the driver lacks returns CUDA_ERROR_NOT_SUPPORTED. */
#include "resolve.h"

__attribute__((visibility("hidden"))) extern void *gpushim_forward_places[]; /* forward_<arch>.S */
__attribute__((visibility("hidden"))) void *gpushim_forward_find(unsigned index);

static const char *const names[] = {
#define PASS(name, reason) #name,
#include "not_hooked.def"
#undef PASS
};

static CUresult absent(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

void *gpushim_forward_find(unsigned index)
{
	void *function = resolve_in_driver(names[index]);

	if (!function)
		function = (void *)absent;
	__atomic_store_n(&gpushim_forward_places[index], function, __ATOMIC_RELEASE);
	return function;
}
