/* SPDX-License-Identifier: BSD-2-Clause */
#include "summary_parts.h"

#include "tools/pool.h"
#include "tools/progress.h"

enum part { PART_MEMORY, PART_STEPS, PART_THREADS, PARTS };

static enum err_kind build_steps(struct summary *s, struct error *e)
{
	enum err_kind kind = steps_build(&s->steps, s->run, e);

	return kind ? kind : range_stacks_build(&s->ranges, s->run, &s->steps, e);
}

static enum err_kind build_part(void *summary, size_t part, struct error *e)
{
	struct summary *s = summary;

	switch ((enum part)part) {
	case PART_MEMORY:
		return memory_build(&s->memory, s->run, e);
	case PART_STEPS:
		return build_steps(s, e);
	default:
		return threads_build(&s->threads, s->run, e);
	}
}

enum err_kind summary_parts(struct summary *s, struct error *e)
{
	enum err_kind kind;

	progress_begin(PROGRESS_PARTS, PARTS);
	kind = pool_run(PARTS, build_part, s, e);
	s->threads.memory = &s->memory;
	progress_add(PARTS);
	return kind;
}
