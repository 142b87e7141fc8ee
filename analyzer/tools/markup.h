/* SPDX-License-Identifier: BSD-2-Clause */
/* markup.h: anybody's text in XML and HTML: text it stays, within elements and within attributes. */
#pragma once

#include <stdio.h>

/* What may not be there at all (control characters, half characters, what turns the direction of writing) is a '?'. */
void markup_text(FILE *out, const char *s);
