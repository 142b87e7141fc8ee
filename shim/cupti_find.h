/* SPDX-License-Identifier: BSD-2-Clause */
/* cupti_find.h: where libcupti is. Asks the loader, so never under a lock of ours. */
#pragma once

#include <stdbool.h>

#include "cupti_api.h"

/* Loads libcupti, or finds the one that is loaded, for good, and its functions. False: there is none that has all we need. */
bool cupti_find(struct cupti_api *api);

/* The function of this name that the object with this address would have got without us; NULL none. */
void *cupti_find_for(const void *caller, const char *name);
