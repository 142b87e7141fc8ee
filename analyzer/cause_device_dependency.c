/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that had been submitted waited for a host function, for another device's work or for a value that was written late, which stood before it in
 * its stream or in one that it waited for (depend.h). Work of the same device is none of it: while that runs the device is not idle, and what it takes to hand on is latency.
 * Until the submission had returned, whoever was late with it is to blame, whatever the work would have waited for besides. */
#include "cause_rules.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ns.h"
#include "text.h"

static uint32_t stream_id(const struct trace *t, uint32_t stream)
{
	return stream < t->n_streams ? t->streams[stream].id : 0;
}

static uint32_t device_of(const struct dependency *d)
{
	return d->stream < d->trace->n_streams ? d->trace->streams[d->stream].device : 0;
}

/* The work that was waited for: the kernel's name, or the call's. */
static void producer_name(char *buf, size_t size, const struct dependency *d)
{
	const char *kernel = d->producer->name < d->trace->n_kernels ? d->trace->kernels[d->producer->name] : "";

	if (d->kind == DEPEND_HOSTFN) {
		snprintf(buf, size, "a host function");
		return;
	}
	if (d->kind != DEPEND_WORK || d->producer->family != GST_FAMILY_LAUNCH || !*kernel)
		kernel = call_name(d->trace, d->producer);
	text_clean(buf, size, kernel, 64);
}

__attribute__((format(printf, 3, 4))) static void append(char *buf, size_t size, const char *format, ...)
{
	size_t used = strlen(buf);
	va_list args;

	va_start(args, format);
	vsnprintf(buf + used, size - used, format, args);
	va_end(args);
}

/* "event 0x5", "0x1000 to be 3 or more" */
static void tell_wait(char *buf, size_t size, const struct call *wait)
{
	if (wait->family != GST_FAMILY_MEMOP) {
		append(buf, size, "event 0x%" PRIx64, wait->args[0]);
		return;
	}
	append(buf, size, "%s 0x%" PRIx64, wait->detail & GST_VALUE_SEMAPHORE ? "semaphore" : "the value at",
	       wait->args[0]);
	switch (wait->detail & GST_VALUE_KIND) {
	case GST_VALUE_GEQ:
		append(buf, size, " to be %" PRIu64 " or more", wait->args[1]);
		break;
	case GST_VALUE_EQ:
		append(buf, size, " to be %" PRIu64, wait->args[1]);
		break;
	case GST_VALUE_AND:
		append(buf, size, " to have a bit of 0x%" PRIx64, wait->args[1]);
		break;
	case GST_VALUE_NOR:
		append(buf, size, " to lack a bit of 0x%" PRIx64, wait->args[1]);
		break;
	}
}

/* "stream 3 waited for event 0x7 in stream 2, which waited for event 0x5 behind " */
static void tell_waits(char *buf, size_t size, const struct dependency *d)
{
	const struct call *last = d->n_waits ? d->waits[d->n_waits - 1] : NULL;

	for (uint32_t i = 0; i < d->n_waits; i++) {
		if (i == 0)
			append(buf, size, "stream %u", stream_id(d->trace, d->waits[i]->stream));
		else
			append(buf, size, " in stream %u, which", stream_id(d->trace, d->waits[i]->stream));
		append(buf, size, " waited for ");
		tell_wait(buf, size, d->waits[i]);
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
	const struct dependency *d = &v->gap->depends;
	char *buf = f->words->evidence;
	size_t size = sizeof(f->words->evidence);

	chain_submitter(f, v, "its work waited for a value");
	append(buf, size, "stream %u waited for ", stream_id(d->trace, d->stream));
	tell_wait(buf, size, d->producer);
	append(buf, size,
	       " (wait at byte %" PRIu64
	       "); who wrote that is not on record: the host, a kernel, a copy or another process",
	       d->producer->byte);
}

/* What a node is that held others up. */
static void node_name(char *buf, size_t size, const struct dependency *d)
{
	const char *kernel = d->node->name < d->trace->n_kernels ? d->trace->kernels[d->node->name] : "";

	switch (d->node->type) {
	case NODE_HOST:
		snprintf(buf, size, "a host node");
		break;
	case NODE_WAIT_EVENT:
		snprintf(buf, size, "a node that waits for event 0x%" PRIx64, d->node->arg);
		break;
	case NODE_SEMAPHORE_WAIT:
		snprintf(buf, size, "a node that waits for a semaphore");
		break;
	case NODE_KERNEL:
	case NODE_COPY:
	case NODE_MEMSET:
		text_clean(buf, size, *kernel ? kernel : "a node", 64);
		break;
	default:
		snprintf(buf, size, "a node of memory operations or conditions");
		break;
	}
}

static void tell_node(struct finding *f, const struct gap_view *v)
{
	const struct dependency *d = &v->gap->depends;
	char *buf = f->words->evidence, name[96], call[256];
	size_t size = sizeof(f->words->evidence);

	node_name(name, sizeof(name), d);
	evidence_call(call, sizeof(call), d->trace, d->producer);
	chain_submitter(
		f, v, graph_node_stalls(d->node) ? "a graph's node stood still" : "its work waited for another device");
	append(buf, size, "by the graph's edges the work stood behind %s", name);
	if (!graph_node_stalls(d->node))
		append(buf, size, " on device %u", graph_node_device(d->node, device_of(d)));
	append(buf, size, ", launched in stream %u: %s", stream_id(d->trace, d->stream), call);
}

static void tell(struct finding *f, const struct gap_view *v)
{
	const struct dependency *d = &v->gap->depends;
	char *buf = f->words->evidence, name[96], call[256];
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
		chain_submitter(f, v, "a host function ran in the stream");
		append(buf, size, "a host function ran in the stream: %s", call);
		return;
	}
	producer_name(name, sizeof(name), d);
	if (d->kind == DEPEND_HOSTFN)
		chain_submitter(f, v, "its work waited for a host function");
	else if (d->kind == DEPEND_WRITE)
		chain_submitter(f, v, "its work waited for a value");
	else
		chain_submitter(f, v, "its work waited for device %u", device_of(d));
	tell_waits(buf, size, d);
	append(buf, size, "%s in stream %u of device %u", name, stream_id(d->trace, d->stream), device_of(d));
	if (d->n_waits)
		append(buf, size, " (wait at byte %" PRIu64 ")", d->waits[0]->byte);
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
	const struct dependency *d = &v->gap->depends;
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
