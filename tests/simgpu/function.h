/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "objects.h"

bool function_valid(CUfunction function);          /* takes the lock */
size_t function_shared_limit(CUfunction function); /* bytes of dynamic shared memory a launch may ask for */
