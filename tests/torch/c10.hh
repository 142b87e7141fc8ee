// SPDX-License-Identifier: BSD-2-Clause
// c10.hh: what libc10 exports of its profiler for allocators, as PyTorch declares it: the compiler makes the mangled names. With C10_FIRST as in
// PyTorch 1.13, else as in 2.0 and later.
#pragma once

#include <cstddef>
#include <cstdint>

#define C10_API __attribute__((visibility("default")))

namespace c10
{

enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };

struct Device {
	Device(DeviceType type, int8_t index) : type_(type), index_(index) {}

	DeviceType type_;
	int8_t index_;
};

#ifdef C10_FIRST
using total = int64_t;
#else
using total = std::size_t;
#endif

C10_API void reportMemoryUsageToProfiler(void *ptr, int64_t alloc_size, total total_allocated, total total_reserved, Device device);
C10_API void reportOutOfMemoryToProfiler(int64_t alloc_size, total total_allocated, total total_reserved, Device device);

}
