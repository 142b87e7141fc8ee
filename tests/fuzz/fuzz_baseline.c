/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a baseline: nothing crashes; what is read is written and read again as the same; and compared with itself it is no worse, in whatever
 * form that is told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

#include "common.h"
#include "diff/diff.h"
#include "diff/diff_baseline.h"

struct baseline {
	struct diff_run *runs;
	size_t n;
};

static enum err_kind read_bytes(struct baseline *to, const void *bytes, size_t len)
{
	int fd = memfd_create("fuzz", 0);
	char path[64];
	struct error e = { .kind = ERR_NONE };
	enum err_kind kind;

	require(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	kind = diff_baseline_read(&to->runs, &to->n, path, &e);
	require(kind == ERR_NONE || kind == ERR_FORMAT);
	require(kind == ERR_NONE ? to->n > 0 : !to->runs && e.text[0] && (e.byte <= len || e.byte == ERR_NO_BYTE));
	close(fd);
	return kind;
}

static void release(struct baseline *b)
{
	for (size_t i = 0; i < b->n; i++)
		diff_run_free(&b->runs[i]);
	free(b->runs);
}

static char *text_of(const struct baseline *b, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	struct error e;

	require(out && diff_baseline_write(out, b->runs, b->n, &e) == ERR_NONE && fclose(out) == 0);
	return text;
}

static void check_again(const struct baseline *b)
{
	struct baseline again;
	size_t len, len_again;
	char *text = text_of(b, &len), *text_again;

	require(read_bytes(&again, text, len) == ERR_NONE && again.n == b->n);
	text_again = text_of(&again, &len_again);
	require(len == len_again && memcmp(text, text_again, len) == 0);
	free(text);
	free(text_again);
	release(&again);
}

/* ---- compared ---- */

static void check_rows(const struct diff_device *d)
{
	int64_t step = 0, idle = 0;

	for (size_t i = ROW_LEAVES; i < DIFF_ROWS; i++) {
		step += d->row[i].delta_ns;
		idle += i >= ROW_LEAVES + LEAF_CAUSES ? d->row[i].delta_ns : 0;
	}
	require(step == d->row[ROW_STEP].delta_ns && idle == d->row[ROW_IDLE].delta_ns);
}

static void require_json(const char *text, size_t len)
{
	yajl_handle parser = yajl_alloc(NULL, NULL, NULL);

	require(yajl_parse(parser, (const unsigned char *)text, len) == yajl_status_ok);
	require(yajl_complete_parse(parser) == yajl_status_ok);
	yajl_free(parser);
}

enum form { FORM_JSON, FORM_TEXT, FORM_MD, FORM_JUNIT, FORM_HTML, FORMS };

static void tell(const struct diff *d)
{
	static const struct report_style style = { .columns = 80 };

	for (enum form form = 0; form < FORMS; form++) {
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);

		require(out != NULL);
		if (form == FORM_JSON)
			diff_json(out, d);
		else if (form == FORM_TEXT)
			diff_text(out, d, &style);
		else if (form == FORM_MD)
			diff_md(out, d);
		else if (form == FORM_JUNIT)
			diff_junit(out, d);
		else
			diff_html(out, d);
		require(fclose(out) == 0);
		if (form == FORM_JSON)
			require_json(text, len);
		free(text);
	}
}

static void compare(const struct diff_run *base, size_t n_base, const struct diff_run *now, size_t n_now, bool same)
{
	struct diff_options o = { .seed = 1 };
	struct diff d;
	struct error e;

	require(diff_make(&d, base, n_base, now, n_now, &o, &e) == ERR_NONE);
	for (size_t i = 0; i < d.n_pairs; i++)
		check_rows(&d.pairs[i].compared);
	require(!same || (d.verdict != DIFF_REGRESSED && d.verdict != DIFF_IMPROVED));
	tell(&d);
	diff_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct baseline b;

	if (read_bytes(&b, data, len) != ERR_NONE)
		return 0;
	check_again(&b);
	compare(b.runs, b.n, b.runs, b.n, true);
	if (b.n > 1)
		compare(b.runs, b.n / 2, b.runs + b.n / 2, b.n - b.n / 2, false);
	release(&b);
	return 0;
}
