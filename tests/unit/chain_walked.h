/* SPDX-License-Identifier: BSD-2-Clause */
/* chain_walked.h: one trace made by hand for each test, and walks in it as text. To be included behind cmocka.h. */
#pragma once

#include "chain_built.h"

static struct built b;
static struct chain chain;

static inline int setup(void **state)
{
	(void)state;
	built_begin(&b, 0, 1000);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	chain_free(&chain);
	built_end(&b);
	return 0;
}

static inline const char *walked(const struct host_task *t, int64_t begin, int64_t end)
{
	static char text[8192];

	assert_true(chain_walk(&chain, &b.trace, t, begin, end));
	return built_text(&chain, text, sizeof(text));
}

static inline struct host_wait *of_file(struct host_wait *w, uint8_t fd_kind, const char *file)
{
	w->what.fd_kind = fd_kind;
	w->what.file = file;
	return w;
}

static inline struct host_wait *preempted(struct host_task *t, int64_t out, int64_t in)
{
	struct host_wait *w = built_wait(&b, t, out, out, in, SYS_futex, GST_WOKEN_UNKNOWN, NULL);

	w->what.flags = GST_WAIT_PREEMPTED;
	return w;
}
