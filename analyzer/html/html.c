/* SPDX-License-Identifier: BSD-2-Clause */
#include "html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/report_head.h"
#include "tools/alloc.h"
#include "tools/progress.h"

/* In this order: what gaps' stories name, the report has to bring; and lanes take the room that the others leave. */
static enum err_kind (*const parts[])(struct html *h, struct error *e) = {
	html_gaps, html_report, html_steps, html_ranks, html_flame, html_memory, html_lanes,
};

/* ---- what cannot end a script element ---- */

/* '<', '>' and '&' occur only within texts of JSON, where \u003c says the same. */
static ssize_t escape(void *file, const char *bytes, size_t n)
{
	struct html_out *under = file;
	FILE *out = under->out;
	size_t done = 0;

	under->bytes += n;

	while (done < n) {
		size_t plain = 0;

		while (done + plain < n && !strchr("<>&", bytes[done + plain]))
			plain++;
		fwrite(bytes + done, 1, plain, out);
		done += plain;
		if (done < n)
			fprintf(out, "\\u%04x", (unsigned)(unsigned char)bytes[done++]);
	}
	return ferror(out) ? 0 : (ssize_t)n; /* fopencookie: never -1 */
}

uint64_t html_written(struct html *h)
{
	json_flush(&h->json);
	fflush(h->json.file);
	return h->under.bytes;
}

/* ---- the object ---- */

static void classes(struct json *j)
{
	static const struct {
		const char *id, *title, *kind, *light, *dark, *pattern;
	} all[HTML_CLASSES] = {
#define CLASS(name, id, title, kind, light, dark, pattern) [HTML_##name] = { id, title, kind, light, dark, pattern },
#define CAUSE_CLASS(cause, light, dark, pattern) \
	[HTML_CAUSES + CAUSE_##cause] = { NULL, NULL, "idle", light, dark, pattern },
#include "html_classes.def"
	};

	json_key_array(j, "classes");
	for (int i = 0; i < HTML_CLASSES; i++) {
		bool cause = i >= HTML_CAUSES;

		json_map(j);
		json_key_text(j, "id", cause ? cause_name((enum cause_id)(i - HTML_CAUSES)) : all[i].id);
		json_key_text(j, "title", cause ? cause_title((enum cause_id)(i - HTML_CAUSES)) : all[i].title);
		json_key_text(j, "kind", all[i].kind);
		json_key_text(j, "light", all[i].light);
		json_key_text(j, "dark", all[i].dark);
		json_key_text(j, "pattern", all[i].pattern);
		if (cause)
			json_key_text(j, "advice", cause_advice((enum cause_id)(i - HTML_CAUSES)));
		json_map_end(j);
	}
	json_array_end(j);
}

static void head(struct html *h)
{
	struct json *j = &h->json;
	char text[1200], number[24];

	json_key_text(j, "schema", "gpushim.page/1");
	json_key_text(j, "version", GPUSHIM_VERSION);
	snprintf(number, sizeof(number), "%" PRId64, h->zero_ns); /* may be more than a double holds */
	json_key_text(j, "zero_ns", number);
	json_key_uint(j, "span_ns", h->span_ns);
	json_key_text(j, "title", h->s->run->n_traces ? report_title(text, sizeof(text), h->s, 300) : "");
	json_key_text(j, "subtitle", h->s->run->n_traces ? report_subtitle(text, h->s) : "");
	classes(j);
}

static enum err_kind object(struct html *h, struct error *e)
{
	enum err_kind kind = ERR_NONE;

	json_map(&h->json);
	head(h);
	progress_begin(PROGRESS_PAGE, sizeof(parts) / sizeof(parts[0]) + 2 * LANES_PASS);
	for (size_t i = 0; !kind && i < sizeof(parts) / sizeof(parts[0]); i++) {
		kind = parts[i](h, e);
		progress_add(1);
	}
	if (kind)
		return kind;
	json_key(&h->json, "strings");
	if (!html_strings_write(&h->strings, &h->json))
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	json_key(&h->json, "short");
	html_shorts_write(&h->strings, &h->json);
	json_map_end(&h->json);
	return ERR_NONE;
}

/* ---- the page ---- */

static void asset(FILE *out, struct html_asset a)
{
	fwrite(a.bytes, 1, a.n, out);
}

enum err_kind report_html(FILE *out, const struct summary *s, struct error *e)
{
	struct html h = { .s = s, .told = array_new(s->n_gaps, sizeof(bool)), .under = { out, 0 } };
	FILE *inside = fopencookie(&h.under, "w", (cookie_io_functions_t){ .write = escape });
	enum err_kind kind;

	if (!inside || !h.told) {
		if (inside)
			fclose(inside);
		free(h.told);
		free(h.stories);
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	}
	html_set_time(&h);
	asset(out, html_head());
	json_open(&h.json, inside);
	h.json.shown = true;
	kind = object(&h, e);
	fclose(inside); /* what could not be written shows in out */
	html_strings_free(&h.strings);
	free(h.told);
	free(h.stories);
	if (!kind)
		asset(out, html_tail());
	return kind;
}
