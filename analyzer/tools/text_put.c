/* SPDX-License-Identifier: BSD-2-Clause */
#include "text_put.h"

#include "text.h"

void put_uint(struct text_put *p, uint64_t n)
{
	char digits[TEXT_DIGITS];
	const char *end = text_digits(digits, n);

	put_bytes(p, digits, (size_t)(end - digits));
}

void put_duration(struct text_put *p, int64_t ns)
{
	char text[TEXT_SHORT];
	const char *said = text_duration(text, ns);

	put_text(p, said);
}

void put_clean(struct text_put *p, const char *s, size_t size, size_t columns)
{
	char clean[512];

	put_text(p, text_clean(clean, size < sizeof(clean) ? size : sizeof(clean), s, columns));
}
