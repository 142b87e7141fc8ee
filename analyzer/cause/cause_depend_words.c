/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_depend_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "gap/gap_view.h"
#include "tools/text_symbol.h"

#define NAME_COLUMNS 64

uint32_t depend_stream_id(const struct trace *t, uint32_t stream)
{
	return stream < t->n_streams ? t->streams[stream].id : 0;
}

static void condition_words(char *buf, size_t size, const struct call *wait)
{
	switch (wait->detail & GST_VALUE_KIND) {
	case GST_VALUE_GEQ:
		snprintf(buf, size, " to be %" PRIu64 " or more", wait->args[1]);
		break;
	case GST_VALUE_EQ:
		snprintf(buf, size, " to be %" PRIu64, wait->args[1]);
		break;
	case GST_VALUE_AND:
		snprintf(buf, size, " to have a bit of 0x%" PRIx64, wait->args[1]);
		break;
	case GST_VALUE_NOR:
		snprintf(buf, size, " to lack a bit of 0x%" PRIx64, wait->args[1]);
		break;
	default:
		*buf = 0;
	}
}

void depend_wait_words(char *buf, size_t size, const struct call *wait)
{
	char condition[64];

	if (wait->family != GST_FAMILY_MEMOP) {
		snprintf(buf, size, "event 0x%" PRIx64, wait->args[0]);
		return;
	}
	condition_words(condition, sizeof(condition), wait);
	snprintf(buf, size, "%s 0x%" PRIx64 "%s", wait->detail & GST_VALUE_SEMAPHORE ? "semaphore" : "the value at",
		 wait->args[0], condition);
}

static void node_words(char *buf, size_t size, const struct dependency *d)
{
	const char *kernel = kernel_title(d->trace, d->node->name);

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
		text_symbol(buf, size, *kernel ? kernel : "a node", NAME_COLUMNS);
		break;
	default:
		snprintf(buf, size, "a node of memory operations or conditions");
		break;
	}
}

void depend_producer_words(char *buf, size_t size, const struct dependency *d)
{
	const char *kernel = kernel_title(d->trace, d->producer->name);

	if (d->kind == DEPEND_NODE) {
		node_words(buf, size, d);
		return;
	}
	if (d->kind == DEPEND_HOSTFN)
		kernel = "a host function";
	else if (d->kind != DEPEND_WORK || d->producer->family != GST_FAMILY_LAUNCH || !*kernel)
		kernel = call_name(d->trace, d->producer);
	text_symbol(buf, size, kernel, NAME_COLUMNS);
}
