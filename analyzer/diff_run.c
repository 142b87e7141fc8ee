/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_run.h"

void diff_run_free(struct diff_run *r)
{
	arena_free(&r->texts);
	*r = (struct diff_run){ 0 };
}
