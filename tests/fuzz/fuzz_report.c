/* SPDX-License-Identifier: BSD-2-Clause */
/* Several traces as one run, sound and damaged ones together, through everything, where launches are folded through what takes them so: what is printed is text, what is JSON is whole and
 * UTF-8, whatever names the traces bring, and the sums hold. Of folded launches the same is said, byte for byte, where
 * no recording contradicts itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "common.h"
#include "consistent.h"
#include "export/export.h"
#include "report/report.h"
#include "run/stacks_name.h"
#include "tests/unit/summary_sound.h"
#include "tools/text.h"

static void require_json(const char *text, size_t len)
{
	yajl_handle parser = yajl_alloc(NULL, NULL, NULL);

	require(yajl_parse(parser, (const unsigned char *)text, len) == yajl_status_ok);
	require(yajl_complete_parse(parser) == yajl_status_ok);
	yajl_free(parser);
}

/* Each line ends in a number, and their sum is the idle time. */
static void require_folded(const char *text, const struct summary *s)
{
	int64_t idle = 0;

	for (size_t i = 0; i < s->n_devices; i++)
		idle += s->devices[i].timeline->idle_ns;
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		const char *end = strchr(line, '\n'), *number = end;

		require(end != NULL);
		while (number > line && number[-1] != ' ')
			number--;
		idle -= atoll(number);
	}
	require(idle == 0);
}

/* Nothing that a terminal would obey, and no half of a character. */
static void require_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		unsigned length = text_utf8(text + i);

		require(length && ((unsigned char)text[i] >= ' ' || text[i] == '\n'));
		i += length;
	}
}

static uint64_t varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		require(*at < end && shift < 64);
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
}

/* The fields of a message fill it, and so do those of the packets, which is all that a trace has, theirs. */
static void require_fields(const uint8_t *at, size_t len, bool trace)
{
	const uint8_t *end = at + len;

	while (at < end) {
		uint64_t tag = varint(&at, end), bytes;

		require(!trace || tag == (1 << 3 | 2));
		if ((tag & 7) == 0) {
			varint(&at, end);
			continue;
		}
		require((tag & 7) == 1 || (tag & 7) == 2);
		bytes = (tag & 7) == 1 ? 8 : varint(&at, end);
		require(bytes <= (uint64_t)(end - at));
		if (trace)
			require_fields(at, bytes, false);
		at += bytes;
	}
}

static void require_packets(const uint8_t *trace, size_t len)
{
	require_fields(trace, len, true);
}

/* The data of a page: whole, and nothing in it ends the element that it stands in. */
static void require_page(const char *text, size_t len)
{
	static const char begins[] = "<script type=\"application/json\" id=\"data\">";
	const char *data = strstr(text, begins), *end = data ? strchr(data + sizeof(begins) - 1, '<') : NULL;

	require(end && strncmp(end, "</script>", 9) == 0 && strlen(text) == len);
	data += sizeof(begins) - 1;
	require(!memchr(data, '>', (size_t)(end - data)) && !memchr(data, '&', (size_t)(end - data)));
	require_json(data, (size_t)(end - data));
}

enum form {
	FORM_JSON,
	FORM_CHROME,
	FORM_PERFETTO,
	FORM_TEXT,
	FORM_FULL,
	FORM_FOLDED,
	FORM_METRICS,
	FORM_HTML,
	FORM_WHY,
	FORMS
};

static enum err_kind write_form(FILE *out, enum form form, const struct summary *s, struct error *e)
{
	struct report_style style = { .columns = 80 };
	enum err_kind kind = ERR_NONE;
	uint64_t left_out;

	switch (form) {
	case FORM_JSON:
		return report_json(out, s, REPORT_ALL, e);
	case FORM_CHROME:
		return export_chrome(out, s, true, &left_out, e);
	case FORM_PERFETTO:
		return export_perfetto(out, s, true, &left_out, e);
	case FORM_FOLDED:
		return export_folded(out, s, e);
	case FORM_METRICS:
		export_metrics(out, s);
		return ERR_NONE;
	case FORM_HTML:
		return report_html(out, s, e);
	case FORM_FULL:
	case FORM_TEXT:
		style.full = form == FORM_FULL;
		return report_text(out, s, &style, REPORT_GAPS, e);
	default:
		for (size_t gap = 0; gap < s->n_gaps && gap < 8 && !kind; gap++)
			kind = report_why(out, s, &style, gap, e);
		return kind;
	}
}

/* It takes longer than all others together: one input in eight. */
static void write_tables(const struct summary *s, size_t len)
{
	uint64_t left_out;
	struct error e;

	require(len % 8 || export_sqlite(":memory:", "memory", s, false, &left_out, &e) == ERR_NONE);
}

/* Does it show no launch by itself? */
static bool takes_folded(enum form form)
{
	return form == FORM_JSON || form == FORM_TEXT || form == FORM_FULL;
}

struct said {
	char *text[FORMS]; /* NULL: not in this form */
	size_t len[FORMS];
	bool consistent; /* what it was said of */
};

static void require_sound(enum form form, const char *text, size_t len, const struct summary *s)
{
	if (form == FORM_JSON || form == FORM_CHROME)
		require_json(text, len);
	else if (form == FORM_PERFETTO)
		require_packets((const uint8_t *)text, len);
	else if (form == FORM_HTML)
		require_page(text, len);
	else
		require_plain(text, len);
	if (form == FORM_FOLDED)
		require_folded(text, s);
}

static void write_all(struct said *said, const struct summary *s, bool folded)
{
	for (enum form form = 0; form < FORMS; form++) {
		struct error e;
		FILE *out;

		if (folded && !takes_folded(form))
			continue;
		out = open_memstream(&said->text[form], &said->len[form]);
		require(out && write_form(out, form, s, &e) == ERR_NONE && fclose(out) == 0);
		require_sound(form, said->text[form], said->len[form], s);
	}
}

/* a: of launches one by one. */
static void require_same(const struct said *a, const struct said *b)
{
	if (!a->consistent || !a->text[FORM_JSON] || !b->text[FORM_JSON])
		return;
	fuzz_compared++;
	for (enum form form = 0; form < FORMS; form++)
		if (takes_folded(form))
			require(a->len[form] == b->len[form] && !memcmp(a->text[form], b->text[form], a->len[form]));
}

static void said_free(struct said *said)
{
	for (enum form form = 0; form < FORMS; form++)
		free(said->text[form]);
}

static void analyse(struct said *said, const struct run *run, size_t len, bool folded)
{
	struct timeline timeline;
	struct summary summary;
	struct error e;

	require(stacks_name(run, NULL, &e) ==
		ERR_NONE); /* no file is read: names in a trace are paths of this machine */
	require(timeline_build(&timeline, run, &e) == ERR_NONE);
	require(summary_build(&summary, &timeline, &e) == ERR_NONE);
	for (size_t i = 0; i < summary.n_devices; i++)
		fuzz_check_device(summary.devices[i].timeline);
	require(summary_unsound(&summary) == NULL);
	write_all(said, &summary, folded);
	if (!folded)
		write_tables(&summary, len);
	summary_free(&summary);
	timeline_free(&timeline);
}

static void open_and_analyse(struct said *said, const struct gst_image *images, size_t n, size_t len, bool folded)
{
	struct trace *traces[FUZZ_TRACES];
	struct host_trace *hosts[FUZZ_TRACES];
	struct run run = { .traces = traces, .hosts = hosts, .count = 1 };
	bool any = !folded;
	struct error e;

	said->consistent = true;
	for (size_t i = 0; i < n; i++) {
		struct trace **t = &traces[run.n_traces];

		if ((folded ? trace_open_mem_folded : trace_open_mem)(t, images[i].bytes, images[i].len, "fuzz.gst",
								      &e) == ERR_NONE) {
			any |= (*t)->launches.folded > 0;
			said->consistent &= folded || trace_is_consistent(*t);
			run.n_traces++;
		} else if (host_trace_open_mem(&hosts[run.n_hosts], images[i].bytes, images[i].len, "fuzz.host.gst",
					       &e) == ERR_NONE) {
			run.n_hosts++;
		}
	}
	if (run.n_traces && any)
		analyse(said, &run, len, folded);
	for (size_t i = 0; i < run.n_traces; i++)
		trace_free(traces[i]);
	for (size_t i = 0; i < run.n_hosts; i++)
		host_trace_free(hosts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct gst_image images[FUZZ_TRACES];
	struct said plain = { 0 }, folded = { 0 };
	size_t n = fuzz_expand(images, data, len);

	open_and_analyse(&plain, images, n, len, false);
	open_and_analyse(&folded, images, n, len, true);
	require_same(&plain, &folded);
	said_free(&plain);
	said_free(&folded);
	for (size_t i = 0; i < n; i++)
		gst_image_free(&images[i]);
	return 0;
}
