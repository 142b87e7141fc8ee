/* SPDX-License-Identifier: BSD-2-Clause */
/* gpu_allocator_plugin.so, preloaded: does PyTorch's caching allocator report each block through a name that can be seen from outside?
 * Counts the calls, passes them on, and writes at the end, to the file that GPU_CHECK_ALLOCATOR names: allocations, frees, the bytes of
 * both, the most that was allocated. One process at a time: the file is the first one's to open. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void reporter(void *block, int64_t bytes, size_t allocated, size_t reserved, uint16_t device);

#define NAME "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
__attribute__((visibility("default"))) reporter usage_seen __asm__(NAME);

static uint64_t n_allocated, n_freed, bytes_allocated, bytes_freed, most;

static reporter *find_real(void)
{
	void *library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);

	return library ? (reporter *)dlsym(library, NAME) : NULL;
}

/* Called under the allocator's mutex, so by one thread at a time for each device. */
void usage_seen(void *block, int64_t bytes, size_t allocated, size_t reserved, uint16_t device)
{
	static reporter *real;

	if (bytes > 0) {
		n_allocated++;
		bytes_allocated += (uint64_t)bytes;
	} else {
		n_freed++;
		bytes_freed += (uint64_t)-bytes;
	}
	if (allocated > most)
		most = allocated;
	if (!real)
		real = find_real();
	if (real && real != usage_seen)
		real(block, bytes, allocated, reserved, device);
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("GPU_CHECK_ALLOCATOR");
	FILE *file = path ? fopen(path, "wx") : NULL;

	if (!file)
		return;
	fprintf(file,
		"{\"allocations\": %llu, \"frees\": %llu, \"allocated_bytes\": %llu, \"freed_bytes\": %llu, \"most_bytes\": %llu}\n",
		(unsigned long long)n_allocated, (unsigned long long)n_freed, (unsigned long long)bytes_allocated,
		(unsigned long long)bytes_freed, (unsigned long long)most);
	fclose(file);
}
