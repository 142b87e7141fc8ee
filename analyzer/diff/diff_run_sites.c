/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_run_sites.c: the statements by which most idle time went. Time of which no stack says anything is nobody's. */
#include "diff_run.h"

#include <stdlib.h>

#include "diff_keep.h"
#include "summary/call_sites.h"
#include "summary/idle_stacks.h"

/* By cause each mean is rounded down, and they sum to the site's. */
static bool site_of(struct diff_site *out, struct arena *texts, const struct call_site *site, size_t steps)
{
	char where[IDLE_FRAME];

	*out = (struct diff_site){ .gaps = (double)site->gaps / (double)steps };
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		out->causes[i] = site->causes[i] / (int64_t)steps;
		out->idle_ns += out->causes[i];
	}
	out->where = diff_keep_text(texts, idle_stack_site(where, site->held, site->frame));
	return out->where != NULL;
}

enum err_kind diff_run_add_sites(struct diff_run *out, struct diff_run_device *d, const struct summary *s,
				 const struct summary_device *of, struct diff_window w, struct error *e)
{
	struct diff_site kept[DIFF_SITES];
	size_t n, n_kept = 0, device = (size_t)(of - s->devices);
	struct call_site *sites = call_sites_within(s, device, w.from_ns, w.until_ns, &n);
	bool ok = sites != NULL;

	for (size_t i = 0; ok && i < n && n_kept < DIFF_SITES; i++)
		if (sites[i].frame)
			ok = site_of(&kept[n_kept++], &out->texts, &sites[i], w.n ? w.n : 1);
	d->sites = ok ? diff_keep_list(&out->texts, kept, n_kept, sizeof(*kept)) : NULL;
	d->n_sites = d->sites ? n_kept : 0;
	free(sites);
	return d->sites ? ERR_NONE : err_no_memory(e, out->path);
}
