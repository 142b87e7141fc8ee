/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_probes.h: what `gpushim host` and `gpushim run` may be told of host probes, and whom they may follow. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "shim/probes/backend.h"

struct probes_opts {
	const char *off;  /* NAME[,NAME]; NULL none */
	size_t stacks_hz; /* 0 none; OPTION_USUAL */
	size_t wait_us;   /* 0: WAIT_NS */
};

#define PROBES_ROWS(opts)                                                                                           \
	{ "off", 0, OPT_TEXT, offsetof(opts, probes.off), "NAME[,NAME]", "probes to do without (switch, block, …)", 0, 0 }, \
	{ "stacks", 0, OPT_MAYBE, offsetof(opts, probes.stacks_hz), "[=HZ]",                                        \
	  "stacks of threads that run, so often a second (99)", 1, 1000 },                                            \
	{ "wait", 0, OPT_COUNT, offsetof(opts, probes.wait_us), "US",                                               \
	  "shorter waits are summed up, in microseconds (100)", 1, 1000000 }

/* All but root. 0, or the exit status, the reason said. */
int cmd_probes_settings(const struct probes_opts *o, const char *command, const char *dir, struct probes_settings *out);
