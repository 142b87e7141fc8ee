/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff.h"

int diff_status(const struct diff *d)
{
	return d->verdict == DIFF_REGRESSED ? 1 : d->verdict >= DIFF_INCONCLUSIVE ? 5 : 0;
}
