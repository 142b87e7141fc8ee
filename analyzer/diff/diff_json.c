/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_json.c: all of a diff, for programs: schema gpushim.diff/1. */
#include <stdio.h>

#include "diff.h"
#include "tools/json.h"

static void sign(struct json *j, enum diff_change change)
{
	char text[2] = { diff_sign(change), 0 };

	json_key_text(j, "verdict", text);
}

static void text_or_null(struct json *j, const char *s)
{
	if (s)
		json_text(j, s);
	else
		json_number(j, "null");
}

/* ---- runs ---- */

static void run_device(struct json *j, const struct diff_run_device *d)
{
	json_map(j);
	json_key_int(j, "device", d->number);
	json_key_int(j, "rank", d->rank == GST_NONE ? -1 : (int64_t)d->rank);
	json_key_text(j, "name", d->name);
	json_key_text(j, "uuid", d->uuid);
	json_key_uint(j, "steps", d->n_steps);
	json_key_uint(j, "warm_up_steps", d->n_warm_up);
	json_key_text(j, "steps_by", !d->n_steps ? "none" : d->by_ranges ? "ranges" : "launches");
	json_key_text(j, "step_name", d->step_name ? d->step_name : "");
	json_key_int(j, "step_ns", d->typical.row_ns[ROW_STEP]);
	json_key_int(j, "idle_ns", d->typical.row_ns[ROW_IDLE]);
	json_key_int(j, "tail_ns", d->typical.tail_ns);
	json_key_int(j, "blurred_ns", d->blurred_ns);
	json_key_int(j, "unresolved_ns", d->unresolved_ns);
	json_map_end(j);
}

static void run(struct json *j, const struct diff_run *r, const char *side, const char *commit)
{
	json_map(j);
	json_key_text(j, "side", side);
	json_key_text(j, "path", r->path);
	json_key(j, "commit");
	text_or_null(j, commit);
	json_key_text(j, "source", r->kind);
	json_key_text(j, "device_timing", r->timing);
	json_key_text(j, "host_probes", r->probes);
	json_key(j, "damage");
	text_or_null(j, r->cut);
	json_key_int(j, "run", r->index);
	json_key_int(j, "of_runs", r->count);
	json_key_map(j, "environment");
	for (size_t i = 0; i < r->n_facts; i++)
		json_key_text(j, r->facts[i].name, r->facts[i].value);
	json_map_end(j);
	json_key_array(j, "devices");
	for (size_t i = 0; i < r->n_devices; i++)
		run_device(j, &r->devices[i]);
	json_array_end(j);
	json_map_end(j);
}

static void runs(struct json *j, const struct diff *d)
{
	const struct diff_fact_change *commit = NULL;

	for (size_t i = 0; i < d->n_facts; i++)
		if (strcmp(d->facts[i].name, "commit") == 0)
			commit = &d->facts[i];
	json_key_array(j, "runs");
	for (size_t i = 0; i < d->n_base; i++)
		run(j, &d->base[i], "base", commit ? commit->base : NULL);
	for (size_t i = 0; i < d->n_now; i++)
		run(j, &d->now[i], "new", commit ? commit->now : NULL);
	json_array_end(j);
}

/* ---- rows ---- */

static void row(struct json *j, const struct diff_pair *p, size_t which)
{
	const struct diff_compared *r = &p->compared.row[which];

	json_map(j);
	json_key_text(j, "id", diff_row_name(which));
	json_key_int(j, "device", p->base->number);
	json_key_int(j, "base_ns", r->base_ns);
	json_key_int(j, "new_ns", r->new_ns);
	json_key_int(j, "delta_ns", r->delta_ns);
	json_key_int(j, "low_ns", r->low_ns);
	json_key_int(j, "high_ns", r->high_ns);
	sign(j, r->change);
	json_map_end(j);
}

/* ---- what changed ---- */

static void causes_ns(struct json *j, const int64_t causes[CAUSE_COUNT])
{
	json_key_map(j, "causes");
	for (int i = 0; i < CAUSE_COUNT; i++)
		if (causes[i])
			json_key_int(j, cause_name(i), causes[i]);
	json_map_end(j);
}

static void kernel(struct json *j, const char *key, const struct diff_kernel *k)
{
	json_key_any(j, key);
	if (!k) {
		json_number(j, "null");
		return;
	}
	json_map(j);
	json_key_double(j, "per_step", k->per_step);
	json_key(j, "ns_per_step");
	if (k->has_ns)
		json_int(j, k->ns_per_step);
	else
		json_number(j, "null");
	json_key_double(j, "bytes_per_step", k->bytes_per_step);
	json_map_end(j);
}

static void site(struct json *j, const char *key, const struct diff_site *s)
{
	json_key_any(j, key);
	if (!s) {
		json_number(j, "null");
		return;
	}
	json_map(j);
	json_key_int(j, "idle_ns_per_step", s->idle_ns);
	json_key_double(j, "gaps_per_step", s->gaps);
	causes_ns(j, s->causes);
	json_map_end(j);
}

static void gap(struct json *j, const char *key, const struct diff_gap *g)
{
	json_key_any(j, key);
	if (!g) {
		json_number(j, "null");
		return;
	}
	json_map(j);
	json_key_double(j, "per_step", g->per_step);
	json_key_int(j, "ns_per_step", g->ns_per_step);
	causes_ns(j, g->causes);
	json_key_uint(j, "number", g->number);
	json_key_int(j, "longest_ns", g->longest_ns);
	json_key_array(j, "evidence");
	for (size_t i = 0; i < g->n_lines; i++)
		json_text(j, g->lines[i]);
	json_array_end(j);
	json_map_end(j);
}

static void memory(struct json *j, const char *key, const struct diff_memory *m)
{
	json_key_any(j, key);
	if (!m) {
		json_number(j, "null");
		return;
	}
	json_map(j);
	json_key_uint(j, "peak_allocated_bytes", m->peak_allocated);
	json_key_uint(j, "peak_reserved_bytes", m->peak_reserved);
	json_key(j, "fragmentation");
	if (m->told)
		json_number(j, "null");
	else
		json_double(j, m->fragmentation);
	json_key_uint(j, "out_of_memory", m->out_of_memory);
	json_map_end(j);
}

static void kinds(struct json *j, const struct diff_pair *p)
{
	char key[24];

	json_key_array(j, "classes");
	for (size_t i = 0; i < p->n_classes; i++) {
		const struct diff_class_change *c = &p->classes[i];

		snprintf(key, sizeof(key), "%016llx", (unsigned long long)c->key);
		json_map(j);
		json_key_text(j, "key", key);
		json_key_text(j, "contents", c->words);
		json_key_double(j, "base_share", c->base_share);
		json_key_double(j, "new_share", c->new_share);
		json_key_int(j, "base_step_ns", c->compared.row[ROW_STEP].base_ns);
		json_key_int(j, "new_step_ns", c->compared.row[ROW_STEP].new_ns);
		json_key_int(j, "base_idle_ns", c->compared.row[ROW_IDLE].base_ns);
		json_key_int(j, "new_idle_ns", c->compared.row[ROW_IDLE].new_ns);
		json_map_end(j);
	}
	json_array_end(j);
}

static void some_causes(struct json *j, const char *key, const enum cause_id *causes, size_t n)
{
	json_key_any(j, key);
	json_array(j);
	for (size_t i = 0; i < n; i++)
		json_text(j, cause_name(causes[i]));
	json_array_end(j);
}

static void work(struct json *j, const char *key, const struct diff_work_change *all, size_t n)
{
	json_key_array(j, key);
	for (size_t i = 0; i < n; i++) {
		json_map(j);
		json_key_text(j, "name", (all[i].base ? all[i].base : all[i].now)->name);
		kernel(j, "base", all[i].base);
		kernel(j, "new", all[i].now);
		json_map_end(j);
	}
	json_array_end(j);
}

static void changes(struct json *j, const struct diff_pair *p)
{
	some_causes(j, "causes_appeared", p->appeared, p->n_appeared);
	some_causes(j, "causes_vanished", p->vanished, p->n_vanished);
	work(j, "kernels", p->kernels, p->n_kernels);
	work(j, "comms", p->comms, p->n_comms);
	json_key_array(j, "sites");
	for (size_t i = 0; i < p->n_sites; i++) {
		json_map(j);
		json_key_text(j, "where", (p->sites[i].base ? p->sites[i].base : p->sites[i].now)->where);
		site(j, "base", p->sites[i].base);
		site(j, "new", p->sites[i].now);
		json_map_end(j);
	}
	json_array_end(j);
	json_key_array(j, "gaps");
	for (size_t i = 0; i < p->n_gaps; i++) {
		const struct diff_gap *one = p->gaps[i].now ? p->gaps[i].now : p->gaps[i].base;

		json_map(j);
		json_key_text(j, "before", one->before);
		json_key_text(j, "after", one->after);
		json_key_int(j, "delta_ns", p->gaps[i].delta_ns);
		gap(j, "base", p->gaps[i].base);
		gap(j, "new", p->gaps[i].now);
		json_map_end(j);
	}
	json_array_end(j);
	json_key_map(j, "memory");
	json_key(j, "changed");
	json_bool(j, p->memory_changed);
	memory(j, "base", p->base_memory);
	memory(j, "new", p->new_memory);
	json_map_end(j);
}

static void pair(struct json *j, const struct diff_pair *p)
{
	json_map(j);
	json_key_int(j, "device", p->base->number);
	json_key_int(j, "new_device", p->now->number);
	json_key_int(j, "rank", p->base->rank == GST_NONE ? -1 : (int64_t)p->base->rank);
	json_key_text(j, "name", p->base->name);
	json_key(j, "reason");
	text_or_null(j, p->reason);
	json_key(j, "comparable");
	json_bool(j, p->compared.comparable);
	json_key(j, "run_to_run_known");
	json_bool(j, p->compared.variance_known);
	json_key_text(j, "aligned_by", p->by_class ? "class" : "index");
	json_key_int(j, "dead_band_ns", p->compared.band_ns);
	json_key_int(j, "blurred_ns", p->compared.blurred_ns);
	json_key_int(j, "base_tail_ns", p->compared.base_tail_ns);
	json_key_int(j, "new_tail_ns", p->compared.new_tail_ns);
	json_key_map(j, "tail");
	json_key_int(j, "delta_ns", p->compared.tail.delta_ns);
	json_key_int(j, "low_ns", p->compared.tail.low_ns);
	json_key_int(j, "high_ns", p->compared.tail.high_ns);
	sign(j, p->compared.tail.change);
	json_map_end(j);
	kinds(j, p);
	changes(j, p);
	json_map_end(j);
}

static void environment(struct json *j, const struct diff *d)
{
	json_key_array(j, "environment");
	for (size_t i = 0; i < d->n_facts; i++) {
		json_map(j);
		json_key_text(j, "name", d->facts[i].name);
		json_key(j, "base");
		text_or_null(j, d->facts[i].base);
		json_key(j, "new");
		text_or_null(j, d->facts[i].now);
		json_map_end(j);
	}
	json_array_end(j);
}

static void fired(struct json *j, const struct diff *d)
{
	json_key_array(j, "fired");
	for (size_t i = 0; i < d->n_fired; i++) {
		json_map(j);
		json_key_text(j, "rule", d->fired[i].rule);
		json_key_text(j, "id", diff_row_name(d->fired[i].row));
		json_key_int(j, "device", d->pairs[d->fired[i].pair].base->number);
		json_map_end(j);
	}
	json_array_end(j);
}

void diff_json(FILE *out, const struct diff *d)
{
	struct json j;

	json_open(&j, out);
	json_map(&j);
	json_key_text(&j, "schema", "gpushim.diff/1");
	sign(&j, d->verdict);
	json_key_text(&j, "reason", d->reason);
	json_key_int(&j, "exit_status", diff_status(d));
	runs(&j, d);
	json_key_array(&j, "rows");
	for (size_t i = 0; i < d->n_pairs; i++)
		for (size_t k = 0; k < DIFF_ROWS; k++)
			row(&j, &d->pairs[i], k);
	json_array_end(&j);
	fired(&j, d);
	json_key_array(&j, "devices");
	for (size_t i = 0; i < d->n_pairs; i++)
		pair(&j, &d->pairs[i]);
	json_array_end(&j);
	environment(&j, d);
	json_map_end(&j);
	json_flush(&j);
	fputc('\n', out);
}
