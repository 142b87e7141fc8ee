// SPDX-License-Identifier: BSD-2-Clause
// caching_allocator.cc: a stand-in for libc10_cuda.so: a caching allocator by PyTorch's rules, small enough to know its every move. Blocks are cut
// from segments of the driver's, best fit; freed ones join their neighbours and stay; where the driver refuses, free segments go back to it and
// it is asked again; beyond a limit of its own it refuses without asking. Expandable: one range of addresses, into which memory is mapped in pieces of 20 MiB.
#include "c10.hh"

#include <cuda.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace
{

constexpr std::size_t MiB = 1 << 20, STEP = 512, PIECE = 20 * MiB, RANGE = 1024 * MiB;

struct Block {
	std::size_t bytes;
	bool used;
	CUdeviceptr segment;
};

struct Segment {
	std::size_t bytes;
	CUmemGenericAllocationHandle handle; // 0: of cuMemAlloc
};

class Allocator {
    public:
	void *take(std::size_t asked, bool expandable)
	{
		std::lock_guard<std::mutex> guard(mutex);
		std::size_t bytes = (asked + STEP - 1) / STEP * STEP;
		auto found = best_fit(bytes);

		if (found == blocks.end() && !(expandable ? expand(bytes) : grow(bytes))) {
			give_back();
			if (!(expandable ? expand(bytes) : grow(bytes))) {
				c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(bytes), allocated, reserved, here());
				return nullptr;
			}
		}
		found = best_fit(bytes);
		if (found->second.bytes > bytes)
			blocks[found->first + bytes] = { found->second.bytes - bytes, false, found->second.segment };
		found->second.bytes = bytes;
		found->second.used = true;
		allocated += bytes;
		report(found->first, static_cast<int64_t>(bytes));
		return reinterpret_cast<void *>(found->first);
	}

	void give(void *pointer)
	{
		std::lock_guard<std::mutex> guard(mutex);
		auto it = blocks.find(reinterpret_cast<CUdeviceptr>(pointer));
		std::size_t bytes = it->second.bytes;

		it->second.used = false;
		allocated -= bytes;
		join(it);
		report(reinterpret_cast<CUdeviceptr>(pointer), -static_cast<int64_t>(bytes));
	}

	void give_back_all()
	{
		std::lock_guard<std::mutex> guard(mutex);
		give_back();
	}

	void set_limit(std::size_t bytes)
	{
		std::lock_guard<std::mutex> guard(mutex);
		limit = bytes;
	}

    private:
	using Blocks = std::map<CUdeviceptr, Block>;

	static c10::Device here() { return c10::Device(c10::DeviceType::CUDA, 0); }

	void report(CUdeviceptr address, int64_t bytes)
	{
		c10::reportMemoryUsageToProfiler(reinterpret_cast<void *>(address), bytes, allocated, reserved, here());
	}

	Blocks::iterator best_fit(std::size_t bytes)
	{
		auto best = blocks.end();

		for (auto it = blocks.begin(); it != blocks.end(); ++it)
			if (!it->second.used && it->second.bytes >= bytes && (best == blocks.end() || it->second.bytes < best->second.bytes))
				best = it;
		return best;
	}

	void join(Blocks::iterator it)
	{
		auto next = std::next(it);

		if (next != blocks.end() && touches(*it, *next)) {
			it->second.bytes += next->second.bytes;
			blocks.erase(next);
		}
		if (it != blocks.begin() && touches(*std::prev(it), *it)) {
			std::prev(it)->second.bytes += it->second.bytes;
			blocks.erase(it);
		}
	}

	static bool touches(const Blocks::value_type &a, const Blocks::value_type &b)
	{
		return !a.second.used && !b.second.used && a.first + a.second.bytes == b.first && a.second.segment == b.second.segment;
	}

	bool grow(std::size_t bytes)
	{
		std::size_t size = bytes <= MiB ? 2 * MiB : bytes < 10 * MiB ? PIECE : (bytes + 2 * MiB - 1) / (2 * MiB) * (2 * MiB);
		CUdeviceptr address;

		if (reserved + size > limit || cuMemAlloc(&address, size) != CUDA_SUCCESS)
			return false;
		segments[address] = { size, 0 };
		reserved += size;
		blocks[address] = { size, false, address };
		return true;
	}

	// Pieces at the first place where none is, until there is room.
	bool expand(std::size_t bytes)
	{
		if (!range && cuMemAddressReserve(&range, RANGE, 0, 0, 0) != CUDA_SUCCESS)
			return false;
		while (best_fit(bytes) == blocks.end())
			if (!map_one())
				return false;
		return true;
	}

	bool map_one()
	{
		CUmemAllocationProp prop = {};
		CUmemAccessDesc access = {};
		CUmemGenericAllocationHandle handle;
		CUdeviceptr at = range;

		while (segments.count(at))
			at += PIECE;
		prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
		prop.location = access.location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } };
		access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		if (at + PIECE > range + RANGE || reserved + PIECE > limit || cuMemCreate(&handle, PIECE, &prop, 0) != CUDA_SUCCESS)
			return false;
		if (cuMemMap(at, PIECE, 0, handle, 0) != CUDA_SUCCESS || cuMemSetAccess(at, PIECE, &access, 1) != CUDA_SUCCESS)
			return false;
		segments[at] = { PIECE, handle };
		reserved += PIECE;
		join(blocks.emplace(at, Block{ PIECE, false, range }).first);
		return true;
	}

	// Every segment without a used block.
	void give_back()
	{
		for (auto it = segments.begin(); it != segments.end();) {
			auto block = std::prev(blocks.upper_bound(it->first));
			CUdeviceptr end = it->first + it->second.bytes, block_end = block->first + block->second.bytes;

			if (block->second.used || block_end < end) {
				++it;
				continue;
			}
			if (block_end > end)
				blocks[end] = { static_cast<std::size_t>(block_end - end), false, block->second.segment };
			if (block->first < it->first)
				block->second.bytes = it->first - block->first;
			else
				blocks.erase(block);
			if (it->second.handle) {
				cuMemUnmap(it->first, it->second.bytes);
				cuMemRelease(it->second.handle);
			} else {
				cuMemFree(it->first);
			}
			reserved -= it->second.bytes;
			it = segments.erase(it);
		}
	}

	std::mutex mutex;
	Blocks blocks; // all pieces of all segments, by address
	std::map<CUdeviceptr, Segment> segments;
	CUdeviceptr range = 0;
	std::size_t allocated = 0, reserved = 0, limit = SIZE_MAX;
};

Allocator allocator;

}

extern "C" C10_API void *cached_take(std::size_t bytes, bool expandable)
{
	return allocator.take(bytes, expandable);
}

extern "C" C10_API void cached_give(void *pointer)
{
	allocator.give(pointer);
}

extern "C" C10_API void cached_give_back()
{
	allocator.give_back_all();
}

extern "C" C10_API void cached_limit(std::size_t bytes)
{
	allocator.set_limit(bytes);
}
