/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_usual.h"

#define HOLDS_NS 1000000000u /* a thread does something else by then */
#define SEEN_LEAST 2u
#define PLAIN 8u
#define OTHERS 4u /* of so many waits of that length one may have been for something else */

static struct usual_kind *kind_of(struct perf_usual *u, const struct gst_wait_for *what)
{
	struct usual_kind *oldest = &u->kind[0];

	for (struct usual_kind *k = u->kind; k < u->kind + USUAL_KINDS; k++) {
		if (k->at && proc_wait_same(&k->what, what))
			return k;
		if (k->at < oldest->at)
			oldest = k;
	}
	oldest->at = 0;
	return oldest;
}

void usual_learn(struct perf_usual *u, const struct gst_wait_for *what, uint64_t at, uint64_t ns)
{
	struct usual_kind *k = kind_of(u, what);

	if (!k->at || at - k->at > HOLDS_NS) {
		k->count = 0;
		k->least = k->most = ns;
	}
	k->what = *what;
	k->at = at;
	k->count++;
	k->least = ns < k->least ? ns : k->least;
	k->most = ns > k->most ? ns : k->most;
}

bool usual_guess(const struct perf_usual *u, uint64_t at, uint64_t ns, struct gst_wait_for *what)
{
	const struct usual_kind *best = NULL;
	uint32_t sum = 0;

	for (const struct usual_kind *k = u->kind; k < u->kind + USUAL_KINDS; k++) {
		if (!k->at || at - k->at > HOLDS_NS || ns < k->least / 2 || ns > 3 * k->most)
			continue;
		sum += k->count;
		if (!best || k->count > best->count)
			best = k;
	}
	if (!best || best->count < SEEN_LEAST || (sum - best->count) * OTHERS > best->count)
		return false;
	*what = best->what;
	what->offset = UINT64_MAX; /* then; not now */
	return true;
}

bool usual_is_plain(const struct perf_usual *u, uint64_t at)
{
	const struct usual_kind *only = NULL;

	for (const struct usual_kind *k = u->kind; k < u->kind + USUAL_KINDS; k++) {
		if (!k->at || at - k->at > HOLDS_NS)
			continue;
		if (only)
			return false;
		only = k;
	}
	return only && only->count >= PLAIN && only->what.fd_kind != GST_FD_FILE;
}
