/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks_own.h: is a frame the user's own code? What people can change is what a report should name. */
#pragma once

#include "trace/stacks.h"

bool frame_is_own(const struct frame *f);
