/* SPDX-License-Identifier: BSD-2-Clause */
#include "cupti_record.h"

#include "clock.h"
#include "cupti_buffers.h"
#include "cupti_link.h"
#include "file.h"
#include "names.h"

#define LEAST_ERROR_NS \
	500 /* the device's timestamps have steps of 0.5 us at worst; of its own error CUPTI says nothing */

static const struct cupti_api *api;
static struct thread *reader;

/* Of CUPTI's own clock against CLOCK_MONOTONIC, where it takes no other. */
static struct {
	bool used;
	bool known;
	uint64_t offset_ns; /* to be added */
	uint64_t error_ns;
} own_clock;

static uint64_t worst_ns; /* contradiction between a record and the host's own times so far */

void cupti_record_start(const struct cupti_api *functions, bool clock_is_own)
{
	api = functions;
	own_clock.used = clock_is_own;
}

/* The tightest of a few pairs; what it moved since the last time is error. */
static void compare_clocks(void)
{
	uint64_t best_ns = UINT64_MAX, offset_ns = 0, theirs, moved;

	for (int i = 0; own_clock.used && i < 4; i++) {
		uint64_t before = clock_mono_ns(), width;

		if (api->cuptiGetTimestamp(&theirs) != CUPTI_SUCCESS)
			return;
		width = clock_mono_ns() - before;
		if (width < best_ns) {
			best_ns = width;
			offset_ns = before + width / 2 - theirs;
		}
	}
	if (!own_clock.used)
		return;
	moved = own_clock.known ? offset_ns - own_clock.offset_ns : 0;
	own_clock.error_ns = best_ns / 2 + ((int64_t)moved < 0 ? -moved : moved);
	own_clock.offset_ns = offset_ns;
	own_clock.known = true;
}

static uint32_t error_now(void)
{
	uint64_t ns =
		(worst_ns > LEAST_ERROR_NS ? worst_ns : LEAST_ERROR_NS) + (own_clock.used ? own_clock.error_ns : 0);

	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static void contradicts_by(uint64_t ns)
{
	worst_ns = ns > worst_ns ? ns : worst_ns;
}

static void write_one(struct thread *t, struct gst_activity *a, uint32_t correlation)
{
	struct cupti_submission s;
	uint64_t now_ns;

	if (!a->begin_ns ||
	    a->end_ns < a->begin_ns) { /* not measured, for lack of the device's memory, or not over yet */
		__atomic_fetch_add(&file_counters()->activities_dropped, 1, __ATOMIC_RELAXED);
		return;
	}
	if (own_clock.used) {
		a->begin_ns += own_clock.offset_ns;
		a->end_ns += own_clock.offset_ns;
	}
	a->stream = GST_NONE;
	if (cupti_link_get(correlation, &s)) {
		a->stream = s.stream;
		a->seq = s.seq;
		if (!a->node)
			a->device = s.device;
		if (a->begin_ns < s.entered_ns)
			contradicts_by(s.entered_ns - a->begin_ns);
	}
	now_ns = clock_mono_ns(); /* once: what is ahead of one reading is behind the next */
	if (a->end_ns > now_ns)
		contradicts_by(a->end_ns - now_ns);
	a->error_ns = error_now();
	ring_append(&t->ring, GST_ACTIVITY, sizeof(*a), a);
}

static void write_kernel(struct thread *t, const struct cupti_kernel *k)
{
	struct gst_activity a = { .kind = GST_ACTIVITY_KERNEL,
				  .begin_ns = k->start,
				  .end_ns = k->end,
				  .device = (uint16_t)k->device,
				  .node = k->graph_node,
				  .name = k->name ? names_kernel_set(t, k->name, k->name) : 0 };

	write_one(t, &a, k->correlation);
}

static enum gst_copy_kind kind_of_copy(uint8_t kind, uint8_t source, uint8_t destination)
{
	switch (kind) {
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
		return source == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE ? GST_COPY_H2D_PAGEABLE : GST_COPY_H2D_PINNED;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
		return destination == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE ? GST_COPY_D2H_PAGEABLE : GST_COPY_D2H_PINNED;
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
		return GST_COPY_D2D;
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
		return GST_COPY_H2H;
	case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
		return GST_COPY_PEER;
	}
	return GST_COPY_UNKNOWN;
}

static void write_copy(struct thread *t, const struct cupti_copy *c)
{
	struct gst_activity a = { .kind = GST_ACTIVITY_COPY,
				  .begin_ns = c->start,
				  .end_ns = c->end,
				  .device = (uint16_t)c->device,
				  .node = c->graph_node,
				  .bytes = c->bytes };

	a.copy = (uint8_t)kind_of_copy(c->copy_kind, c->source_kind, c->destination_kind);
	write_one(t, &a, c->correlation);
}

static void write_peer_copy(struct thread *t, const struct cupti_peer_copy *c)
{
	struct gst_activity a = { .kind = GST_ACTIVITY_COPY,
				  .begin_ns = c->start,
				  .end_ns = c->end,
				  .device = (uint16_t)c->device,
				  .node = c->graph_node,
				  .bytes = c->bytes,
				  .copy = GST_COPY_PEER };

	write_one(t, &a, c->correlation);
}

static void write_memset(struct thread *t, const struct cupti_memset *m)
{
	struct gst_activity a = { .kind = GST_ACTIVITY_MEMSET,
				  .begin_ns = m->start,
				  .end_ns = m->end,
				  .device = (uint16_t)m->device,
				  .node = m->graph_node,
				  .bytes = m->bytes };

	write_one(t, &a, m->correlation);
}

static void write_record(struct thread *t, const struct cupti_record *r)
{
	switch (r->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		write_kernel(t, (const void *)r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		write_copy(t, (const void *)r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		write_peer_copy(t, (const void *)r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		write_memset(t, (const void *)r);
		break;
	}
}

static void count_dropped(void)
{
	size_t dropped = 0;

	if (api->cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped)
		__atomic_fetch_add(&file_counters()->activities_dropped, dropped, __ATOMIC_RELAXED);
}

bool cupti_record_all(struct thread *t)
{
	struct thread *none = NULL;
	uint8_t *buffer;
	size_t bytes;

	if (!__atomic_compare_exchange_n(&reader, &none, t, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	compare_clocks();
	while ((buffer = cupti_buffers_next(&bytes))) {
		struct cupti_record *r = NULL;

		while (api->cuptiActivityGetNextRecord(buffer, bytes, &r) == CUPTI_SUCCESS)
			write_record(t, r);
		cupti_buffers_free(buffer);
	}
	count_dropped();
	__atomic_store_n(&reader, NULL, __ATOMIC_RELEASE);
	return true;
}

void cupti_record_forget(void)
{
	reader = NULL;
}
