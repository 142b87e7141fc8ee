/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sink.h: where a timeline goes, event by event: a table of functions for each format. One walk (export_walk.h) feeds them all, so
 * every format has the same processes, tracks, slices, arrows and counters.
 * Times are nanoseconds from the first event, all hosts on one clock; no slice begins before its track is named, slices of a track come by
 * begin, and an arrow's first end comes before its second. Texts are untrusted. What cannot be written stays in the FILE (ferror). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flow_end {
	FLOW_NONE,
	FLOW_FROM, /* the arrow begins at this slice */
	FLOW_TO,
};

struct sink_slice {
	const char *category, *name;
	uint32_t pid, tid;
	int64_t begin_ns, end_ns;
	enum flow_end end;
	uint64_t flow; /* the arrow's number: two slices have it */
};

struct sink_process {
	uint32_t pid;
	const char *name;
	int64_t order;
	bool device;      /* of whose tracks none is a thread; pid is no process's, then */
};

struct sink {
	/* base_ns: when the first event was, by the clock of the reference host; real_ns: on the calendar, 0 not known */
	void (*open)(void *to, int64_t base_ns, int64_t real_ns);
	void (*process)(void *to, const struct sink_process *p);
	void (*track)(void *to, uint32_t pid, uint32_t tid, const char *name, int64_t order);
	void (*slice_begin)(void *to, const struct sink_slice *s); /* its arguments follow, then slice_end */
	void (*slice_end)(void *to);
	void (*bytes)(void *to, uint32_t pid, const char *name, int64_t at_ns, const char *const *keys, const int64_t *values,
		      size_t n); /* a counter, of what it is made of */
	void (*arg_int)(void *to, const char *key, int64_t value);
	/* A number by which readers of Kineto's files find what belongs together; where tracks and arrows say it, it can be left out. */
	void (*arg_link)(void *to, const char *key, int64_t value);
	void (*arg_ns)(void *to, const char *key, int64_t ns); /* key is without a unit: the format's own is added */
	void (*arg_double)(void *to, const char *key, double value);
	void (*arg_text)(void *to, const char *key, const char *text);
	void (*arg_shape)(void *to, const uint32_t grid[3], uint32_t threads); /* of a launch: blocks, and threads of each */
	void (*arg_texts)(void *to, const char *key, const char *const *texts, size_t n);
	bool (*close)(void *to); /* false: memory was short */
};
