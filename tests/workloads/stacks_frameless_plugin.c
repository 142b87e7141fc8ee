/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiled without frame pointers, with unwinding tables. */
#define STACKS_NO_POINTER
#include "stacks_plugin.h"
