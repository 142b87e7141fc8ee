/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_work.c: kernels, copies and memsets of devices. */
#include <string.h>

#include "import_kineto_parts.h"
#include "tools/spill.h"

bool kineto_is_work(enum kineto_class class)
{
	return class == KINETO_KERNEL || class == KINETO_COPY || class == KINETO_MEMSET;
}

static bool says(struct import_text text, const char *word)
{
	return memmem(text.at, text.bytes, word, strlen(word)) != NULL;
}

/* CUPTI's words, then HIP's and oneAPI's. A is an array, which lies on the device. "Memcpy HtoD (Pageable -> Device)" says which kind of memory; where it
 * does not, it is not called pageable: that would be advice on nothing. */
static const struct {
	const char *word;
	enum gst_copy_kind kind, pageable;
} copies[] = {
	{ "HtoD", GST_COPY_H2D_PINNED, GST_COPY_H2D_PAGEABLE },
	{ "DtoH", GST_COPY_D2H_PINNED, GST_COPY_D2H_PAGEABLE },
	{ "DtoD", GST_COPY_D2D, GST_COPY_D2D },
	{ "PtoP", GST_COPY_PEER, GST_COPY_PEER },
	{ "HtoA", GST_COPY_H2D_PINNED, GST_COPY_H2D_PAGEABLE },
	{ "AtoH", GST_COPY_D2H_PINNED, GST_COPY_D2H_PAGEABLE },
	{ "AtoA", GST_COPY_D2D, GST_COPY_D2D },
	{ "AtoD", GST_COPY_D2D, GST_COPY_D2D },
	{ "DtoA", GST_COPY_D2D, GST_COPY_D2D },
	{ "HtoH", GST_COPY_H2H, GST_COPY_H2H },
	{ "HostToDevice", GST_COPY_H2D_PINNED, GST_COPY_H2D_PAGEABLE },
	{ "DeviceToHost", GST_COPY_D2H_PINNED, GST_COPY_D2H_PAGEABLE },
	{ "DeviceToDevice", GST_COPY_D2D, GST_COPY_D2D },
	{ "PeerToPeer", GST_COPY_PEER, GST_COPY_PEER },
	{ "HostToHost", GST_COPY_H2H, GST_COPY_H2H },
	{ "M2D", GST_COPY_H2D_PINNED, GST_COPY_H2D_PAGEABLE },
	{ "H2D", GST_COPY_H2D_PINNED, GST_COPY_H2D_PAGEABLE },
	{ "D2M", GST_COPY_D2H_PINNED, GST_COPY_D2H_PAGEABLE },
	{ "D2H", GST_COPY_D2H_PINNED, GST_COPY_D2H_PAGEABLE },
	{ "D2D", GST_COPY_D2D, GST_COPY_D2D },
};

enum gst_copy_kind kineto_copy_kind(struct import_text name)
{
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		if (says(name, copies[i].word))
			return says(name, "Pageable") ? copies[i].pageable : copies[i].kind;
	return GST_COPY_UNKNOWN;
}

static uint64_t said_or(const struct kineto_event *e, enum kineto_field field, uint64_t otherwise)
{
	return e->said >> field & 1 ? kineto_number(e, field) : otherwise;
}

/* "stream 7", 7. */
uint64_t kineto_drawn(const struct kineto_event *e)
{
	static const char drawn[] = "stream ";
	const size_t n = sizeof(drawn) - 1;
	uint64_t stream = 0;

	if (e->tid.bytes <= n || memcmp(e->tid.at, drawn, n) != 0)
		return kineto_number(e, KINETO_FIELD_TID);
	for (size_t i = n; i < e->tid.bytes && e->tid.at[i] >= '0' && e->tid.at[i] <= '9'; i++)
		stream = 10 * stream + (uint64_t)(e->tid.at[i] - '0');
	return stream;
}

/* The stream is what the event says, else where it was drawn. */
static uint64_t stream_of(const struct kineto_event *e)
{
	uint64_t stream = said_or(e, KINETO_FIELD_STREAM, said_or(e, KINETO_FIELD_QUEUE, IMPORT_NO_STREAM));

	return stream != IMPORT_NO_STREAM || !(e->said & KINETO_SAID(TID)) ? stream : kineto_drawn(e);
}

bool kineto_work(struct kineto *k, const struct kineto_event *e, struct kineto_name name, int64_t begin_ns,
		 int64_t end_ns)
{
	uint64_t device = said_or(e, KINETO_FIELD_DEVICE, IMPORT_NO_DEVICE);
	uint32_t process = kineto_process(k, e);

	if (process == KINETO_NO_PROCESS || !spill_room(k->works, k->n_works, k->works_cap))
		return false;
	k->works[k->n_works++] = (struct kineto_work){
		.work = {
			.place = e->place,
			.begin_ns = begin_ns,
			.end_ns = end_ns,
			.device = device < IMPORT_NO_DEVICE ? (uint32_t)device : IMPORT_NO_DEVICE,
			.stream = stream_of(e),
			.context = said_or(e, KINETO_FIELD_CONTEXT, 0),
			.correlation = said_or(e, KINETO_FIELD_CORRELATION, 0),
			.bytes = said_or(e, KINETO_FIELD_BYTES, 0),
			.node = said_or(e, KINETO_FIELD_NODE, 0),
			.name = name.number,
			.kind = e->class == KINETO_KERNEL ? GST_ACTIVITY_KERNEL :
				e->class == KINETO_COPY	  ? GST_ACTIVITY_COPY :
							    GST_ACTIVITY_MEMSET,
			.copy = name.copy,
		},
		.process = process,
	};
	return true;
}
