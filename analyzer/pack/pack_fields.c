/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_fields.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as the files are");

#define FIELD(type, record, member, kind)                                                           \
	{ type, PACK_##kind, sizeof(((struct record *)0)->member), offsetof(struct record, member), \
	  sizeof(struct record) },
const struct pack_field pack_fields[] = {
#include "pack_fields.def"
};
#undef FIELD

const unsigned pack_n_fields = sizeof(pack_fields) / sizeof(pack_fields[0]);
_Static_assert(sizeof(pack_fields) / sizeof(pack_fields[0]) <= PACK_FIELDS_MOST, "numbers of fields");

void pack_layouts(struct pack_layout out[PACK_TYPES])
{
	memset(out, 0, PACK_TYPES * sizeof(*out));
	for (unsigned i = 0; i < pack_n_fields; i++) {
		struct pack_layout *l = &out[pack_fields[i].type];

		if (!l->n)
			l->first = (uint16_t)i;
		l->n++;
		l->whole = pack_fields[i].whole;
	}
}
