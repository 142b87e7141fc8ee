/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: texts that records refer to by number: written to the file once. */
#pragma once

#include "hooks.h"
#include "thread.h"

/* One name in the file. */
void names_write(struct ring *r, enum gst_name_space space, uint32_t id, const char *text);

/* Once a file: the names of all hooks, the first clock anchors. */
void names_begin(struct thread *t);

/* The name id of a kernel handle; asks the driver the first time. 0: the table is full. */
uint32_t names_kernel(struct thread *t, const void *handle);
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
