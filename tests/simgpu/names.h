/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: names that live as long as the process, so the truth log may keep pointers. Locked. */
#pragma once

const char *name_intern(const char *name); /* equal names, equal pointers; NULL: out of memory */
