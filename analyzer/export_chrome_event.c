/* SPDX-License-Identifier: BSD-2-Clause */
#include "export_chrome_event.h"

#include <inttypes.h>

#include "text.h"

void number_us(struct chrome *x, const char *key, int64_t ns)
{
	char digits[40];

	snprintf(digits, sizeof(digits), "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
	json_key(&x->json, key);
	json_number(&x->json, digits);
}

int64_t since_zero(const struct chrome *x, int64_t ns)
{
	return ranks_drawn_ns(&x->s->ranks, x->clock, ns) - x->zero_ns;
}

static void event_begin(struct chrome *x, const char *ph, const char *cat, const char *name, uint32_t pid, uint32_t tid)
{
	struct json *j = &x->json;
	char clean[1024];

	fputs(x->first ? "\n" : ",\n", x->out);
	x->first = false;
	json_next(j);
	json_map(j);
	json_key_text(j, "ph", ph);
	if (cat)
		json_key_text(j, "cat", cat);
	json_key_text(j, "name", text_clean(clean, sizeof(clean), name, sizeof(clean)));
	json_key_int(j, "pid", pid);
	json_key_int(j, "tid", tid);
}

void slice_begin(struct chrome *x, const char *cat, const char *name, uint32_t pid, uint32_t tid, int64_t begin,
		 int64_t end)
{
	event_begin(x, "X", cat, name, pid, tid);
	number_us(x, "ts", since_zero(x, begin));
	number_us(x, "dur", since_zero(x, end) - since_zero(x, begin));
	json_key_map(&x->json, "args");
}

void counter_begin(struct chrome *x, const char *name, uint32_t pid, int64_t at)
{
	event_begin(x, "C", NULL, name, pid, 0);
	number_us(x, "ts", since_zero(x, at));
	json_key_map(&x->json, "args");
}

static void event_end(struct chrome *x)
{
	json_map_end(&x->json);
}

void slice_end(struct chrome *x)
{
	json_map_end(&x->json);
	event_end(x);
}

static void metadata(struct chrome *x, const char *what, uint32_t pid, uint32_t tid, const char *key, const char *text,
		     int64_t number)
{
	char clean[512];

	event_begin(x, "M", NULL, what, pid, tid);
	number_us(x, "ts", 0);
	json_key_map(&x->json, "args");
	if (text)
		json_key_text(&x->json, key, text_clean(clean, sizeof(clean), text, 200));
	else
		json_key_int(&x->json, key, number);
	slice_end(x);
}

void name_process(struct chrome *x, uint32_t pid, const char *name, int64_t order)
{
	metadata(x, "process_name", pid, 0, "name", name, 0);
	metadata(x, "process_sort_index", pid, 0, "sort_index", NULL, order);
}

void name_thread(struct chrome *x, uint32_t pid, uint32_t tid, const char *name, int64_t order)
{
	metadata(x, "thread_name", pid, tid, "name", name, 0);
	metadata(x, "thread_sort_index", pid, tid, "sort_index", NULL, order);
}

void flow(struct chrome *x, const char *ph, uint32_t pid, uint32_t tid, int64_t at, uint64_t id)
{
	event_begin(x, ph, "ac2g", "ac2g", pid, tid);
	number_us(x, "ts", since_zero(x, at));
	json_key_int(&x->json, "id", (int64_t)id);
	if (*ph == 'f')
		json_key_text(&x->json, "bp", "e");
	event_end(x);
}

uint32_t place(struct chrome *x, const void *owner, uint64_t id, uint32_t pid, uint32_t tid, const char *name,
	       bool nest, int64_t *begin, int64_t *end)
{
	bool new_track, new_lane;
	struct track *track = tracks_find(&x->tracks, owner, id, tid, &new_track);
	struct lane *lane = track ? track_lane(&x->tracks, track, nest, begin, end, &new_lane) : NULL;
	char beside[160];

	if (!lane) {
		x->failed = true;
		return 0;
	}
	if (new_track)
		name_thread(x, pid, tid, name, tid);
	if (new_lane) {
		snprintf(beside, sizeof(beside), "%.120s (overlapping)", name);
		name_thread(x, pid, lane->tid, beside, tid);
	}
	return lane->tid;
}

bool wanted(const struct chrome *x, int64_t begin, int64_t end)
{
	size_t low = 0, high = x->around.n;

	if (x->all)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (x->around.at[middle].end_ns < begin)
			low = middle + 1;
		else
			high = middle;
	}
	return low < x->around.n && x->around.at[low].begin_ns <= end;
}
