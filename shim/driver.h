/* SPDX-License-Identifier: BSD-2-Clause */
/* driver.h: which library is the driver. libgpushim.so (driver.c) and its twin that bears the driver's own name (twin/driver.c) find it
 * differently; nothing else in the shim tells them apart. */
#pragma once

#include <stdbool.h>

#include "elf_object.h"

struct driver {
	void *handle; /* our reference */
	struct elf_object object; /* no dlopen to be had, but the program was linked with the driver; else without symbols */
};

/* True in the twin: the name libcuda.so.1 means us. */
extern const bool driver_is_twin;

/* Constructor. False: another copy of the recorder is in this process and records it. */
bool driver_start(void);

/* Finds the driver and keeps a reference on it; all zero: there is none. May leave an error in dlerror. */
void driver_open(struct driver *out);
