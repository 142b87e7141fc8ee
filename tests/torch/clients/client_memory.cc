// SPDX-License-Identifier: BSD-2-Clause
// client_memory DIRECTORY WORD…: does to memory what its arguments say, one after another, and prints each address as "name address", 0 where it
// was refused. DIRECTORY has the libc10 and libc10_cuda to be loaded, as Python loads them: by dlopen, to nobody else's sight.
//
//   alloc NAME BYTES | free NAME             the driver's own
//   take NAME BYTES | expand NAME BYTES | give NAME | empty        the framework's, in segments or expandable; back to the driver
//   limit BYTES                              … which takes no more of the driver's from now on
//   pool KEEP                                a pool that keeps so much; later ones of these words are about it
//   async NAME BYTES | default NAME BYTES | release NAME            from it, from the device's own
//   reserve NAME BYTES | map NAME PLACE OFFSET BYTES | unmap NAME   physical memory at an offset of reserved addresses
//   host                                     c10 reports a block in the host's memory
//   step                                     a kernel, and the end of it
#include <cuda.h>

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace
{

struct Mapping {
	CUdeviceptr address;
	std::size_t bytes;
	CUmemGenericAllocationHandle handle;
};

std::map<std::string, CUdeviceptr> named;
std::map<std::string, Mapping> mapped;
CUmemoryPool pool;
CUstream stream;
CUfunction kernel;

struct {
	void *(*take)(std::size_t bytes, bool expandable);
	void (*give)(void *pointer);
	void (*give_back)();
	void (*limit)(std::size_t bytes);
	void (*told)(int64_t out[5]);
	void (*host)(void *pointer, int64_t bytes);
} torch;

void check(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, rc);
	exit(1);
}
#define CHECK(call) check(call, #call)

void *symbol(void *library, const char *name)
{
	void *p = library ? dlsym(library, name) : nullptr;

	if (p)
		return p;
	fprintf(stderr, "%s\n", dlerror());
	exit(1);
}

void load(const std::string &directory)
{
	void *cuda = dlopen((directory + "/libc10_cuda.so").c_str(), RTLD_NOW | RTLD_LOCAL);
	void *c10 = dlopen((directory + "/libc10.so").c_str(), RTLD_NOW | RTLD_LOCAL);

	torch.take = reinterpret_cast<decltype(torch.take)>(symbol(cuda, "cached_take"));
	torch.give = reinterpret_cast<decltype(torch.give)>(symbol(cuda, "cached_give"));
	torch.give_back = reinterpret_cast<decltype(torch.give_back)>(symbol(cuda, "cached_give_back"));
	torch.limit = reinterpret_cast<decltype(torch.limit)>(symbol(cuda, "cached_limit"));
	torch.told = reinterpret_cast<decltype(torch.told)>(symbol(c10, "c10_told"));
	torch.host = reinterpret_cast<decltype(torch.host)>(symbol(c10, "c10_host_memory"));
}

std::size_t bytes_of(const char *text)
{
	char *end;
	std::size_t n = strtoull(text, &end, 0);

	return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : n;
}

void tell(const char *name, CUdeviceptr address, CUresult rc)
{
	named[name] = rc == CUDA_SUCCESS ? address : 0;
	printf("%s %llu\n", name, static_cast<unsigned long long>(named[name]));
}

void make_pool(std::size_t keep)
{
	CUmemPoolProps props = {};
	cuuint64_t threshold = keep;

	props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	props.location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } };
	CHECK(cuMemPoolCreate(&pool, &props));
	CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
}

void map(const char *name, CUdeviceptr address, std::size_t bytes)
{
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	Mapping m = { address, bytes, 0 };
	CUresult rc;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location = access.location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } };
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	rc = cuMemCreate(&m.handle, bytes, &prop, 0);
	if (rc == CUDA_SUCCESS) {
		CHECK(cuMemMap(address, bytes, 0, m.handle, 0));
		CHECK(cuMemSetAccess(address, bytes, &access, 1));
		mapped[name] = m;
	}
	tell(name, address, rc);
}

void unmap(const char *name)
{
	CHECK(cuMemUnmap(mapped[name].address, mapped[name].bytes));
	CHECK(cuMemRelease(mapped[name].handle));
}

void step()
{
	CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
	CHECK(cuStreamSynchronize(stream));
}

/* The words that one instruction takes, itself included. */
int act(char **w)
{
	std::string what = w[0];
	CUdeviceptr p = 0;
	CUresult rc;

	if (what == "alloc") {
		rc = cuMemAlloc(&p, bytes_of(w[2]));
		tell(w[1], p, rc);
		return 3;
	}
	if (what == "take" || what == "expand") {
		p = reinterpret_cast<CUdeviceptr>(torch.take(bytes_of(w[2]), what == "expand"));
		tell(w[1], p, CUDA_SUCCESS);
		return 3;
	}
	if (what == "async" || what == "default") {
		rc = what == "async" ? cuMemAllocFromPoolAsync(&p, bytes_of(w[2]), pool, stream) : cuMemAllocAsync(&p, bytes_of(w[2]), stream);
		tell(w[1], p, rc);
		return 3;
	}
	if (what == "reserve") {
		rc = cuMemAddressReserve(&p, bytes_of(w[2]), 0, 0, 0);
		tell(w[1], p, rc);
		return 3;
	}
	if (what == "map") {
		map(w[1], named[w[2]] + bytes_of(w[3]), bytes_of(w[4]));
		return 5;
	}
	if (what == "free")
		CHECK(cuMemFree(named[w[1]]));
	else if (what == "give")
		torch.give(reinterpret_cast<void *>(named[w[1]]));
	else if (what == "limit")
		torch.limit(bytes_of(w[1]));
	else if (what == "release")
		CHECK(cuMemFreeAsync(named[w[1]], stream));
	else if (what == "unmap")
		unmap(w[1]);
	else if (what == "pool")
		make_pool(bytes_of(w[1]));
	else if (what == "empty")
		return torch.give_back(), 1;
	else if (what == "host")
		return torch.host(&named, 4096), 1;
	else if (what == "step")
		return step(), 1;
	else
		exit(2);
	return 2;
}

}

int main(int argc, char **argv)
{
	CUcontext context;
	CUmodule module;
	int64_t told[5];

	if (argc < 2)
		return 2;
	load(argv[1]);
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuModuleLoadData(&module, "kernels"));
	CHECK(cuModuleGetFunction(&kernel, module, "step__100us"));
	for (int i = 2; i < argc;)
		i += act(&argv[i]);
	torch.told(told);
	printf("told %lld %lld %lld %lld %lld\n", (long long)told[0], (long long)told[1], (long long)told[2], (long long)told[3],
	       (long long)told[4]);
	return 0;
}
