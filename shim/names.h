/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: texts that records refer to by number: written to the file once. */
#pragma once

#include "hooks.h"
#include "thread.h"

/* One name in the file. */
void names_write(struct ring *r, enum gst_name_space space, uint32_t id, const char *text);
void names_write_bytes(struct ring *r, enum gst_name_space space, uint32_t id, const char *text, size_t length);

/* Once a file: the names of all hooks, the first clock anchors. Where there was no room for them, or they were given up, again in whichever
 * segment is begun next. */
void names_begin(struct ring *r);
void names_begin_again(struct ring *r);

/* Kernel handles and the ids of their names: a hash table, at this distance from a handle's place at most. */
#define NAMES_KERNELS 16384 /* power of two */
struct names_kernel {
	uint64_t handle; /* 0 free */
	uint32_t id;     /* 0 not yet known */
	uint32_t hash;   /* of the name */
};
extern struct names_kernel names_kernels[NAMES_KERNELS];

static inline uint32_t names_kernel_place(const void *handle)
{
	return (uint32_t)((uintptr_t)handle * 0x9e3779b97f4a7c15u >> 40) % NAMES_KERNELS;
}

/* The name id of a kernel handle; asks the driver the first time. 0: the table is full. */
uint32_t names_kernel_look_up(struct thread *t, const void *handle);
static inline uint32_t names_kernel(struct thread *t, const void *handle)
{
	const struct names_kernel *k = &names_kernels[names_kernel_place(handle)];
	uint32_t id = __atomic_load_n(&k->id,
				      __ATOMIC_ACQUIRE); /* before the handle, which never changes once it has an id */

	return __builtin_expect(id && k->handle == (uintptr_t)handle, 1) ? id : names_kernel_look_up(t, handle);
}
/* The program looked a function up by name; a handle that comes back under another name gets a new id. Returns the id. */
uint32_t names_kernel_set(struct thread *t, const void *handle, const char *name);
/* Another handle of the same function. */
uint32_t names_kernel_alias(struct thread *t, const void *handle, const void *of);

/* A path in space FILE. The helper thread's alone. 0: the table is full. */
uint32_t names_file(struct ring *r, const char *path);

/* Writes the device's own record the first time it is seen. */
void names_device(struct thread *t, uint16_t device);

void names_anchor(struct ring *r);

void names_forget(void);
