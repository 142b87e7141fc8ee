/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.h: access from one device to another. Locked. */
#pragma once

#include "objects.h"

bool peer_linked(int device, int other); /* a context of one has access to one of the other */
void peer_forget(CUcontext context);     /* it is going away */
