/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <string.h>

struct family {
	const char *word;
	uint8_t family;
	uint8_t flags;
	const char *hook;
};

static const struct family families[] = {
	{ "launch", GST_FAMILY_LAUNCH, GST_SUBMISSION, "cuLaunchKernel" },
	{ "copy", GST_FAMILY_COPY, GST_SUBMISSION, "cuMemcpyAsync" },
	{ "memset", GST_FAMILY_MEMSET, GST_SUBMISSION, "cuMemsetD8Async" },
	{ "hostfn", GST_FAMILY_HOSTFN, GST_SUBMISSION, "cuLaunchHostFunc" },
	{ "graph", GST_FAMILY_GRAPH_LAUNCH, GST_SUBMISSION, "cuGraphLaunch" },
	{ "sync-stream", GST_FAMILY_SYNC_STREAM, 0, "cuStreamSynchronize" },
	{ "sync-context", GST_FAMILY_SYNC_CONTEXT, 0, "cuCtxSynchronize" },
	{ "sync-event", GST_FAMILY_SYNC_EVENT, 0, "cuEventSynchronize" },
	{ "query-stream", GST_FAMILY_QUERY_STREAM, 0, "cuStreamQuery" },
	{ "query-event", GST_FAMILY_QUERY_EVENT, 0, "cuEventQuery" },
	{ "record", GST_FAMILY_EVENT_RECORD, 0, "cuEventRecord" },
	{ "wait", GST_FAMILY_STREAM_WAIT, 0, "cuStreamWaitEvent" },
	{ "alloc", GST_FAMILY_ALLOC, 0, "cuMemAlloc_v2" },
	{ "free", GST_FAMILY_FREE, 0, "cuMemFree_v2" },
	{ "host-alloc", GST_FAMILY_HOST_ALLOC, 0, "cuMemHostAlloc" },
	{ "host-free", GST_FAMILY_HOST_FREE, 0, "cuMemFreeHost" },
	{ "pool", GST_FAMILY_POOL, 0, "cuMemAllocAsync" },
	{ "vmm", GST_FAMILY_VMM, 0, "cuMemCreate" },
	{ "module", GST_FAMILY_MODULE, 0, "cuModuleLoadData" },
	{ "context", GST_FAMILY_CONTEXT, 0, "cuCtxCreate_v2" },
	{ "event", GST_FAMILY_EVENT, 0, "cuEventCreate" },
	{ "change", GST_FAMILY_GRAPH_CHANGE, 0, "cuGraphExecKernelNodeSetParams_v2" },
	{ "memop", GST_FAMILY_MEMOP, 0, "cuStreamWaitValue32_v2" },
	{ "write", GST_FAMILY_WRITE_VALUE, 0, "cuStreamWriteValue32_v2" },
	{ "other", GST_FAMILY_OTHER, 0, "cuDeviceGetAttribute" },
};

static const char *const value_kinds[] = { "unknown", "geq", "eq", "and", "nor", "written", NULL }; /* enum gst_value */

static uint16_t value_detail(struct parser *p, unsigned kind)
{
	return (uint16_t)(word_choice(p, word_value(p, "until"), value_kinds, kind) |
			  (word_flag(p, "bits64") ? GST_VALUE_64 : 0) |
			  (word_flag(p, "semaphore") ? GST_VALUE_SEMAPHORE : 0) |
			  (word_flag(p, "more") ? GST_VALUE_MORE : 0));
}

static void add_call(struct parser *p, const struct family *f)
{
	const char *hook = word_value(p, "hook");
	struct gst_call r = { .seq = (uint32_t)word_number(p, "seq", 0),
			      .family = f->family,
			      .flags = f->flags,
			      .result = (int32_t)word_number(p, "result", 0),
			      .stream = (uint32_t)word_number(p, "stream", GST_NONE),
			      .device = (uint16_t)word_number(p, "device", 0) };

	word_span(p, &r.begin, &r.end);
	if (f->family == GST_FAMILY_COPY)
		r.detail = (uint16_t)word_choice(p, word_value(p, "kind"), word_copy_kinds, GST_COPY_UNKNOWN);
	r.flags |= word_flag(p, "blocking") ? GST_BLOCKING : 0;
	r.flags |= word_flag(p, "captured") ? GST_CAPTURED : 0;
	r.name = record_name(p, GST_SPACE_KERNEL, word_value(p, "kernel"));
	r.hook = (uint16_t)record_name(p, GST_SPACE_HOOK, hook ? hook : f->hook);
	r.args[0] = word_number(p, "event", word_number(p, "context", word_number(p, "pointer", 0)));
	r.args[1] = word_number(p, "bytes", word_number(p, "value", 0));
	if (f->family == GST_FAMILY_MEMOP || f->family == GST_FAMILY_WRITE_VALUE)
		r.detail = value_detail(p, f->family == GST_FAMILY_MEMOP ? 0 : GST_VALUE_WRITTEN);
	if (f->family == GST_FAMILY_COPY || f->family == GST_FAMILY_MEMSET) {
		r.args[0] = word_number(p, "bytes", 4096);
		r.args[1] = word_number(p, "pointer", 0);
	}
	if (f->family == GST_FAMILY_POOL)
		r.name = (uint32_t)word_number(p, "pool", 0);
	if (f->family == GST_FAMILY_GRAPH_LAUNCH) {
		r.name = (uint32_t)word_number(p, "structure", 0);
		r.args[0] = word_number(p, "exec", 9);
	}
	if (f->family == GST_FAMILY_GRAPH_CHANGE) {
		r.seq = (uint32_t)word_number(p, "structure", 0);
		r.args[0] = word_number(p, "node", 0);
		r.detail = word_flag(p, "off") ? GST_CHANGE_OFF : word_flag(p, "on") ? GST_CHANGE_ON : 0;
	}
	record_add(p, GST_CALL, &r, sizeof(r));
}

bool text_call(struct parser *p)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (strcmp(p->words[0], families[i].word) == 0) {
			add_call(p, &families[i]);
			return true;
		}
	}
	return false;
}
