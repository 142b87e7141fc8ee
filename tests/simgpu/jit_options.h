/* SPDX-License-Identifier: BSD-2-Clause */
/* jit_options.h: the options of calls that load or link code. */
#pragma once

#include "sim.h"

/* The log buffers get what a compiler without complaints writes: nothing. CUDA_ERROR_INVALID_VALUE: no such option. */
CUresult jit_options_answer(unsigned count, const CUjit_option *options, void **values);
