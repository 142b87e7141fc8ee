/* SPDX-License-Identifier: BSD-2-Clause */
/* front.h: a trace whose oldest records are gone: it begins at an instant from which on it is complete, as one that is damaged ends at one.
 *
 * What had ended by then is left out, even where its record is there still: others of its time are not. What a stream was given before may
 * still run (struct carried), until a proof that covers it: a wait, a query, an edge, a list of busy streams that does not name it. What
 * streams were told to wait for before is not known either; both are over when all carried work is (facts.h). */
#pragma once

#include "trace.h"

/* The records must be sorted and numbered (sequence.h). A second cut is later than the first. False: no memory. */
bool front_cut(struct trace *t, int64_t from_ns);

/* Processes on one device begin together, at the latest of their fronts: nobody knows what the device did before. */
bool front_align(struct trace **traces, size_t n);
