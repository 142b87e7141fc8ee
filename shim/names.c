/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"

#include <stdio.h>
#include <string.h>

#include "file.h"
#include "keeper.h"
#include "once.h"

#define FILES 512
#define NAME_BYTES_MAX 4000u

struct names_kernel names_kernels[NAMES_KERNELS];
static uint32_t last_kernel;

static uint32_t file_hashes[FILES];
static uint32_t n_files;

static struct once begun;
static uint32_t begun_in_vain;   /* there was no room for all of the first names: they stand in a later segment */
static uint64_t devices_seen[4]; /* bits */

/* False: no room. */
static bool write_bytes(struct ring *r, enum gst_name_space space, uint32_t id, const char *text, size_t length)
{
	uint16_t size = (uint16_t)((sizeof(struct gst_name) + length + 7) & ~7u);
	struct gst_name *n = ring_reserve(r, GST_NAME, size);

	if (!n)
		return false;
	n->id = id;
	n->space = (uint16_t)space;
	n->length = (uint16_t)length;
	memcpy(n->text, text, length);
	ring_commit(n);
	return true;
}

void names_write_bytes(struct ring *r, enum gst_name_space space, uint32_t id, const char *text, size_t length)
{
	write_bytes(r, space, id, text, length);
}

void names_write(struct ring *r, enum gst_name_space space, uint32_t id, const char *text)
{
	write_bytes(r, space, id, text, strnlen(text, NAME_BYTES_MAX));
}

void names_anchor(struct ring *r)
{
	struct clock_anchor a = clock_anchor_now();
	struct gst_anchor record = { .ticks = a.ticks, .mono_ns = a.mono_ns, .width_ticks = a.width_ticks };

	ring_append(r, GST_ANCHOR, sizeof(record), &record);
}

void names_begin(struct ring *r)
{
	bool all = true;

	if (!once_begin(&begun))
		return;
	names_anchor(r);
	for (uint32_t i = 0; i < HOOK_COUNT && all; i++)
		all = write_bytes(r, GST_SPACE_HOOK, i, hooks[i].name, strlen(hooks[i].name));
	if (all)
		names_anchor(r);
	__atomic_store_n(&begun_in_vain, !all, __ATOMIC_RELAXED);
	once_end(&begun, all);
}

void names_begin_again(struct ring *r)
{
	if (keeper_lost_hooks())
		once_end(&begun, false);
	else if (!__atomic_load_n(&begun_in_vain, __ATOMIC_RELAXED))
		return;
	names_begin(r);
}

static uint32_t no_place(void)
{
	__atomic_fetch_add(&file_counters()->names_untracked, 1, __ATOMIC_RELAXED);
	return 0;
}

/* ---- kernels -------------------------------------------------------------------------------------------------------- */

static struct names_kernel *kernel_at(const void *handle)
{
	uint32_t place = names_kernel_place(handle);
	uint64_t none;

	for (unsigned i = 0; i < 64; i++) {
		struct names_kernel *k = &names_kernels[(place + i) % NAMES_KERNELS];

		none = __atomic_load_n(&k->handle, __ATOMIC_ACQUIRE);
		if (none == (uintptr_t)handle ||
		    (!none && __atomic_compare_exchange_n(&k->handle, &none, (uintptr_t)handle, false, __ATOMIC_ACQ_REL,
							  __ATOMIC_ACQUIRE)) ||
		    none == (uintptr_t)handle)
			return k;
	}
	return NULL;
}

uint32_t names_kernel_set(struct thread *t, const void *handle, const char *name)
{
	uint32_t hash = gst_hash32(name, strnlen(name, NAME_BYTES_MAX), SIZE_MAX - 4), id;
	struct names_kernel *k = handle ? kernel_at(handle) : NULL;

	if (!k)
		return handle ? no_place() : 0;
	id = __atomic_load_n(&k->id, __ATOMIC_ACQUIRE);
	if (id && k->hash == hash)
		return id;
	id = __atomic_add_fetch(&last_kernel, 1, __ATOMIC_RELAXED);
	names_write(&t->ring, GST_SPACE_KERNEL, id, name);
	k->hash = hash;
	__atomic_store_n(&k->id, id, __ATOMIC_RELEASE);
	return id;
}

uint32_t names_kernel_alias(struct thread *t, const void *handle, const void *of)
{
	uint32_t id = names_kernel(t, of);
	struct names_kernel *k = handle ? kernel_at(handle) : NULL, *source = of ? kernel_at(of) : NULL;

	if (k && source) {
		k->hash = source->hash;
		__atomic_store_n(&k->id, id, __ATOMIC_RELEASE);
	}
	return id;
}

uint32_t names_kernel_look_up(struct thread *t, const void *handle)
{
	struct names_kernel *k = handle ? kernel_at(handle) : NULL;
	uint32_t id = k ? __atomic_load_n(&k->id, __ATOMIC_ACQUIRE) : 0;
	const char *name = NULL;
	char unnamed[40];

	if (id || !handle)
		return id;
	if (!k)
		return no_place();
	if (INJECT(cuFuncGetName, &name, (CUfunction)(uintptr_t)handle) != CUDA_SUCCESS || !name) {
		snprintf(unnamed, sizeof(unnamed), "kernel@%p", handle);
		name = unnamed;
	}
	return names_kernel_set(t, handle, name);
}

/* ---- files, devices ------------------------------------------------------------------------------------------------- */

uint32_t names_file(struct ring *r, const char *path)
{
	uint32_t hash = gst_hash32(path, strlen(path), SIZE_MAX - 4);

	for (uint32_t i = 0; i < n_files; i++)
		if (file_hashes[i] == hash)
			return i + 1;
	if (n_files == FILES)
		return no_place();
	file_hashes[n_files++] = hash;
	names_write(r, GST_SPACE_FILE, n_files, path);
	return n_files;
}

void names_device(struct thread *t, uint16_t device)
{
	struct gst_device d = { .device = device };
	uint64_t bit = 1ull << device % 64, *word = &devices_seen[device / 64 % 4];
	CUuuid uuid;
	size_t bytes = 0;

	if (__atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit)
		return;
	if (INJECT(cuDeviceGetUuid_v2, &uuid, device) == CUDA_SUCCESS)
		memcpy(d.uuid, &uuid, sizeof(d.uuid));
	if (INJECT(cuDeviceTotalMem_v2, &bytes, device) == CUDA_SUCCESS)
		d.memory_bytes = bytes;
	if (INJECT(cuDeviceGetName, d.name, sizeof(d.name) - 1, device) != CUDA_SUCCESS)
		d.name[0] = 0;
	ring_append(&t->ring, GST_DEVICE, sizeof(d), &d);
}

void names_forget(void)
{
	memset(names_kernels, 0, sizeof(names_kernels));
	memset(devices_seen, 0, sizeof(devices_seen));
	memset(&begun, 0, sizeof(begun));
	last_kernel = n_files = begun_in_vain = 0;
}
