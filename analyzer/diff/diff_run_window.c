/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_run_window.c: the time of a run that is compared. */
#include "diff_run.h"
#include "tools/ns.h"

bool diff_window_has(const struct diff_window *w, int64_t ns)
{
	const struct step *at;

	if (ns < w->from_ns || ns >= w->until_ns)
		return false;
	at = w->between ? steps_at(w->between, ns) : NULL;
	return !at || at->kind != STEP_BETWEEN;
}

int64_t diff_window_part(const struct diff_window *w, int64_t begin_ns, int64_t end_ns)
{
	int64_t begin = max64(begin_ns, w->from_ns), end = min64(end_ns, w->until_ns), part = max64(0, end - begin);

	if (!w->between || !part)
		return part;
	for (size_t i = steps_from(w->between, begin); i < w->between->n && w->between->at[i].begin_ns < end; i++)
		if (w->between->at[i].kind == STEP_BETWEEN)
			part -= min64(end, w->between->at[i].end_ns) - max64(begin, w->between->at[i].begin_ns);
	return part;
}
