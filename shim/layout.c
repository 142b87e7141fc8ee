/* SPDX-License-Identifier: BSD-2-Clause */
#include "layout.h"

#include <string.h>
#include <sys/resource.h>

bool layout_may_grow_to(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

void layout_mark_recycled(uint8_t *head)
{
	uint64_t *version_and_check = (uint64_t *)(void *)(head + offsetof(struct gst_file_header, version));
	struct gst_file_header h;

	if ((uint32_t)__atomic_load_n(version_and_check, __ATOMIC_RELAXED) == GST_VERSION_RECYCLED)
		return;
	memcpy(&h, head, sizeof(h.magic));
	memcpy(&h.segment_bytes, head + offsetof(struct gst_file_header, segment_bytes),
	       sizeof(h) - offsetof(struct gst_file_header, segment_bytes));
	h.version = GST_VERSION_RECYCLED;
	h.check = gst_hash32(&h, sizeof(h), offsetof(struct gst_file_header, check));
	__atomic_store_n(version_and_check, h.version | (uint64_t)h.check << 32, __ATOMIC_SEQ_CST);
}

static uint32_t *directory_entry(uint8_t *head, uint32_t index)
{
	return (uint32_t *)(void *)(head + GST_DIRECTORY_OFFSET) + index;
}

void layout_sign(uint8_t *head, uint8_t *segment, struct gst_segment_header *h)
{
	h->check = gst_hash32(h, sizeof(*h), offsetof(struct gst_segment_header, check));
	memcpy(segment, h, sizeof(*h));
	__atomic_store_n(directory_entry(head, h->index), gst_directory_check(h->index), __ATOMIC_RELEASE);
}

void layout_blank(uint8_t *head, uint8_t *segment, uint32_t index)
{
	__atomic_store_n(directory_entry(head, index), 0, __ATOMIC_RELEASE);
	__sync_synchronize(); /* an atomic store alone lets what follows pass it, but on x86-64 */
	memset(segment, 0, sizeof(struct gst_segment_header));
	__sync_synchronize(); /* whoever sees any of the rest changed must see the header gone */
	memset(segment + sizeof(struct gst_segment_header), 0, GST_SEGMENT_BYTES - sizeof(struct gst_segment_header));
}

void layout_each_record(const uint8_t *segment, void (*f)(const struct gst_record *r, void *arg), void *arg)
{
	uint32_t at = sizeof(struct gst_segment_header);

	while (at + sizeof(struct gst_record) <= GST_SEGMENT_BYTES) {
		const struct gst_record *r = (const struct gst_record *)(const void *)(segment + at);

		if (!r->check && !r->size) { /* room that an append was taken out of: more may stand behind */
			at += sizeof(*r);
			continue;
		}
		/* The program may have written over it: then the rest is no record of ours. */
		if (r->check != gst_record_check(r->type, r->size, at) || r->size < sizeof(*r) || r->size % 8 ||
		    r->size > GST_SEGMENT_BYTES - at)
			return;
		if (r->commit == GST_COMMIT)
			f(r, arg);
		at += r->size;
	}
}
