/* SPDX-License-Identifier: BSD-2-Clause */
/* export_chrome.c: the timeline as Chrome trace JSON. Perfetto shows it, and tools made for Kineto's files take it: one event per line, the
 * names and fields Kineto uses, times in microseconds with three decimals from the first event. Arrows are fields of the slices that they
 * begin and end at (flow_out, flow_in; bind_id): half the bytes of events of their own. */
#include "export.h"

#include <inttypes.h>

#include "export_walk.h"
#include "tools/json.h"
#include "tools/text.h"

struct chrome {
	struct json json;
	FILE *out;
	const struct summary *s;
	bool first;
};

static void number_us(struct chrome *x, const char *key, int64_t ns)
{
	char digits[40];

	snprintf(digits, sizeof(digits), "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
	json_key(&x->json, key);
	json_number(&x->json, digits);
}

static void device_properties(struct chrome *x)
{
	struct json *j = &x->json;

	json_array(j);
	for (size_t i = 0; i < x->s->n_devices; i++) {
		const struct summary_device *d = &x->s->devices[i];

		json_map(j);
		json_key_int(j, "id", d->number);
		json_key_text(j, "name", d->name);
		json_key_int(j, "totalGlobalMem", (int64_t)(d->timeline->device.memory_bytes & INT64_MAX));
		json_map_end(j);
	}
	json_array_end(j);
}

static void chrome_open(void *to, int64_t base_ns, int64_t real_ns)
{
	struct chrome *x = to;

	(void)base_ns;
	/* Readers look for "rank": with the space; the generator writes none. */
	fputs("{\"schemaVersion\": 1,\n\"distributedInfo\": {\"backend\": \"none\", \"rank\": 0, \"world_size\": 1},\n",
	      x->out);
	fprintf(x->out,
		"\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %" PRId64 ",\n\"deviceProperties\": ", real_ns);
	device_properties(x);
	fputs(",\n\"traceEvents\": [", x->out);
	x->first = true;
}

static bool chrome_close(void *to)
{
	struct chrome *x = to;

	fputs("\n]}\n", x->out);
	return true;
}

static void event_begin(struct chrome *x, const char *ph, const char *category, const char *name, uint32_t pid,
			uint32_t tid, int64_t at_ns)
{
	struct json *j = &x->json;
	char clean[1024];

	fputs(x->first ? "\n" : ",\n", x->out);
	x->first = false;
	json_next(j);
	json_map(j);
	json_key_text(j, "ph", ph);
	if (category)
		json_key_text(j, "cat", category);
	json_key_text(j, "name", text_clean(clean, sizeof(clean), name, sizeof(clean)));
	json_key_int(j, "pid", pid);
	json_key_int(j, "tid", tid);
	number_us(x, "ts", at_ns);
}

/* After the last argument. */
static void event_end(struct chrome *x)
{
	json_map_end(&x->json);
	json_map_end(&x->json);
}

static void metadata(struct chrome *x, const char *what, uint32_t pid, uint32_t tid, const char *key, const char *text,
		     int64_t number)
{
	char clean[512];

	event_begin(x, "M", NULL, what, pid, tid, 0);
	json_key_map(&x->json, "args");
	if (text)
		json_key_text(&x->json, key, text_clean(clean, sizeof(clean), text, 200));
	else
		json_key_int(&x->json, key, number);
	event_end(x);
}

static void chrome_process(void *to, const struct sink_process *p)
{
	metadata(to, "process_name", p->pid, 0, "name", p->name, 0);
	metadata(to, "process_sort_index", p->pid, 0, "sort_index", NULL, p->order);
}

static void chrome_track(void *to, uint32_t pid, uint32_t tid, const char *name, int64_t order)
{
	metadata(to, "thread_name", pid, tid, "name", name, 0);
	metadata(to, "thread_sort_index", pid, tid, "sort_index", NULL, order);
}

static void chrome_slice_begin(void *to, const struct sink_slice *s)
{
	struct chrome *x = to;

	event_begin(x, "X", s->category, s->name, s->pid, s->tid, s->begin_ns);
	number_us(x, "dur", s->end_ns - s->begin_ns);
	if (s->end != FLOW_NONE) {
		json_key_int(&x->json, "bind_id", (int64_t)s->flow);
		json_key(&x->json, s->end == FLOW_FROM ? "flow_out" : "flow_in");
		json_bool(&x->json, true);
	}
	json_key_map(&x->json, "args");
}

static void chrome_slice_end(void *to)
{
	event_end(to);
}

static void chrome_bytes(void *to, uint32_t pid, const char *name, int64_t at_ns, const char *const *keys,
			 const int64_t *values, size_t n)
{
	struct chrome *x = to;

	event_begin(x, "C", NULL, name, pid, 0, at_ns);
	json_key_map(&x->json, "args");
	for (size_t i = 0; i < n; i++)
		json_key_int(&x->json, keys[i], values[i]);
	event_end(x);
}

static void chrome_int(void *to, const char *key, int64_t value)
{
	json_key_int(&((struct chrome *)to)->json, key, value);
}

static void chrome_ns(void *to, const char *key, int64_t ns)
{
	char with_unit[64];

	snprintf(with_unit, sizeof(with_unit), "%s_us", key);
	number_us(to, with_unit, ns);
}

static void chrome_double(void *to, const char *key, double value)
{
	json_key_double(&((struct chrome *)to)->json, key, value);
}

static void chrome_text(void *to, const char *key, const char *text)
{
	json_key_text(&((struct chrome *)to)->json, key, text);
}

static void chrome_shape(void *to, const uint32_t grid[3], uint32_t threads)
{
	struct json *j = &((struct chrome *)to)->json;

	json_key_array(j, "grid");
	for (size_t i = 0; i < 3; i++)
		json_int(j, grid[i]);
	json_array_end(j);
	json_key_int(j, "threads", threads);
}

static void chrome_texts(void *to, const char *key, const char *const *texts, size_t n)
{
	struct json *j = &((struct chrome *)to)->json;

	json_key_array(j, key);
	for (size_t i = 0; i < n; i++)
		json_text(j, texts[i]);
	json_array_end(j);
}

static const struct sink chrome_sink = {
	.open = chrome_open,
	.process = chrome_process,
	.track = chrome_track,
	.slice_begin = chrome_slice_begin,
	.slice_end = chrome_slice_end,
	.bytes = chrome_bytes,
	.arg_int = chrome_int,
	.arg_link = chrome_int,
	.arg_ns = chrome_ns,
	.arg_double = chrome_double,
	.arg_text = chrome_text,
	.arg_shape = chrome_shape,
	.arg_texts = chrome_texts,
	.close = chrome_close,
};

enum err_kind export_chrome(FILE *out, const struct summary *s, bool all, uint64_t *left_out, struct error *e)
{
	struct chrome x = { .out = out, .s = s };

	json_open(&x.json, out);
	return export_walk(&chrome_sink, &x, s, all, left_out, e);
}
