/* SPDX-License-Identifier: BSD-2-Clause */
/* host_match.h: which task of the host's records is which thread of a recorded process. By process and thread number as the process sees
 * itself, by its PID namespace, by when its process began, by time: numbers are used again, and each PID namespace has its own. Where two tasks
 * fit as well, of one file or of two, none is it. */
#pragma once

#include "host_trace.h"
#include "trace/trace.h"

struct host_match {
	const struct host_trace *host; /* NULL: nobody watched this process */
	const struct host_task *task;  /* NULL: nor this thread */
};

/* hosts: those of the run. at_ns: when the thread was alive. Where several watched it, the one that knows most. */
struct host_match host_match_find(struct host_trace *const hosts[], size_t n_hosts, const struct trace *t, uint32_t tid, int64_t at_ns);

/* Which of them watched the process at all; NULL none. */
const struct host_trace *host_match_process(struct host_trace *const hosts[], size_t n_hosts, const struct trace *t);
