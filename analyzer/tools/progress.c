/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress.h"

#include <stddef.h>

#define TELLS 256 /* so often in a stage */

static const struct {
	const char *words;
	enum progress_unit unit;
	double share; /* per cent */
} stages[] = {
#define STAGE(id, words, unit, share) { words, unit, share },
#include "progress.def"
#undef STAGE
};

static _Thread_local struct progress *listener;

static void tell(void)
{
	listener->next = listener->done + listener->of / TELLS + 1;
	listener->tell(listener);
}

void progress_listen(struct progress *p)
{
	listener = p;
}

void progress_begin(enum progress_stage stage, uint64_t of)
{
	if (!listener)
		return;
	listener->stage = stage;
	listener->done = 0;
	listener->of = of;
	tell();
}

void progress_more(uint64_t of)
{
	if (listener)
		listener->of += of;
}

void progress_add(uint64_t done)
{
	if (!listener)
		return;
	listener->done += done;
	if (listener->done >= listener->next)
		tell();
}

bool progress_is_heard(void)
{
	return listener != NULL;
}

const char *progress_words(enum progress_stage stage)
{
	return stages[stage].words;
}

enum progress_unit progress_unit(enum progress_stage stage)
{
	return stages[stage].unit;
}

double progress_part(const struct progress *p)
{
	return p->done < p->of ? (double)p->done / (double)p->of : p->of ? 1 : 0;
}

/* What comes behind the causes is done by one command or another, never both. */
static int counts(const struct progress *p, int stage)
{
	return stage <= PROGRESS_CAUSES ? stage <= (int)p->last : stage == (int)p->last;
}

double progress_whole(const struct progress *p)
{
	double before = 0, all = 0;

	for (int i = 0; i < PROGRESS_STAGES; i++) {
		before += counts(p, i) && i < (int)p->stage ? stages[i].share : 0;
		all += counts(p, i) ? stages[i].share : 0;
	}
	return counts(p, (int)p->stage) ? (before + stages[p->stage].share * progress_part(p)) / all : 1;
}
