/* SPDX-License-Identifier: BSD-2-Clause */
/* html_lanes.h: the lanes of the page's timeline. Who knows of something that has a begin and an end puts it on a track, twice: the first time
 * it is counted, so that the level of detail can be chosen, the second time kept (html_lanes_merge.h). A track has one row, and more where its
 * slices overlap; how a kept slice is called is asked for at the end. */
#pragma once

#include "export/export_tracks.h"
#include "html.h"
#include "html_lanes_merge.h"
#include "html_lanes_names.h"
#include "html_lanes_windows.h"

#define LANE_ITEMS 1600000      /* of all rows, at most: so many are some 12 MB. Fewer where the page has much else: */
#define LANE_PAGE_BYTES 19000000 /* so large it may become */
#define LANE_REST_BYTES 3500000  /* of them what comes behind the lanes: texts, and what is around the gaps that are told */
#define LANE_ITEM_BYTES 8
#define LANE_IDLE_ITEMS 1300000 /* of idle time, which comes first: a million gaps, most of one cause, are there one by one */
#define LANE_BUSY_ITEMS 1000000 /* of all other rows; LANE_LEAST_ITEMS where idle time has many */
#define LANE_LEAST_ITEMS 300000
#define LANE_WHOLE_ITEMS 150000 /* besides: around the gaps that are told */
#define LANE_TRACK_ROWS 12 /* what comes then is counted, and not drawn; of all tracks: */
#define LANE_ROWS_DEVICES 700
#define LANE_ROWS_PROCESSES 1100
#define LANE_ROWS 1200

enum lane_kind { LANE_STEPS, LANE_IDLE, LANE_UNRESOLVED, LANE_NCCL, LANE_STREAM, LANE_RANGES, LANE_THREAD, LANE_STATE, LANE_WORKER, LANE_IO };

_Static_assert((int)HTML_CLASSES <= LANE_CLASSES, "lane_merge adds up each class");

struct lanes;
struct lane_track;

struct lane_words { /* what is said of one slice */
	const char *name, *args; /* untrusted text; NULL: what its class is called; nothing */
	char name_room[512], args_room[512];
	uint64_t launched_ns; /* 1 + from its launch until its begin; 0 not known */
	const struct call *launch; const struct trace *launched_by;
};

typedef void lane_describe(const struct lanes *x, const struct lane_track *track, const struct lane_item *item, struct lane_words *w);

struct lane_track {
	char group[256], name[160]; /* untrusted */
	uint64_t order;       /* of the tracks, on the page */
	uint32_t clock;       /* index in ranks.clocks */
	int32_t device;       /* index in summary.devices; -1: none */
	enum lane_kind kind;
	lane_describe *describe; /* NULL: its items are called what their class is */
	const void *of;       /* its: a trace, a task */
	uint32_t (*key)(const void *of); /* slices of one name have one key, below n_keys; NULL: there are too many names */
	size_t n_keys;
};

struct lane_row {
	uint32_t track, place; /* index in lanes.tracks; 0 the first of the track's rows */
	struct lane_levels levels;
	struct lane_merge merge;
	struct lane_names names; /* where it is merged */
	size_t window;           /* the last one met */
	bool hidden;             /* there is no room for it */
};

struct lanes {
	struct html *h;
	struct tracks places; /* like tracks */
	struct lane_track *tracks; size_t n_tracks, cap_tracks;
	struct lane_row *rows; size_t n_rows, cap_rows;
	struct lane_windows windows;
	uint32_t shown, limit; /* rows so far; and at most, until somebody else's turn */
	bool keep, failed;
	uint64_t left_out; /* slices: there was no row for them */
};

#define NO_TRACK SIZE_MAX

/* The track of (owner, id), made like that where it is new; NO_TRACK: there are too many, or no memory (x->failed). */
size_t lanes_track(struct lanes *x, const void *owner, uint64_t id, const struct lane_track *like);
/* Slices of a track come by begin, of equal ones the longest first. Times on the track's clock. NO_TRACK is no place: it is counted. number: of
 * a track of LANE_IO also its weight. */
void lanes_put(struct lanes *x, size_t track, int64_t begin_ns, int64_t end_ns, enum html_class class, const void *of, uint64_t number);

/* ---- who knows: each puts all of its own ---- */

void lanes_device(struct lanes *x, size_t device);   /* html_lanes_device.c */
void lanes_process(struct lanes *x, size_t process); /* html_lanes_process.c: what its threads called, and said */
void lanes_host(struct lanes *x, size_t host);       /* html_lanes_tasks.c: workers; */
void lanes_disks(struct lanes *x, size_t host);      /* html_lanes_disks.c */
/* … what a recorded thread was found doing, by probes or, without, by the recorder's own looks; on a track like that. */
void lanes_doing(struct lanes *x, size_t process, const struct thread_records *r, const struct lane_track *like);

/* Of a file of probes: index in ranks.clocks; a group's name, with the host's where there are several. */
uint32_t lanes_host_clock(const struct lanes *x, size_t host);
void lanes_host_group(char *buf, size_t size, const struct lanes *x, size_t host, const char *what);

/* Order on the page: devices, processes, workers, requests. */
#define LANE_ORDER_PROCESS (UINT64_C(1) << 60)
#define LANE_ORDER_HOST (UINT64_C(2) << 60)
#define LANE_ORDER_REQUESTS (UINT64_C(3) << 60)

/* ---- html_lanes_write.c ---- */

enum err_kind lanes_write(struct lanes *x, struct error *e);
