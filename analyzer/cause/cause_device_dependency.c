/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that had been submitted waited for a host function, for another device's work or for a value that was written late, which stood before it in
 * its stream or in one that it waited for (depend.h). Work of the same device is none of it: while that runs the device is not idle, and what it takes to hand on is latency.
 * Until the submission had returned, whoever was late with it is to blame, whatever the work would have waited for besides. */
#include "cause_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cause_depend_words.h"
#include "import/import.h"
#include "tools/ns.h"

static uint32_t device_of(const struct dependency *d)
{
	return d->stream < d->trace->n_streams ? d->trace->streams[d->stream].device : 0;
}

__attribute__((format(printf, 3, 4))) static void append(char *buf, size_t size, const char *format, ...)
{
	size_t used = strlen(buf);
	va_list args;

	va_start(args, format);
	vsnprintf(buf + used, size - used, format, args);
	va_end(args);
}

/* "stream 3 waited for event 0x7 in stream 2, which waited for event 0x5 behind " */
static void tell_waits(char *buf, size_t size, const struct dependency *d)
{
	const struct call *last = d->n_waits ? d->waits[d->n_waits - 1] : NULL;
	char what[128];

	for (uint32_t i = 0; i < d->n_waits; i++) {
		if (i == 0)
			append(buf, size, "stream %u", depend_stream_id(d->trace, d->waits[i]->stream));
		else
			append(buf, size, " in stream %u, which", depend_stream_id(d->trace, d->waits[i]->stream));
		depend_wait_words(what, sizeof(what), d->waits[i]);
		append(buf, size, " waited for %s", what);
	}
	if (!last)
		append(buf, size, "the legacy default stream's order put the work behind ");
	else if (last->family == GST_FAMILY_MEMOP)
		append(buf, size, d->kind == DEPEND_WRITE ? ", written by " : ", written behind ");
	else
		append(buf, size, " behind ");
}

static void tell_unwritten(struct finding *f, const struct gap_view *v)
{
	const struct dependency *d = gap_depends(v->gap);
	char what[128], place[PLACE_TEXT];

	depend_wait_words(what, sizeof(what), d->producer);
	chain_submitter_in(f, v, "its work waited for a value", "");
	snprintf(
		f->words->evidence, sizeof(f->words->evidence),
		"stream %u waited for %s (wait at %s); who wrote that is not on record: the host, a kernel, a copy or another process",
		depend_stream_id(d->trace, d->stream), what,
		import_place_text(place, sizeof(place), d->trace, d->producer->byte));
}

static void tell_node(struct finding *f, const struct gap_view *v)
{
	const struct dependency *d = gap_depends(v->gap);
	char *buf = f->words->evidence, name[96], call[256];
	size_t size = sizeof(f->words->evidence);

	depend_producer_words(name, sizeof(name), d);
	evidence_call(call, sizeof(call), d->trace, d->producer);
	chain_submitter(
		f, v, graph_node_stalls(d->node) ? "a graph's node stood still" : "its work waited for another device");
	append(buf, size, "by the graph's edges the work stood behind %s", name);
	if (!graph_node_stalls(d->node))
		append(buf, size, " on device %u", graph_node_device(d->node, device_of(d)));
	append(buf, size, ", launched in stream %u: %s", depend_stream_id(d->trace, d->stream), call);
}

static void tell(struct finding *f, const struct gap_view *v)
{
	const struct dependency *d = gap_depends(v->gap);
	char *buf = f->words->evidence, name[96], call[256], place[PLACE_TEXT];
	size_t size = sizeof(f->words->evidence);

	buf[0] = 0;
	if (d->kind == DEPEND_UNWRITTEN) {
		tell_unwritten(f, v);
		return;
	}
	if (d->kind == DEPEND_NODE) {
		tell_node(f, v);
		return;
	}
	evidence_call(call, sizeof(call), d->trace, d->producer);
	if (d->kind == DEPEND_HOSTFN && !d->n_waits && d->stream == v->submit->stream) {
		chain_submitter_in(f, v, "a host function ran in the stream", "");
		append(buf, size, "a host function ran in the stream: %s", call);
		return;
	}
	depend_producer_words(name, sizeof(name), d);
	if (d->kind == DEPEND_HOSTFN)
		chain_submitter_in(f, v, "its work waited for a host function", "");
	else if (d->kind == DEPEND_WRITE)
		chain_submitter_in(f, v, "its work waited for a value", "");
	else
		chain_submitter(f, v, "its work waited for device %u", device_of(d));
	tell_waits(buf, size, d);
	append(buf, size, "%s in stream %u of device %u", name, depend_stream_id(d->trace, d->stream), device_of(d));
	if (d->n_waits)
		append(buf, size, " (wait at %s)",
		       import_place_text(place, sizeof(place), d->trace, d->waits[0]->byte));
	if (d->kind != DEPEND_WORK)
		append(buf, size, ": %s", call);
}

static void propose(const struct gap_view *v, struct findings *out, int64_t begin, int64_t end,
		    enum confidence confidence)
{
	if (end > begin)
		tell(findings_add(out, CAUSE_device_dependency, confidence, begin, end), v);
}

/* From the submission's return to the producer's end. It is proven as far as the producer was provably still at it; where its end is known
 * late only, it may have taken until then: the work was ready, and nothing else is known that it waited for. */
void cause_device_dependency(const struct gap_view *v, struct findings *out)
{
	const struct dependency *d = gap_depends(v->gap);
	int64_t begin, end;

	if (!d->kind || !v->submit)
		return;
	begin = max64(v->gap->begin_ns, v->submit->end_ns);
	end = min64(v->gap->end_ns, d->end_ns);
	propose(v, out, begin, end,
		d->placed || d->earliest_end_ns > begin ? CONFIDENCE_OBSERVED : CONFIDENCE_INFERRED);
	begin = max64(begin, end);
	end = min64(v->gap->end_ns, d->latest_end_ns);
	if (!d->placed || since64(end, begin) > gap_view_latency_ns(v)) /* less is what an edge is off by */
		propose(v, out, begin, end, CONFIDENCE_INFERRED);
}
