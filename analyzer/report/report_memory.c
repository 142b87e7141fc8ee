/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_memory.h"

#include <inttypes.h>
#include <stdarg.h>

#include "gap/gap_view.h"
#include "tools/text.h"

#define INDENT 4
#define DEVICES 4 /* that are listed */
#define STORIES 2 /* the last ones that failed */
#define RANGES 4  /* of each: those with most free */
#define BAR 32    /* columns */

static void say(const struct page *p, enum ink ink, unsigned indent, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void say(const struct page *p, enum ink ink, unsigned indent, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(p->out, "%*s", (int)indent, "");
	page_wrap(p, ink, indent, indent, text);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* ---- a range, drawn ----------------------------------------------------------------------------------------------------- */

struct drawn {
	const struct memory_piece *pieces;
	size_t n;
	uint64_t bytes, free, largest;
	size_t holes;
};

static struct drawn measure(const struct memory_piece *pieces, size_t n)
{
	struct drawn r = { .pieces = pieces, .n = n };

	for (size_t i = 0; i < n; i++) {
		bool is_free = pieces[i].state == MEMORY_FREE;

		r.bytes += pieces[i].bytes;
		r.free += is_free ? pieces[i].bytes : 0;
		r.holes += is_free;
		r.largest = is_free && pieces[i].bytes > r.largest ? pieces[i].bytes : r.largest;
	}
	return r;
}

/* Each column is what most of its bytes are. */
static void draw(const struct page *p, const struct drawn *r)
{
	size_t at = 0;

	for (unsigned column = 0; column < BAR; column++) {
		double middle = (column + 0.5) / BAR * (double)r->bytes;

		while (at + 1 < r->n &&
		       (double)(r->pieces[at].address + r->pieces[at].bytes - r->pieces[0].address) <= middle)
			at++;
		if (r->pieces[at].state == MEMORY_FREE)
			page_ink(p, INK_DIM, "%s", p->style->utf8 ? "░" : ".");
		else
			page_ink(p, INK_COMPUTE, "%s", p->style->utf8 ? "█" : "#");
	}
}

static void range_line(const struct page *p, const struct drawn *r)
{
	char bytes[TEXT_SHORT], largest[TEXT_SHORT];

	fprintf(p->out, "%*s", INDENT + 2, "");
	draw(p, r);
	fprintf(p->out, "  %s, %zu hole%s, largest %s\n", text_bytes(bytes, r->bytes), r->holes, plural(r->holes),
		text_bytes(largest, r->largest));
}

/* The ranges with most free, in a list that is kept sorted. */
static void ranges(const struct page *p, const struct memory_story *s)
{
	struct drawn top[RANGES];
	size_t n = 0, all = 0;

	for (size_t i = 0, end; i < s->n_pieces; i = end) {
		struct drawn r;
		size_t at;

		end = memory_range_end(s->pieces, s->n_pieces, i);
		r = measure(&s->pieces[i], end - i);
		all += r.free != 0;
		if (!r.free || (n == RANGES && top[n - 1].free >= r.free))
			continue;
		for (at = n < RANGES ? n++ : n - 1; at > 0 && top[at - 1].free < r.free; at--)
			top[at] = top[at - 1];
		top[at] = r;
	}
	for (size_t i = 0; i < n; i++)
		range_line(p, &top[i]);
	if (all > n)
		say(p, INK_DIM, INDENT + 2, "... and %zu more range%s with holes", all - n, plural(all - n));
}

/* ---- stories ------------------------------------------------------------------------------------------------------------ */

static size_t holes_of(const struct memory_story *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_pieces; i++)
		n += s->pieces[i].state == MEMORY_FREE;
	return n;
}

static void verdict(const struct page *p, const struct memory_story *s)
{
	char missing[TEXT_SHORT], device[TEXT_SHORT], total[TEXT_SHORT];

	if (s->left)
		say(p, INK_PLAIN, INDENT, "the device had %s of %s left", text_bytes(device, s->left->free),
		    text_bytes(total, s->left->total));
	if (memory_story_enough(s))
		say(p, INK_WARN, INDENT, "in one piece what was free would have been enough");
	else
		say(p, INK_PLAIN, INDENT, "what was free, wherever it lay, was %s too little%s",
		    text_bytes(missing, s->asked - memory_story_free(s)),
		    s->left ? "" : ", not counting the device's own");
}

static void story(const struct page *p, const struct memory_story *one, uint32_t number)
{
	char asked[TEXT_SHORT], free_bytes[TEXT_SHORT], largest[TEXT_SHORT], given[TEXT_SHORT], in_use[TEXT_SHORT];
	const struct frame *from = memory_asked_from(one);
	char at[TEXT_SHORT], call[64], words[FRAME_WORDS];

	page_ink(p, INK_WARN, "  out of memory");
	fprintf(p->out, " on device %u, %s after the begin\n", number,
		text_duration(at, one->end_ns - one->trace->begin_ns));
	say(p, INK_PLAIN, INDENT, "thread %u asked %s for %s%s%s", one->tid,
	    one->block ? "the framework" : "the driver", text_bytes(asked, one->asked), one->first ? "; refused: " : "",
	    one->first ? text_clean(call, sizeof(call), call_name(one->trace, one->first), 40) : "");
	if (from) {
		frame_words(words, sizeof(words), from);
		say(p, INK_PLAIN, INDENT, "at %s", words);
	}
	if (one->refusals > 1)
		say(p, INK_PLAIN, INDENT,
		    "%" PRIu64 " times refused; %" PRIu64 " range%s, %s, given back to the driver meanwhile",
		    one->refusals, one->ranges_given_back, plural(one->ranges_given_back),
		    text_bytes(given, one->given_back));
	say(p, INK_PLAIN, INDENT, "%s in use, %s free in %zu hole%s, the largest %s",
	    text_bytes(in_use, one->at.allocated), text_bytes(free_bytes, one->at.reserved - one->at.allocated),
	    holes_of(one), plural(holes_of(one)), text_bytes(largest, one->at.largest_free));
	verdict(p, one);
	ranges(p, one);
}

static const struct summary_device *with_work(const struct summary *s, const struct memory_device *d)
{
	for (size_t i = 0; i < s->n_devices; i++)
		if (s->devices[i].memory == d)
			return &s->devices[i];
	return NULL;
}

/* Has a device with work this number, or one without, of the first n, this ordinal? */
static bool is_taken(const struct summary *s, uint32_t number, size_t n)
{
	for (size_t i = 0; i < s->n_devices; i++)
		if (s->devices[i].number == number)
			return true;
	for (size_t i = 0; i < n; i++)
		if (s->memory.devices[i].device.device == number && !with_work(s, &s->memory.devices[i]))
			return true;
	return false;
}

uint32_t report_memory_number(const struct summary *s, const struct memory_device *d)
{
	const struct summary_device *work = with_work(s, d);
	size_t index = (size_t)(d - s->memory.devices);
	uint32_t highest = 0;

	if (work)
		return work->number;
	if (!is_taken(s, d->device.device, index))
		return d->device.device;
	for (size_t i = 0; i < s->n_devices; i++)
		highest = s->devices[i].number > highest ? s->devices[i].number : highest;
	for (size_t i = 0; i < s->memory.n_devices; i++)
		highest = s->memory.devices[i].device.device > highest ? s->memory.devices[i].device.device : highest;
	return highest + 1 + (uint32_t)index;
}

static void stories(const struct page *p, const struct summary *s)
{
	const struct memory_stories *all = &s->memory.stories;
	size_t failed = 0, nowhere = 0, shown = 0;

	for (size_t i = 0; i < all->n; i++) {
		bool has_device = all->at[i].device != MEMORY_NOWHERE;

		failed += all->at[i].outcome == MEMORY_FAILED && has_device;
		nowhere += all->at[i].outcome == MEMORY_FAILED && !has_device;
	}
	for (size_t i = 0, n = 0; i < all->n; i++) {
		const struct memory_story *one = &all->at[i];

		if (one->outcome != MEMORY_FAILED || one->device == MEMORY_NOWHERE || ++n + STORIES <= failed)
			continue;
		story(p, one, report_memory_number(s, &s->memory.devices[one->device]));
		shown++;
	}
	if (failed > shown)
		say(p, INK_DIM, 2, "%zu more refusal%s: report --json has them", failed - shown,
		    plural(failed - shown));
	if (nowhere)
		say(p, INK_DIM, 2, "%zu refusal%s more, nobody knows on which device", nowhere, plural(nowhere));
}

/* ---- devices ------------------------------------------------------------------------------------------------------------ */

/* Of a trace that began in the middle: what its blocks do not say. */
static void not_seen(const struct page *p, const struct memory_device *d, uint64_t left)
{
	char before[TEXT_SHORT], free_bytes[TEXT_SHORT];

	if (d->framework.before)
		say(p, INK_PLAIN, INDENT, "%s taken before the trace began: where they lie is not on record",
		    text_bytes(before, d->framework.before));
	if (left)
		say(p, INK_DIM, INDENT, "how scattered the %s reserved and free lay is not on record",
		    text_bytes(free_bytes, left));
}

static void device(const struct page *p, const struct summary *s, const struct memory_device *d)
{
	char allocated[TEXT_SHORT], reserved[TEXT_SHORT], total[TEXT_SHORT], free_bytes[TEXT_SHORT],
		largest[TEXT_SHORT];
	uint64_t left = d->worst.use.reserved - d->worst.use.allocated;

	fprintf(p->out, "  device %-3u allocated at most %s, reserved %s", report_memory_number(s, d),
		text_bytes(allocated, d->peak_allocated), text_bytes(reserved, d->peak_reserved));
	if (d->device.memory_bytes)
		fprintf(p->out, " of %s", text_bytes(total, d->device.memory_bytes));
	fputc('\n', p->out);
	if (d->framework.told)
		not_seen(p, d, left);
	else if (left)
		say(p, INK_PLAIN, INDENT, "fragmentation %.2f: of %s reserved and free the largest piece was %s",
		    memory_fragmentation(&d->worst.use), text_bytes(free_bytes, left),
		    text_bytes(largest, d->worst.use.largest_free));
	if (d->retries)
		say(p, INK_WARN, INDENT,
		    "%" PRIu64 " time%s the framework gave back what it had cached and tried again", d->retries,
		    plural(d->retries));
}

/* ---- of one screen ------------------------------------------------------------------------------------------------------ */

/* "device 0: 10.2 MiB allocated at most, 10.2 MiB reserved of 16.0 GiB" */
static void device_line(const struct page *p, const struct summary *s, const struct memory_device *d, const char *label)
{
	char allocated[TEXT_SHORT], reserved[TEXT_SHORT], total[TEXT_SHORT], of[64] = "", refused[64] = "", line[320];
	char bytes[TEXT_SHORT], before[96] = "";

	if (d->framework.before)
		snprintf(before, sizeof(before), "; %s taken before the trace began",
			 text_bytes(bytes, d->framework.before));
	if (d->device.memory_bytes)
		snprintf(of, sizeof(of), " of %s", text_bytes(total, d->device.memory_bytes));
	if (d->out_of_memory)
		snprintf(refused, sizeof(refused), "; out of memory %" PRIu64 " time%s: --full",
			 (uint64_t)d->out_of_memory, plural(d->out_of_memory));
	snprintf(line, sizeof(line), "device %u: allocated at most %s, reserved %s%s%s%s", report_memory_number(s, d),
		 text_bytes(allocated, d->peak_allocated), text_bytes(reserved, d->peak_reserved), of, before, refused);
	page_ink(p, INK_TITLE, "%-8s", label);
	page_wrap_lines(p, d->out_of_memory ? INK_WARN : INK_PLAIN, 8, 8, 2, line);
}

/* Those that were refused something first, then those with most. */
static const struct memory_device *worst_of(const struct memory *m, const struct memory_device *beside)
{
	const struct memory_device *worst = NULL;

	for (size_t i = 0; i < m->n_devices; i++) {
		const struct memory_device *d = &m->devices[i];

		if (d == beside || !(d->peak_reserved || d->out_of_memory))
			continue;
		if (!worst || (d->out_of_memory != worst->out_of_memory ? d->out_of_memory > worst->out_of_memory
									: d->peak_reserved > worst->peak_reserved))
			worst = d;
	}
	return worst;
}

static void few_lines(const struct page *p, const struct summary *s, size_t n)
{
	const struct memory_device *worst = worst_of(&s->memory, NULL);

	device_line(p, s, worst, "memory");
	if (n == 2)
		device_line(p, s, worst_of(&s->memory, worst), "");
	else if (n > 2)
		say(p, INK_DIM, 8, "and %zu more devices: --full", n - 1);
}

void report_memory(const struct page *p, const struct summary *s)
{
	const struct memory *m = &s->memory;
	size_t n = 0;

	for (size_t i = 0; i < m->n_devices; i++)
		n += m->devices[i].peak_reserved || m->devices[i].out_of_memory;
	if (!n)
		return;
	if (!p->style->full) {
		few_lines(p, s, n);
		return;
	}
	page_ink(p, INK_TITLE, "\nmemory\n");
	for (size_t i = 0, shown = 0; i < m->n_devices && shown < DEVICES; i++) {
		if (!m->devices[i].peak_reserved && !m->devices[i].out_of_memory)
			continue;
		device(p, s, &m->devices[i]);
		shown++;
	}
	if (n > DEVICES)
		say(p, INK_DIM, 2, "%zu more devices: report --json has them", n - DEVICES);
	stories(p, s);
}
