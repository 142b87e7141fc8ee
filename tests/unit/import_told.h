/* SPDX-License-Identifier: BSD-2-Clause */
/* import_told.h: calls, work and operators told to import_build in one line each, with names of their own. */
#pragma once

#include <string.h>

#include "tests/unit/import_built.h"

static void call(uint32_t process, uint32_t tid, const char *name, int64_t begin_ns, int64_t end_ns,
		 uint64_t correlation)
{
	struct import_call c = { .place = (uint64_t)begin_ns,
				 .begin_ns = begin_ns,
				 .end_ns = end_ns,
				 .process = process,
				 .tid = tid,
				 .name = import_name(build, (struct import_text){ name, strlen(name) }),
				 .correlation = correlation,
				 .stream = IMPORT_NO_STREAM,
				 .device = IMPORT_NO_DEVICE };

	import_call(build, &c);
}

static void work(uint32_t process, uint64_t stream, const char *name, int64_t begin_ns, int64_t end_ns,
		 uint64_t correlation, uint8_t kind, uint8_t copy)
{
	struct import_work w = { .place = (uint64_t)begin_ns,
				 .begin_ns = begin_ns,
				 .end_ns = end_ns,
				 .process = process,
				 .device = 1,
				 .stream = stream,
				 .correlation = correlation,
				 .bytes = copy ? 4096 : 0,
				 .name = import_name(build, (struct import_text){ name, strlen(name) }),
				 .kind = kind,
				 .copy = copy };

	import_work(build, &w);
}

static void host_op(uint32_t process, uint32_t tid, const char *name, int64_t begin_ns, int64_t end_ns)
{
	struct import_host_op o = { .place = 7,
				    .begin_ns = begin_ns,
				    .end_ns = end_ns,
				    .process = process,
				    .tid = tid,
				    .name = import_name(build, (struct import_text){ name, strlen(name) }),
				    .kind = HOST_OP_OPERATOR };

	import_host_op(build, &o);
}

static void finish(const struct error *damage)
{
	struct error e;

	assert_false(import_failed(build));
	assert_int_equal(import_build_finish(&traces, &n_traces, build, damage, &e), ERR_NONE);
}

static void begin(void)
{
	build = import_build_new("t.json", "kineto");
	assert_non_null(build);
}
