/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "sim.h"

bool device_exists(CUdevice device);
