/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_rows.h"

#include <stdlib.h>

const char *diff_row_name(size_t row)
{
	static const char *const busy[] = { "compute", "comm", "copy" };

	if (row < ROW_LEAVES)
		return row == ROW_STEP ? "step" : "idle";
	if (row < ROW_LEAVES + LEAF_CAUSES)
		return busy[row - ROW_LEAVES];
	return cause_name((enum cause_id)(row - ROW_LEAVES - LEAF_CAUSES));
}

void diff_rows_sum(int64_t row_ns[DIFF_ROWS])
{
	row_ns[ROW_STEP] = row_ns[ROW_IDLE] = 0;
	for (size_t i = 0; i < DIFF_LEAVES; i++) {
		row_ns[ROW_STEP] += row_ns[ROW_LEAVES + i];
		row_ns[ROW_IDLE] += i >= LEAF_CAUSES ? row_ns[ROW_LEAVES + i] : 0;
	}
}

int64_t diff_step_ns(const struct diff_series *s, size_t i)
{
	int64_t ns = 0;

	for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++)
		ns += s->leaf[leaf] ? s->leaf[leaf][i] : 0;
	return ns;
}

void diff_series_free(struct diff_series *s)
{
	for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++)
		free(s->leaf[leaf]);
	*s = (struct diff_series){ 0 };
}
