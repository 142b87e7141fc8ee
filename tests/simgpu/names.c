/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"

#include <stdlib.h>
#include <string.h>

struct name {
	struct name *next;
	char text[];
};

static struct name *buckets[1024];

const char *name_intern(const char *name)
{
	unsigned hash = 5381;
	size_t bytes = strlen(name) + 1;
	struct name *found;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	hash %= 1024;
	for (found = buckets[hash]; found; found = found->next)
		if (!strcmp(found->text, name))
			return found->text;
	found = malloc(sizeof(*found) + bytes);
	if (!found)
		return NULL;
	memcpy(found->text, name, bytes);
	found->next = buckets[hash];
	buckets[hash] = found;
	return found->text;
}
