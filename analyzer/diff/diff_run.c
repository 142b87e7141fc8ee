/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diff_keep.h"
#include "tools/alloc.h"
#include "tools/text.h"

static const char *kind_of(const struct summary *s)
{
	return s->imported ? s->source : "gpushim";
}

/* The first of its files that is damaged, or not here. */
static const struct error *first_damage(const struct run *run)
{
	for (size_t i = 0; i < run->n_traces; i++)
		if (run->traces[i]->damage.kind)
			return &run->traces[i]->damage;
	for (size_t i = 0; i < run->n_hosts; i++)
		if (run->hosts[i]->damage.kind)
			return &run->hosts[i]->damage;
	return NULL;
}

/* "run.gst: byte 4176: record of 65535 bytes, 120 left"; NULL: it is whole. False: no memory. */
static bool say_cut(struct diff_run *out, const struct run *run)
{
	const struct error *e = first_damage(run);
	char text[sizeof(e->file) + sizeof(e->text) + 64], byte[48] = "";

	if (!e && !run->n_missing)
		return true;
	if (e && err_has_byte(e))
		snprintf(byte, sizeof(byte), "byte %" PRIu64 ": ", e->byte);
	if (e)
		snprintf(text, sizeof(text), "%s%s%s%s", e->file, e->file[0] ? ": " : "", byte, e->text);
	else
		snprintf(text, sizeof(text), "%s", run->missing[0].text);
	out->cut = diff_keep_text(&out->texts, text);
	return out->cut != NULL;
}

static bool say_what(struct diff_run *out, const struct summary *s, const char *path)
{
	out->path = diff_keep_text(&out->texts, path);
	out->kind = diff_keep_text(&out->texts, kind_of(s));
	out->timing = diff_keep_text(&out->texts, s->device_timing);
	out->probes = diff_keep_text(&out->texts, s->host_probes);
	out->index = s->run->index;
	out->count = s->run->count;
	return out->path && out->kind && out->timing && out->probes && say_cut(out, s->run);
}

static enum err_kind add_device(struct diff_run *out, struct diff_run_device *d, const struct summary *s,
				const struct summary_device *of, uint64_t seed, struct error *e)
{
	struct diff_window w;
	enum err_kind kind;

	*d = (struct diff_run_device){ .number = of->number, .rank = of->rank };
	d->name = diff_keep_text(&out->texts, of->name);
	d->uuid = diff_keep_text(&out->texts, of->uuid);
	if (!d->name || !d->uuid)
		return err_no_memory(e, NULL);
	kind = diff_run_add_steps(out, d, &w, of, seed, e);
	if (!kind)
		kind = diff_run_add_work(out, d, s, of, w, e);
	if (!kind)
		kind = diff_run_add_comms(out, d, s, of, w, e);
	if (!kind)
		kind = diff_run_add_sites(out, d, s, of, w, e);
	return kind ? kind : diff_run_add_gaps(out, d, s, of, w, e);
}

/* The same order in all runs of a job. */
static int by_rank(const void *a, const void *b)
{
	const struct diff_run_device *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

enum err_kind diff_run_of(struct diff_run *out, const struct summary *s, const char *path, uint64_t seed,
			  struct error *e)
{
	enum err_kind kind = ERR_NONE;

	*out = (struct diff_run){ 0 };
	if (!say_what(out, s, path))
		return err_no_memory(e, path);
	out->devices = arena_alloc(&out->texts, s->n_devices * sizeof(*out->devices) + 1);
	if (!out->devices)
		return err_no_memory(e, path);
	for (size_t i = 0; i < s->n_devices && !kind; i++)
		kind = add_device(out, &out->devices[out->n_devices++], s, &s->devices[i], seed, e);
	if (!kind)
		kind = diff_run_add_facts(out, s, e);
	if (!kind)
		array_sort(out->devices, out->n_devices, sizeof(*out->devices), by_rank);
	return kind;
}

void diff_run_free(struct diff_run *r)
{
	arena_free(&r->texts);
	*r = (struct diff_run){ 0 };
}
