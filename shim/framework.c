/* SPDX-License-Identifier: BSD-2-Clause */
/* framework.c: what PyTorch's caching allocator tells its profiler of each block becomes a record, and goes on to where it was going.
 *
 * We are called with the allocator's lock held, by any thread, perhaps with Python's too. So the real function is looked for in the loader's list
 * of objects without the loader's lock, which dlsym and dl_iterate_phdr take: a thread that has that may wait for one of the others (in a
 * library's constructor, in a function that is called for each object).
 * Found once it is kept: libraries of C++ with unique symbols, as these are, are never unloaded. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "elf_object.h"
#include "settings.h"
#include "thread.h"

#define EXPORT __attribute__((visibility("default")))

#define DEVICE_CPU 0 /* c10::DeviceType */

/* c10::Device: two bytes in a register, the type (int8_t) and the index (int8_t, -1 none). */
struct device {
	int8_t type, index;
};
_Static_assert(sizeof(struct device) == 2, "as c10::Device");

/* In both signatures, of 1.13 and of 2.0 on, integers of 8 bytes stand in the same places. */
typedef void usage_fn(void *address, int64_t bytes, size_t allocated, size_t reserved, struct device device);
typedef void refused_fn(int64_t bytes, size_t allocated, size_t reserved, struct device device);

#define NAME_USAGE "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define NAME_USAGE_1 "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"
#define NAME_REFUSED "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
#define NAME_REFUSED_1 "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"

EXPORT usage_fn framework_usage __asm__(NAME_USAGE);
EXPORT usage_fn framework_usage_1 __asm__(NAME_USAGE_1);
EXPORT refused_fn framework_refused __asm__(NAME_REFUSED);
EXPORT refused_fn framework_refused_1 __asm__(NAME_REFUSED_1);

static void no_usage(void *address, int64_t bytes, size_t allocated, size_t reserved, struct device device)
{
	(void)address, (void)bytes, (void)allocated, (void)reserved, (void)device;
}

static void no_refused(int64_t bytes, size_t allocated, size_t reserved, struct device device)
{
	(void)bytes, (void)allocated, (void)reserved, (void)device;
}

enum { USAGE, USAGE_1, REFUSED, REFUSED_1, NAMES };

static void *real[NAMES];

static void find(unsigned i, const char *name, void *otherwise)
{
	void *p = elf_object_definition(name);

	__atomic_store_n(&real[i], p ? p : otherwise, __ATOMIC_RELEASE);
}

/* The real one, or what does nothing where there is none. All of them at the first call: a refusal may come when a sandbox has closed. Several
 * threads may find them, all the same. */
static void *real_of(unsigned i)
{
	void *p = __atomic_load_n(&real[i], __ATOMIC_ACQUIRE);
	int saved_errno = errno;

	if (__builtin_expect(p != NULL, 1))
		return p;
	find(USAGE, NAME_USAGE, (void *)no_usage);
	find(USAGE_1, NAME_USAGE_1, (void *)no_usage);
	find(REFUSED, NAME_REFUSED, (void *)no_refused);
	find(REFUSED_1, NAME_REFUSED_1, (void *)no_refused);
	errno = saved_errno;
	return __atomic_load_n(&real[i], __ATOMIC_ACQUIRE);
}

static void note(const struct gst_block *fields, struct device device)
{
	struct gst_block r = *fields;
	struct thread *t;

	if (!settings.enabled || device.type == DEVICE_CPU || !(t = thread_self()))
		return;
	r.device_type = (uint8_t)device.type;
	r.device = device.index < 0 ? 0xffff : (uint16_t)device.index;
	r.ticks = clock_ticks();
	thread_append(t, GST_BLOCK, sizeof(r), &r);
	if (r.kind == GST_BLOCK_REFUSED)
		stacks_refused_by_framework(t, r.ticks);
}

static void note_usage(const void *address, int64_t bytes, size_t allocated, size_t reserved, struct device device)
{
	struct gst_block r = { .address = (uintptr_t)address,
			       .bytes = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes,
			       .allocated = allocated,
			       .reserved = reserved,
			       .kind = bytes < 0 ? GST_BLOCK_GIVEN : GST_BLOCK_TAKEN };

	note(&r, device);
}

static void note_refused(int64_t bytes, size_t allocated, size_t reserved, struct device device)
{
	struct gst_block r = {
		.bytes = (uint64_t)bytes, .allocated = allocated, .reserved = reserved, .kind = GST_BLOCK_REFUSED
	};

	note(&r, device);
}

void framework_usage(void *address, int64_t bytes, size_t allocated, size_t reserved, struct device device)
{
	note_usage(address, bytes, allocated, reserved, device);
	((usage_fn *)real_of(USAGE))(address, bytes, allocated, reserved, device);
}

void framework_usage_1(void *address, int64_t bytes, size_t allocated, size_t reserved, struct device device)
{
	note_usage(address, bytes, allocated, reserved, device);
	((usage_fn *)real_of(USAGE_1))(address, bytes, allocated, reserved, device);
}

void framework_refused(int64_t bytes, size_t allocated, size_t reserved, struct device device)
{
	note_refused(bytes, allocated, reserved, device);
	((refused_fn *)real_of(REFUSED))(bytes, allocated, reserved, device);
}

void framework_refused_1(int64_t bytes, size_t allocated, size_t reserved, struct device device)
{
	note_refused(bytes, allocated, reserved, device);
	((refused_fn *)real_of(REFUSED_1))(bytes, allocated, reserved, device);
}
