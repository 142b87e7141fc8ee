/* SPDX-License-Identifier: BSD-2-Clause */
/* api.h: how a public call is written. As in the real library, ncclX is weak, pncclX is strong and the same function, and calls of the
 * library to itself go through the PLT, where whoever interposes sees them. */
#pragma once

#include "log.h"
#include "standin.h"

#define API(type, name, params)                                                                  \
	__attribute__((visibility("default"), alias(#name))) extern typeof(name) p##name;        \
	__attribute__((visibility("default"), weak)) type name params
