/* SPDX-License-Identifier: BSD-2-Clause */
/* user_object.h: what lives as long as somebody holds a reference: the client, graphs, executable graphs. Locked. */
#pragma once

#include "objects.h"

/* A graph's references to one object; a list. */
struct object_hold {
	CUuserObject object;
	unsigned count;
	struct object_hold *next;
};

bool object_holds_copy(struct object_hold **to, const struct object_hold *from); /* more references; false: out of memory */
void object_holds_free(struct object_hold **list, struct op *after); /* destroyed behind `after` if these were the last; NULL: now */
