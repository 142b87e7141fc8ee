/* SPDX-License-Identifier: BSD-2-Clause */
/* html_steps.c: the steps of each device, a column for each figure. */
#include "html.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "html_pack.h"
#include "tools/ns.h"

#define MOST_STEPS 200000 /* of all devices; of more, so many in a row are one */

struct column { /* of one device's steps */
	struct html *h;
	const struct summary_device *d;
	uint32_t clock;
	size_t stride;
	struct error *e;
};

typedef uint64_t step_value(const struct column *c, size_t first, size_t end, int which);

static const struct step *step_of(const struct column *c, size_t i)
{
	return c->d->phases.steps[i].step;
}

static uint64_t begins(const struct column *c, size_t first, size_t end, int which)
{
	(void)end;
	(void)which;
	return html_ns(c->h, c->clock, step_of(c, first)->begin_ns);
}

static uint64_t lasts(const struct column *c, size_t first, size_t end, int which)
{
	(void)which;
	return (uint64_t)(step_of(c, end - 1)->end_ns - step_of(c, first)->begin_ns);
}

static uint64_t idles(const struct column *c, size_t first, size_t end, int which)
{
	int64_t ns = 0;

	for (size_t i = first; i < end; i++)
		ns = sum64(ns, which < 0 ? c->d->phases.steps[i].idle_ns : c->d->phases.steps[i].causes_ns[which]);
	return (uint64_t)ns;
}

static uint64_t kinds(const struct column *c, size_t first, size_t end, int which)
{
	(void)end;
	(void)which;
	return step_of(c, first)->kind;
}

/* How many of them take much longer than others do. */
static uint64_t outliers(const struct column *c, size_t first, size_t end, int which)
{
	const struct steps_usual *u = &c->d->phases.usual;
	size_t low = 0, high = u->n_outliers, n = 0;

	(void)which;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (u->outliers[middle].index < first)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < u->n_outliers && u->outliers[low + n].index < end)
		n++;
	return n;
}

/* "ProfilerStep#57" is "ProfilerStep#" and 57: a hundred thousand steps have few names. Returns the number, or -1 where the name has none
 * at its end. */
static int64_t split_name(char *name)
{
	size_t n = strlen(name), digits = 0;

	while (digits < 15 && digits < n && isdigit((unsigned char)name[n - digits - 1]))
		digits++;
	while (digits > 1 && name[n - digits] == '0')
		digits--;
	if (!digits || (digits < n && isdigit((unsigned char)name[n - digits - 1])))
		return -1; /* 007 would be read as 7 */
	n -= digits;
	digits = (size_t)strtoll(name + n, NULL, 10);
	name[n] = 0;
	return (int64_t)digits;
}

static uint64_t names(const struct column *c, size_t first, size_t end, int which)
{
	char name[160];
	int64_t number;

	(void)end;
	step_name(name, sizeof(name), step_of(c, first));
	number = split_name(name);
	return which ? (uint64_t)(number + 1) : html_string(&c->h->strings, name);
}

static enum err_kind write_column(const struct column *c, const char *key, enum pack_type type, step_value *value,
				  int which)
{
	const size_t n = c->d->phases.n_steps;
	struct pack p;

	pack_begin(&p, type);
	for (size_t i = 0; i < n; i += c->stride)
		pack_add(&p, value(c, i, i + c->stride < n ? i + c->stride : n, which));
	json_key(&c->h->json, key);
	return pack_end(&p, &c->h->json, c->e);
}

static enum err_kind causes(const struct column *c)
{
	enum err_kind kind = ERR_NONE;

	json_key_map(&c->h->json, "causes");
	for (int cause = 0; !kind && cause < CAUSE_COUNT; cause++)
		if (idles(c, 0, c->d->phases.n_steps, cause))
			kind = write_column(c, cause_name((enum cause_id)cause), PACK_VARINT, idles, cause);
	json_map_end(&c->h->json);
	return kind;
}

static enum err_kind device(const struct column *c)
{
	static const struct {
		const char *key;
		enum pack_type type;
		step_value *value;
		int which;
	} columns[] = {
		{ "b", PACK_DELTA, begins, 0 },      { "d", PACK_VARINT, lasts, 0 },    { "i", PACK_VARINT, idles, -1 },
		{ "k", PACK_U8, kinds, 0 },          { "o", PACK_VARINT, outliers, 0 }, { "s", PACK_VARINT, names, 0 },
		{ "number", PACK_VARINT, names, 1 },
	};
	const size_t n = c->d->phases.n_steps;
	enum err_kind kind = ERR_NONE;

	json_map(&c->h->json);
	json_key_int(&c->h->json, "device", c->d->number);
	json_key_int(&c->h->json, "n", (int64_t)((n + c->stride - 1) / c->stride));
	json_key_int(&c->h->json, "stride", (int64_t)c->stride);
	json_key_int(&c->h->json, "all", (int64_t)n);
	for (size_t i = 0; !kind && i < sizeof(columns) / sizeof(columns[0]); i++)
		kind = write_column(c, columns[i].key, columns[i].type, columns[i].value, columns[i].which);
	if (!kind)
		kind = causes(c);
	json_map_end(&c->h->json);
	return kind;
}

enum err_kind html_steps(struct html *h, struct error *e)
{
	enum err_kind kind = ERR_NONE;
	size_t all = 0;

	for (size_t i = 0; i < h->s->n_devices; i++)
		all += h->s->devices[i].phases.n_steps;
	json_key_array(&h->json, "steps");
	for (size_t i = 0; !kind && i < h->s->n_devices; i++) {
		const struct column c = { h, &h->s->devices[i], html_clock_of_device(h, i), 1 + all / MOST_STEPS, e };

		if (c.d->phases.n_steps)
			kind = device(&c);
	}
	json_array_end(&h->json);
	return kind;
}
