/* SPDX-License-Identifier: BSD-2-Clause */
/* text_put.h: a text put together part by part, where printf's reading of its format would be most of the work: there are several of these
 * for each gap. What has no room is cut, as snprintf does; the text always has its end. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text_put {
	char *at, *last; /* where the next byte goes; the end's place at most */
};

static inline struct text_put text_put_begin(char *buf, size_t size)
{
	*buf = 0;
	return (struct text_put){ buf, buf + size - 1 };
}

static inline void put_bytes(struct text_put *p, const char *s, size_t n)
{
	n = n < (size_t)(p->last - p->at) ? n : (size_t)(p->last - p->at);
	memcpy(p->at, s, n);
	p->at += n;
	*p->at = 0;
}

static inline void put_text(struct text_put *p, const char *s)
{
	put_bytes(p, s, strlen(s));
}

void put_uint(struct text_put *p, uint64_t n);
void put_duration(struct text_put *p, int64_t ns);             /* as text_duration() has it */
void put_clean(struct text_put *p, const char *s, size_t size, size_t columns); /* as text_clean() of a buffer of `size` bytes, at most 512 */
