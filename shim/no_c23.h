/* SPDX-License-Identifier: BSD-2-Clause */
/* no_c23.h: included before everything else in the shim (Makefile). From glibc 2.38 on, _GNU_SOURCE turns strtol, sscanf and their like
 * into functions of new names (__isoc23_strtol), and a shim built there would load on no older system. */
#pragma once

#include <features.h>

#undef __GLIBC_USE_C2X_STRTOL /* 2.38 and 2.39 */
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0
