/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_inflate.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>

struct import_inflate {
	struct inflate_state z;
};

struct import_inflate *import_inflate_new(void)
{
	struct import_inflate *z = malloc(sizeof(*z));

	if (!z)
		return NULL;
	isal_inflate_init(&z->z);
	z->z.crc_flag = ISAL_GZIP;
	return z;
}

void import_inflate_free(struct import_inflate *z)
{
	free(z);
}

void import_inflate_again(struct import_inflate *z)
{
	isal_inflate_reset(&z->z);
}

enum import_inflated import_inflate(struct import_inflate *z, struct import_stream *s)
{
	int code;

	z->z.next_in = (unsigned char *)s->in;
	z->z.avail_in = s->n_in;
	z->z.next_out = s->out;
	z->z.avail_out = s->n_out;
	code = isal_inflate(&z->z);
	*s = (struct import_stream){ z->z.next_in, z->z.next_out, z->z.avail_in, z->z.avail_out };
	if (code < 0 || code == ISAL_NEED_DICT)
		return INFLATED_WRONG;
	return z->z.block_state == ISAL_BLOCK_FINISH ? INFLATED_ALL : INFLATED_SOME;
}
