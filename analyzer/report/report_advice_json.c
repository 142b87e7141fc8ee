/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_advice.h"

static void next(struct json *j, double ceiling, const char *name, int64_t ns)
{
	json_key_double(j, "ceiling", ceiling);
	json_key_text(j, "next", name);
	json_key_int(j, "next_ns", ns);
}

static void loss(struct json *j, const struct summary_device *d, const struct recovery *r, const struct recoverable *x)
{
	json_map(j);
	json_key_int(j, "device", d->number);
	json_key_text(j, "id", recover_name(x->id));
	json_key_int(j, "span_ns", recovery_span(r));
	json_key_int(j, "steps", (int64_t)r->n_steps);
	json_key_int(j, "lost_ns", x->lost_ns);
	json_key_int(j, "observed_ns", x->observed_ns);
	json_key_int(j, "likely_ns", x->likely_ns);
	json_key_int(j, "recoverable_ns", x->recoverable_ns);
	next(j, x->ceiling, x->next, x->next_ns);
	json_map_end(j);
}

static void figure(struct json *j, const struct figure *f)
{
	switch (f->kind) {
	case FIGURE_TEXT:
		json_key_text(j, f->name, f->text);
		break;
	case FIGURE_REAL:
	case FIGURE_SHARE:
		json_key_double(j, f->name, f->real);
		break;
	default:
		json_key_int(j, f->name, f->n);
		break;
	}
}

static void piece(struct json *j, const struct summary *s, const struct advice *a)
{
	json_map(j);
	json_key_text(j, "id", advice_name(a));
	json_key_text(j, "cause", recover_name(a->about));
	json_key_int(j, "device", s->devices[a->device].number);
	json_key_array(j, "covers");
	for (int i = 0; i < RECOVER_COUNT; i++)
		if (a->covers & (uint64_t)1 << i)
			json_text(j, recover_name((enum recover_id)i));
	json_array_end(j);
	json_key_int(j, "lost_ns", a->lost_ns);
	json_key_int(j, "recoverable_ns", a->recoverable_ns);
	json_key_double(j, "observed", a->lost_ns > 0 ? (double)a->observed_ns / (double)a->lost_ns : 0);
	next(j, a->ceiling, a->next, a->next_ns);
	json_key_text(j, "why", a->why);
	json_key_text(j, "text", a->what);
	json_key_map(j, "figures");
	for (size_t i = 0; i < a->n_figures; i++)
		figure(j, &a->figures[i]);
	json_map_end(j);
	json_key_array(j, "evidence");
	for (size_t i = 0; i < a->n_evidence; i++)
		json_text(j, a->evidence[i]);
	json_array_end(j);
	json_map_end(j);
}

enum err_kind report_advice_json(struct json *j, const struct summary *s, struct error *e)
{
	struct advices list;
	enum err_kind kind = advices_build(&list, s, e);

	if (kind)
		return kind;
	json_key_text(j, "framework", framework_name(list.framework));
	json_key_array(j, "recoverable");
	for (size_t i = 0; i < list.n_devices; i++)
		for (size_t k = 0; k < list.devices[i].n; k++)
			loss(j, &s->devices[i], &list.devices[i], &list.devices[i].of[list.devices[i].order[k]]);
	json_array_end(j);
	json_key_array(j, "advice");
	for (size_t i = 0; i < list.n; i++)
		piece(j, s, &list.at[i]);
	json_array_end(j);
	advices_free(&list);
	return ERR_NONE;
}
