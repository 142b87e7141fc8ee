/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiled with frame pointers, without unwinding tables. */
#include "stacks_plugin.h"
