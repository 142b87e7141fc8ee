/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "objects.h"

void module_free(struct CUmod_st *module); /* locked: with its functions and globals */
