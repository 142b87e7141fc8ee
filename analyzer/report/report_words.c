/* SPDX-License-Identifier: BSD-2-Clause */
/* report_words.c: what the sentences of `info` are made of. */
#include "report_words.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report_info.h"
#include "tools/text.h"

#define LABEL 13
#define SHORT_NS 2000000000 /* within that, the time of day says nothing */

void words_say(struct words *w, enum ink ink, const char *format, ...)
{
	char text[1024], clean[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(w->page->out, "  %-*s", LABEL, w->label);
	page_wrap(w->page, ink, LABEL + 2, LABEL + 2, text_clean(clean, sizeof(clean), text, sizeof(clean)));
	w->label = "";
	w->any = true;
}

int64_t words_from_ns(const struct trace *t)
{
	return t->from_ns > t->begin_ns ? t->from_ns : t->begin_ns;
}

int64_t words_until_ns(const struct trace *t)
{
	return t->end_ns < t->cut_ns ? t->end_ns : t->cut_ns;
}

char *words_time_of_day(char buf[64], const struct trace *t, int64_t ns, const char *day)
{
	report_time_of_day(buf, t->header.start_real_ns + ((uint64_t)ns - t->header.start_mono_ns));
	if (day && strlen(buf) > 11 && strncmp(buf, day, 11) == 0)
		memmove(buf, buf + 11, strlen(buf + 11) + 1);
	return buf;
}

/* The head says which zone it is. */
static void without_zone(char *text)
{
	size_t n = strlen(text);

	if (n > 4 && strcmp(text + n - 4, " UTC") == 0)
		text[n - 4] = '\0';
}

const char *words_moment(char buf[64], const struct trace *t, int64_t ns)
{
	char day[64], length[TEXT_SHORT];

	if (words_until_ns(t) - t->begin_ns < SHORT_NS || (t->imported && !t->header.start_real_ns))
		snprintf(buf, 64, "%s after its begin", text_duration(length, ns - t->begin_ns));
	else
		without_zone(words_time_of_day(buf, t, ns, words_time_of_day(day, t, t->begin_ns, NULL)));
	return buf;
}

const char *words_number(char buf[48], uint64_t n, const char *one, const char *many)
{
	char count[TEXT_SHORT];

	snprintf(buf, 48, "%s %s", text_count(count, n), n == 1 ? one : many);
	return buf;
}

static int by_tid(const void *key, const void *thread)
{
	uint32_t tid = *(const uint32_t *)key, other = ((const struct thread *)thread)->tid;

	return (tid > other) - (tid < other);
}

static void note_caller(const struct trace *t, bool *calls, uint32_t tid)
{
	const struct thread *at = bsearch(&tid, t->threads, t->n_threads, sizeof(*t->threads), by_tid);

	if (at)
		calls[at - t->threads] = true;
}

uint64_t words_calling_threads(const struct trace *t)
{
	bool *calls = calloc(t->n_threads + 1, sizeof(*calls));
	uint64_t n = 0;

	for (size_t i = 0; calls && i < t->n_calls; i++)
		note_caller(t, calls, t->calls[i].tid);
	for (size_t i = 0; calls && i < t->n_nccl; i++)
		if (!(t->nccl[i].flags & GST_NCCL_OURS))
			note_caller(t, calls, t->nccl[i].tid);
	for (size_t i = 0; calls && i < t->n_threads; i++)
		n += calls[i];
	free(calls);
	return n;
}

const char *words_ranges(const struct trace *t)
{
	return t->imported && strcmp(t->imported->tool, "kineto") == 0 ? "user annotations" : "NVTX ranges";
}

const char *words_boundary(uint8_t known_by)
{
	static const char *const names[] = {
		[BOUNDARY_NONE] = "nothing exact",
		[BOUNDARY_EDGE] = "a timing event",
		[BOUNDARY_BLOCKING_RETURN] = "the return of a blocking call",
		[BOUNDARY_QUERY] = "the program's own query",
		[BOUNDARY_POLL] = "a query of the recorder",
		[BOUNDARY_MEASURED] = "the device's own record of its work",
	};

	return names[known_by];
}
