/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that had been submitted waited for a host function that its stream was running, or for an event behind another device's work.
 * Work of the same device is none of it: while that runs the device is not idle, and what it takes to hand on is latency. */
#include "cause_rules.h"

#include <inttypes.h>
#include <stdio.h>

#include "ns.h"
#include "text.h"

static void propose_hostfn(const struct gap_view *v, struct findings *out)
{
	const struct op *op = v->hostfn;
	int64_t begin = op ? op->begin_ns : v->gap->begin_ns, end = op ? op->end_ns : v->gap->end_ns;
	struct finding *f;
	char call[256];

	f = findings_add(out, CAUSE_device_dependency, op ? CONFIDENCE_OBSERVED : CONFIDENCE_INFERRED, begin, end);
	chain_submitter(f, v, "a host function ran in the stream");
	evidence_call(call, sizeof(call), op ? op->trace : v->trace, v->gap->hostfn);
	snprintf(f->words->evidence, sizeof(f->words->evidence), "a host function ran in the stream: %s", call);
}

static uint32_t stream_id(const struct trace *t, uint32_t stream)
{
	return stream < t->n_streams ? t->streams[stream].id : 0;
}

/* The work that was waited for: the kernel's name, or the call's. */
static void producer_name(char *buf, size_t size, const struct dependency *d)
{
	const char *kernel = d->producer->name < d->trace->n_kernels ? d->trace->kernels[d->producer->name] : "";

	if (d->producer->family != GST_FAMILY_LAUNCH || !*kernel)
		kernel = call_name(d->trace, d->producer);
	text_clean(buf, size, kernel, 64);
}

static void propose_wait(const struct gap_view *v, struct findings *out, int64_t begin, int64_t end,
			 enum confidence confidence)
{
	const struct dependency *d = &v->gap->depends;
	const struct trace *t = d->trace;
	struct finding *f;
	char name[96];

	if (end <= begin)
		return;
	f = findings_add(out, CAUSE_device_dependency, confidence, begin, end);
	chain_submitter(f, v, "its work waited for device %u", t->streams[d->stream].device);
	producer_name(name, sizeof(name), d);
	snprintf(f->words->evidence, sizeof(f->words->evidence),
		 "stream %u waited for event 0x%" PRIx64 " behind %s in stream %u of device %u (wait at byte %" PRIu64
		 ")",
		 stream_id(t, d->wait->stream), d->wait->args[0], name, stream_id(t, d->stream),
		 t->streams[d->stream].device, d->wait->byte);
}

/* From the submission's return to the producer's end. It is proven as far as the producer was provably still at it; where its end is known
 * late only, it may have taken until then. */
static void propose_event(const struct gap_view *v, struct findings *out)
{
	const struct dependency *d = &v->gap->depends;
	int64_t begin = max64(v->gap->begin_ns, v->submit->end_ns);
	int64_t end = min64(v->gap->end_ns, middle64(d->earliest_end_ns, d->latest_end_ns));

	propose_wait(v, out, begin, end, d->earliest_end_ns > begin ? CONFIDENCE_OBSERVED : CONFIDENCE_INFERRED);
	propose_wait(v, out, max64(begin, end), min64(v->gap->end_ns, d->latest_end_ns), CONFIDENCE_INFERRED);
}

void cause_device_dependency(const struct gap_view *v, struct findings *out)
{
	if (v->gap->hostfn && v->trace)
		propose_hostfn(v, out);
	if (v->gap->depends.producer && v->submit)
		propose_event(v, out);
}
