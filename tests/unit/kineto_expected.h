/* SPDX-License-Identifier: BSD-2-Clause */
/* kineto_expected.h: Kineto's events against the facts they say (import_seen.h). */
#pragma once

#include "import/import.h"
#include "tests/unit/kineto_file.h"

/* Lines without the place of each, " @0:41". */
static inline void leave_out_places(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		if (from[0] == ' ' && from[1] == '@')
			from += 2 + strspn(from + 2, "0123456789:");
		*to++ = *from++;
	}
	*to = '\0';
}

static inline void expect_of_file(const char *json, const char *facts)
{
	struct import_build b;
	struct error damage = { 0 }, e = { 0 };
	char *text = quoted(json), *seen;

	put(text, strlen(text));
	b = (struct import_build){ 0 };
	assert_int_equal(import_kineto(&b, path, &damage, &e), ERR_NONE);
	assert_string_equal(damage.text, "");
	seen = strdup(b.lines ? b.lines : "");
	assert_non_null(seen);
	leave_out_places(seen);
	assert_string_equal(seen, facts);
	free(seen);
	seen_free(&b);
	free(text);
}

/* Of these events and nothing else. */
static inline void expect(const char *events, const char *facts)
{
	char json[8192];

	assert_true((size_t)snprintf(json, sizeof(json), "{'traceEvents': [%s]}", events) < sizeof(json));
	expect_of_file(json, facts);
}
