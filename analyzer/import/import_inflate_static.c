/* SPDX-License-Identifier: BSD-2-Clause */
/* import_inflate_static.c: import_inflate.h by zlib. */
#include "import_inflate.h"

#include <stdlib.h>
#include <zlib.h>

#define GZIP (16 + MAX_WBITS)

struct import_inflate {
	z_stream z;
};

struct import_inflate *import_inflate_new(void)
{
	struct import_inflate *z = calloc(1, sizeof(*z));

	if (z && inflateInit2(&z->z, GZIP) == Z_OK)
		return z;
	free(z);
	return NULL;
}

void import_inflate_free(struct import_inflate *z)
{
	if (z)
		inflateEnd(&z->z);
	free(z);
}

void import_inflate_again(struct import_inflate *z)
{
	inflateReset(&z->z);
}

enum import_inflated import_inflate(struct import_inflate *z, struct import_stream *s)
{
	int code;

	z->z.next_in = (unsigned char *)s->in;
	z->z.avail_in = s->n_in;
	z->z.next_out = s->out;
	z->z.avail_out = s->n_out;
	code = inflate(&z->z, Z_NO_FLUSH);
	*s = (struct import_stream){ z->z.next_in, z->z.next_out, z->z.avail_in, z->z.avail_out };
	switch (code) {
	case Z_STREAM_END:
		return INFLATED_ALL;
	case Z_OK:
	case Z_BUF_ERROR: /* it needs more input */
		return INFLATED_SOME;
	case Z_MEM_ERROR:
		return INFLATED_NO_MEMORY;
	default:
		return INFLATED_WRONG;
	}
}
