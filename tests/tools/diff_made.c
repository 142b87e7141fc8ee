/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_made rich|hostile|two|empty md|junit|html: a diff made by hand (tests/unit/diff_made.h), as it is printed. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/diff_made.h"

int main(int argc, char **argv)
{
	static struct made made;
	struct error error;

	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "two") == 0)
		made_two(&made);
	else if (strcmp(argv[1], "empty") == 0)
		made_empty(&made);
	else
		made_rich(&made, strcmp(argv[1], "hostile") == 0);
	if (strcmp(argv[2], "md") == 0)
		diff_md(stdout, &made.diff);
	else if (strcmp(argv[2], "junit") == 0)
		diff_junit(stdout, &made.diff);
	else if (diff_html(stdout, &made.diff, &error) != ERR_NONE)
		return 4;
	return 0;
}
