/* SPDX-License-Identifier: BSD-2-Clause */
/* html_report.c: the figures: what `report --json` writes, by the same code, and what the text report says about trust. */
#include "html.h"

#include <stdlib.h>
#include <string.h>

#include "report/report_json.h"
#include "report/report_trust.h"
#include "tools/alloc.h"

#define COLUMNS 100000 /* a sentence is one line */

#define LABEL_BEGIN 2
#define LABEL_END 17

/* "  label          sentence" */
static void sentence(struct json *j, char *line)
{
	char label[LABEL_END - LABEL_BEGIN + 1] = "";
	size_t n = strlen(line);

	if (n <= LABEL_END)
		return;
	memcpy(label, line + LABEL_BEGIN, LABEL_END - LABEL_BEGIN);
	for (size_t i = LABEL_END - LABEL_BEGIN; i > 0 && label[i - 1] == ' '; i--)
		label[i - 1] = 0;
	json_map(j);
	json_key_text(j, "label", label);
	json_key_text(j, "text", line + LABEL_END);
	json_map_end(j);
}

static enum err_kind trust(struct html *h, struct error *e)
{
	const struct report_style style = { .columns = COLUMNS, .utf8 = true, .full = true };
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	const struct page p = { out, &style };

	if (out)
		report_trust(&p, h->s);
	if (!out || fclose(out) != 0) {
		free(text);
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	}
	json_key_array(&h->json, "trust");
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		if (line[0] == ' ')
			sentence(&h->json, line);
	json_array_end(&h->json);
	free(text);
	return ERR_NONE;
}

enum err_kind html_report(struct html *h, struct error *e)
{
	bool *none = array_new(h->s->n_gaps, sizeof(*none));
	const struct report_scope scope = {
		.gaps = none, .stacks = h->stories, .n_stacks = h->n_stories, .page = true
	};
	enum err_kind kind;

	if (!none)
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	json_key(&h->json, "report");
	kind = report_json_object(&h->json, h->s, &scope, e);
	free(none);
	return kind ? kind : trust(h, e);
}
