// SPDX-License-Identifier: BSD-2-Clause
// c10.cc: a stand-in for libc10.so: the real functions, which count what they are told.
#include "c10.hh"

static int64_t usages, bytes, refusals, last_reserved, device;

namespace c10
{

void reportMemoryUsageToProfiler(void *ptr, int64_t alloc_size, total, total total_reserved, Device where)
{
	usages += ptr != nullptr;
	bytes += alloc_size;
	last_reserved = static_cast<int64_t>(total_reserved);
	device = static_cast<int64_t>(where.type_) * 100 + where.index_;
}

void reportOutOfMemoryToProfiler(int64_t, total, total, Device)
{
	refusals++;
}

}

// For the tests: what was told so far.
extern "C" C10_API void c10_told(int64_t out[5])
{
	out[0] = usages;
	out[1] = bytes;
	out[2] = refusals;
	out[3] = last_reserved;
	out[4] = device;
}

// As c10 itself reports of the host's memory, within its own library.
extern "C" C10_API void c10_host_memory(void *ptr, int64_t alloc_size)
{
	c10::reportMemoryUsageToProfiler(ptr, alloc_size, 1, 0, c10::Device(c10::DeviceType::CPU, -1));
}
