/* SPDX-License-Identifier: BSD-2-Clause */
/* utf8.h: a character as UTF-8 (RFC 3629). */
#ifndef GPUSHIM_UTF8_H
#define GPUSHIM_UTF8_H

#include <stdint.h>

/* Writes c to the 4 bytes at `to`, one that is no character (a surrogate, above U+10FFFF) as U+FFFD. How many bytes it took. */
static inline unsigned utf8_put(char *to, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

#endif
