/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_physical.h: physical memory and addresses apart: handles, addresses that are reserved, and what stands where. */
#pragma once

#include "memory_process.h"

struct memory_reserved {
	uint64_t address, bytes;
	bool shared_out; /* a framework hands out blocks in it */
};

/* The reserved addresses that this one is of; NULL none. */
struct memory_reserved *memory_reserved_around(const struct memory_process *p, uint64_t address);

/* These are false where there is no memory; *where: the device whose use changed; *given: bytes that went back to the driver. */
bool memory_reserve(struct memory_process *p, const struct memory_event *e);
void memory_unreserve(struct memory_process *p, uint64_t address);
bool memory_create(struct memory_process *p, const struct call *c, size_t where);
/* One more handle of it (1), or one less (-1). */
void memory_refer(struct memory_process *p, uint64_t handle, int by, size_t *where);
bool memory_stand(struct memory_process *p, const struct mapping *m, size_t *where);
bool memory_stand_no_more(struct memory_process *p, uint64_t address, uint64_t bytes, size_t *where, uint64_t *given);

/* All of a device's, but for its map. */
void memory_physical_forget(struct memory_process *p, size_t where);
