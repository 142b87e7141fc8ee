/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_devices.c: each device's part of a summary: its causes, and what is made of them, side by side. */
#include "summary_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "cause/estimate_cause.h"
#include "tools/alloc.h"
#include "tools/pool.h"
#include "tools/text.h"
#include "trace/one_device.h"

/* ---- what is known of it ---- */

static void set_identity(struct summary_device *s)
{
	const uint8_t *u = s->timeline->device.uuid;

	text_clean(s->name, sizeof(s->name), s->timeline->device.name, sizeof(s->name));
	if (!device_has_uuid(&s->timeline->device))
		return; /* not known: "" */
	snprintf(s->uuid, sizeof(s->uuid), "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static void set_times(struct summary_device *s)
{
	const struct device_timeline *d = s->timeline;

	s->span_ns = d->end_ns - d->begin_ns;
	s->before_ns = d->begin_ns > d->process_start_ns ? d->begin_ns - d->process_start_ns : 0;
	s->h2d_pageable_ns = d->copy_ns[GST_COPY_H2D_PAGEABLE];
	s->h2d_pinned_ns = d->copy_ns[GST_COPY_H2D_PINNED];
	s->d2h_ns = d->copy_ns[GST_COPY_D2H_PAGEABLE] + d->copy_ns[GST_COPY_D2H_PINNED];
	s->peer_ns = d->copy_ns[GST_COPY_PEER];
	/* What is of no other kind moved by the device's own engines as well. */
	s->d2d_ns = d->copy_ns[GST_COPY_D2D] + d->copy_ns[GST_COPY_UNKNOWN] + d->copy_ns[GST_COPY_H2H];
	s->memset_ns = d->memset_ns;
	s->copy_exposed_ns = s->h2d_pageable_ns + s->h2d_pinned_ns + s->d2h_ns + s->peer_ns + s->d2d_ns + s->memset_ns;
}

/* Processes that see different devices may all call theirs 0. */
static void number_devices(struct summary *s)
{
	bool clash = false;

	for (size_t i = 0; i < s->n_devices; i++) {
		s->devices[i].number = s->timeline->devices[i].device.device;
		for (size_t k = 0; k < i; k++)
			clash |= s->devices[k].number == s->devices[i].number;
	}
	for (size_t i = 0; clash && i < s->n_devices; i++)
		s->devices[i].number = (uint32_t)i;
}

/* ---- causes, and what is made of them ---- */

static enum err_kind add_attributions(struct summary *s, struct error *e)
{
	enum err_kind kind = ERR_NONE;

	for (size_t i = 0; i < s->timeline->n_devices && !kind; i++) {
		struct summary_device *d = &s->devices[i];

		d->timeline = &s->timeline->devices[i];
		kind = attribution_build(&d->attribution, d->timeline, &s->threads, e);
		if (kind)
			return kind;
		s->n_devices++;
	}
	return kind;
}

static enum err_kind add_steps(struct summary *s, struct error *e)
{
	enum err_kind kind = ERR_NONE;

	for (size_t i = 0; i < s->n_devices && !kind; i++) {
		struct summary_device *d = &s->devices[i];

		kind = device_phases_steps(&d->phases, d->timeline, &d->attribution, &s->steps, e);
	}
	return kind;
}

static enum err_kind add_ranges(struct summary *s, struct error *e)
{
	enum err_kind kind = ERR_NONE;

	for (size_t i = 0; i < s->n_devices && !kind; i++)
		kind = device_phases_ranges(&s->devices[i].phases, &s->devices[i].attribution, &s->ranges, e);
	return kind;
}

/* What the ranks say of each other. */
static enum err_kind add_ranks(struct summary *s, struct error *e)
{
	const struct attribution **attributions = array_new(s->n_devices, sizeof(*attributions));
	enum err_kind kind;

	if (!attributions)
		return err_no_memory(e, "");
	for (size_t i = 0; i < s->n_devices; i++)
		attributions[i] = &s->devices[i].attribution;
	kind = ranks_build(&s->ranks, s->timeline, &s->threads, attributions, e);
	free(attributions);
	return kind;
}

static enum err_kind add_estimates(struct summary *s, struct error *e)
{
	enum err_kind kind = ERR_NONE;

	for (size_t i = 0; i < s->n_devices && !kind; i++)
		kind = estimate_causes(s->devices[i].unresolved_causes, s->devices[i].timeline, &s->threads, e);
	return kind;
}

typedef enum err_kind add_part(struct summary *s, struct error *e);

/* None of which needs another; what takes long first. */
static add_part *const parts[] = { add_steps, add_ranges, add_ranks, add_estimates };

static enum err_kind build_part(void *summary, size_t part, struct error *e)
{
	return parts[part](summary, e);
}

static void add_numbers(struct summary *s)
{
	for (size_t i = 0; i < s->n_devices; i++) {
		struct summary_device *d = &s->devices[i];

		d->startup_ns = d->phases.startup_ns;
		d->shutdown_ns = d->phases.shutdown_ns;
		d->first_gap = s->n_gaps;
		s->n_gaps += d->attribution.n_gaps;
		s->operations_unlinked += d->timeline->operations_unlinked;
		s->operations_lost += d->timeline->operations_lost;
		s->measured_unlinked += d->timeline->measured_unlinked;
		d->rank = s->ranks.devices[i].rank;
		d->comm_wait_ns = s->ranks.devices[i].wait_ns;
		d->comm_transfer_ns = s->ranks.devices[i].transfer_ns;
		d->comm_unsplit_ns = s->ranks.devices[i].unsplit_ns;
		d->memory = memory_of(&s->memory, d->timeline->trace, &d->timeline->device);
		set_identity(d);
		set_times(d);
	}
	number_devices(s);
}

enum err_kind summary_devices(struct summary *s, struct error *e)
{
	enum err_kind kind;

	s->devices = array_new(s->timeline->n_devices, sizeof(*s->devices));
	if (!s->devices)
		return err_no_memory(e, "");
	kind = add_attributions(s, e);
	if (!kind)
		kind = pool_run(sizeof(parts) / sizeof(parts[0]), build_part, s, e);
	if (!kind)
		add_numbers(s);
	return kind;
}
