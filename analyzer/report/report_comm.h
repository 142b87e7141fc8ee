/* SPDX-License-Identifier: BSD-2-Clause */
/* report_comm.h: the communicators of a run and what was done on each, for people and for programs. */
#pragma once

#include "report_page.h"
#include "tools/json.h"

/* Of one file: a line or two for each; nothing where there are none. */
enum err_kind report_comms(const struct page *p, const struct trace *t, struct error *e);

/* Of all processes, ranks with one hash together: "communicators": [ … ]. */
enum err_kind report_comms_json(struct json *j, const struct run *run, struct error *e);
