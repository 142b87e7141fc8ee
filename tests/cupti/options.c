/* SPDX-License-Identifier: BSD-2-Clause */
#include "standin.h"

#include <stdlib.h>
#include <string.h>

/* Behind the name, if it is there as a whole word. */
static const char *find(const char *name)
{
	const char *text = getenv("CUPTI_STANDIN");
	size_t length = strlen(name);

	while (text && *text) {
		if (strncmp(text, name, length) == 0 && strchr(",=", text[length]))
			return text + length;
		text = strchr(text, ',');
		text = text ? text + 1 : NULL;
	}
	return NULL;
}

bool option(const char *name)
{
	return find(name) != NULL;
}

unsigned option_number(const char *name)
{
	const char *value = find(name);

	return value && *value == '=' ? (unsigned)strtoul(value + 1, NULL, 10) : 0;
}
