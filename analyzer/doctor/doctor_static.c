/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_static.c: of the statically linked program alone (Makefile): it loads no libraries (doctor_loader.h). */
#include <stddef.h>

#include "doctor_loader.h"

const struct doctor_loader *const doctor_loader = NULL;
