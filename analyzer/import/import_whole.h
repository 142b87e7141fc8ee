/* SPDX-License-Identifier: BSD-2-Clause */
/* import_whole.h: whole numbers in the words of a trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As 64 bits: -1 is all ones; 0x makes it hexadecimal; decimals are cut off. False: it is none, or has more than 64 bits. */
bool import_whole(uint64_t *out, const char *at, size_t bytes);
