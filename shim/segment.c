/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apart.h"
#include "clock.h"
#include "file.h"
#include "pages.h"
#include "settings.h"

static uint32_t next_segment;
static uint32_t stopped; /* no more segments */

struct allocation {
	struct segment *segment;
	int rc; /* 0, or an errno of what is in the way */
};

static int allocate(struct segment *s)
{
	uint64_t offset = GST_SEGMENTS_OFFSET + (uint64_t)s->index * GST_SEGMENT_BYTES;
	int fd = -1, rc = file_open_again(&fd);

	if (rc)
		return rc;
	do
		rc = posix_fallocate(fd, (off_t)offset, GST_SEGMENT_BYTES);
	while (rc == EINTR);
	if (rc == 0) {
		s->base = pages_map(fd, offset, GST_SEGMENT_BYTES);
		if (!s->base)
			rc = errno;
	}
	close(fd);
	return rc;
}

static void allocate_apart(void *arg)
{
	struct allocation *a = arg;

	a->rc = allocate(a->segment);
}

/* 0, or an errno. Apart: a thread makes its first segment, and now and then another one, in the middle of the program's work. */
static int allocate_segment(struct segment *s)
{
	struct allocation a = { s, 0 };

	apart_run(allocate_apart, &a);
	return a.rc;
}

static bool within_limit(uint32_t index)
{
	uint64_t end = GST_SEGMENTS_OFFSET + (index + 1ull) * GST_SEGMENT_BYTES;

	return index < GST_SEGMENT_CAPACITY && end <= settings.limit_bytes && file_may_grow_to(end);
}

bool segments_full(void)
{
	return __atomic_load_n(&stopped, __ATOMIC_RELAXED);
}

/* 0, or an errno. */
static int claim(struct segment *out)
{
	struct segment s = { .begin_ticks = clock_ticks() };
	int saved_errno = errno, rc;
	uint32_t next;

	if (!file_is_open() || segments_full())
		return ENOSPC;
	s.index = __atomic_fetch_add(&next_segment, 1, __ATOMIC_SEQ_CST);
	rc = within_limit(s.index) ? allocate_segment(&s) : EFBIG;
	if (rc) { /* its place is given back, unless others were claimed behind it: who tries often uses none up */
		next = s.index + 1;
		__atomic_compare_exchange_n(&next_segment, &next, s.index, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	}
	errno = saved_errno;
	*out = s;
	return rc;
}

bool segment_try(struct segment *out)
{
	return claim(out) == 0;
}

bool segment_claim(struct segment *out)
{
	int rc = claim(out);

	/* Out of descriptors is the program's moment, not ours: the next segment may be had again. */
	if (rc && rc != EMFILE && rc != ENFILE && file_is_open() && !__atomic_exchange_n(&stopped, 1, __ATOMIC_RELAXED))
		settings_log("recording stops: %s", rc == EFBIG ? "the limit is reached" : strerror(rc));
	return rc == 0;
}

void segment_sign(const struct segment *s, uint32_t previous, uint32_t thread_seq)
{
	struct gst_segment_header h = {
		.magic = GST_SEGMENT_MAGIC,
		.index = s->index,
		.tid = (uint32_t)syscall(SYS_gettid),
		.begin_ticks = s->begin_ticks,
		.thread_seq = thread_seq,
		.previous = previous,
	};

	prctl(PR_GET_NAME, h.thread_name);
	h.check = gst_hash32(&h, sizeof(h), offsetof(struct gst_segment_header, check));
	memcpy(s->base, &h, sizeof(h));
	__atomic_store_n((uint32_t *)(file_head() + GST_DIRECTORY_OFFSET) + s->index, gst_directory_check(s->index),
			 __ATOMIC_RELEASE);
}

void segment_release(uint8_t *base)
{
	pages_unmap(base, GST_SEGMENT_BYTES);
}

void segments_forget(void)
{
	next_segment = stopped = 0;
}
