/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_made rich|hostile|two|few|many|tail|stories|whole|empty text|json|md|junit|html: a diff made by hand (tests/unit/diff_made.h), as it is
 * printed. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/diff_made.h"

static void make(struct made *m, const char *kind)
{
	if (strcmp(kind, "two") == 0)
		made_two(m);
	else if (strcmp(kind, "few") == 0)
		made_many(m, 8);
	else if (strcmp(kind, "many") == 0)
		made_many(m, MADE_DEVICES);
	else if (strcmp(kind, "tail") == 0)
		made_long_steps(m);
	else if (strcmp(kind, "stories") == 0)
		made_stories(m);
	else if (strcmp(kind, "whole") == 0)
		made_whole(m);
	else if (strcmp(kind, "empty") == 0)
		made_empty(m);
	else
		made_rich(m, strcmp(kind, "hostile") == 0);
}

int main(int argc, char **argv)
{
	static const struct report_style style = { .columns = 100 };
	static struct made made;

	if (argc != 3)
		return 2;
	make(&made, argv[1]);
	if (strcmp(argv[2], "text") == 0)
		diff_text(stdout, &made.diff, &style);
	else if (strcmp(argv[2], "json") == 0)
		diff_json(stdout, &made.diff);
	else if (strcmp(argv[2], "md") == 0)
		diff_md(stdout, &made.diff);
	else if (strcmp(argv[2], "junit") == 0)
		diff_junit(stdout, &made.diff);
	else
		diff_html(stdout, &made.diff);
	return 0;
}
