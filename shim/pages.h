/* SPDX-License-Identifier: BSD-2-Clause */
/* pages.h: a piece of the file in memory, whatever the size of a page. The kernel maps whole pages: 4 KiB on x86-64, 4, 16 or 64 on
 * aarch64; and segments begin at multiples of 8. So a mapping begins with the page that the piece begins in, and what
 * it holds of the piece before is nobody's business. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* bytes of the file from offset on. NULL: errno says why. */
uint8_t *pages_map(int fd, uint64_t offset, size_t bytes);

/* What pages_map gave, of as many bytes. */
void pages_unmap(uint8_t *p, size_t bytes);

/* Takes the page faults of the next some bytes of a piece in advance, beginning `done` bytes into it. Returns how far it is done then: no
 * further where the kernel cannot (before Linux 5.14). */
size_t pages_populate(uint8_t *p, size_t bytes, size_t done, size_t some);
