/* SPDX-License-Identifier: BSD-2-Clause */
/* gap_view_ops.h: what another tool's trace says that the submitting thread was at during a gap: op_pieces.h, put together as rules ask for it.
 * A gap costs a bisection for each silence, and one look at each piece in those. */
#pragma once

#include "gap_view.h"
#include "tools/text_put.h"

enum at_what {
	AT_CODE = 1, /* an operator or a Python function, with what is brief between two of these */
	AT_WORKING_LOADER, AT_WAITING_LOADER, /* whatever else, as it is the loader's; driver calls too, and a short way from there to the submission */
	AT_SAVING,   /* likewise what saves the program's state */
	AT_NO_CPU,   /* it wanted one */
	AT_WAIT,     /* off its CPU, for what is not known */
};

/* Pieces in a row of one kind, within the gap; in the order of time. Calls of the operating system are activities, but those of loaders and those
 * that are code (os_calls.def). Where nothing is on record there is no stretch. */
struct stretch {
	int64_t begin_ns, end_ns;
	enum at_what what;
	const struct op_piece *piece; /* the longest of them: what it is called */
	int64_t piece_ns;             /* so much of it lies within */
	const struct silence *silence; /* of AT_CODE, AT_NO_CPU, AT_WAIT */
};

/* What a thread does from one call to the next is no code of the program's own up to this: then operators and interpreter take it. */
#define PASSING_NS 200000

/* Parts of gap_view_set, when silences are known: of all, stretches; what is said of each silence, and its calls of the operating system. False: no memory. */
bool gap_view_set_ops(struct gap_view *v);

bool gap_view_has_ops(const struct gap_view *v); /* it is another tool's trace that knows what threads were at */
/* In the silence the thread only passed on to the next call, and no blocking call before it has a claim to that. */
bool gap_view_passes(const struct gap_view *v, const struct silence *s);
/* So in all silences of the gap, with no call in between that took long or asked in vain: the longest silence, whole. NULL: not so, or there is none. */
const struct silence *gap_view_passing(const struct gap_view *v);
/* No longer than four submissions of this thread, or BRIEF_NS: a call that only did its work. */
bool gap_view_is_short(const struct gap_view *v, const struct call *c);

/* Pieces in the order of time, which tile [begin, end); where nothing is on record, one of OP_NONE. */
struct op_walk {
	const struct op_pieces *pieces;
	size_t next;
	int64_t at_ns, end_ns;
};
struct op_walk op_walk_begin(const struct op_pieces *pieces, int64_t begin_ns, int64_t end_ns);
const struct op_piece *op_walk_on(struct op_walk *w, int64_t *begin_ns, int64_t *end_ns); /* NULL: that was all */

/* For evidence: "aten::index took 3.1 ms (byte 4176) within Optimizer.step#SGD.step, train.py(12): step", "aten::index, 2.0 ms of its 3.1 ms
 * (byte …)" where only a part of it lies there; "" of no op. */
void put_piece(struct text_put *to, const struct gap_view *v, const struct op_piece *p, int64_t piece_ns);
void evidence_piece(char *buf, size_t size, const struct gap_view *v, const struct op_piece *p, int64_t piece_ns);
/* "enumerate(DataLoader)#… took 60.1 ms (byte 4176); longest in it: aten::to, 3.1 ms". */
void evidence_loader(char *buf, size_t size, const struct gap_view *v, const struct stretch *s);
/* "read took 3.1 ms (row 12 of OSRT_API)" */
void evidence_op(char *buf, size_t size, const struct trace *t, const struct host_op *op);
/* Untrusted; "" of NULL. */
const char *op_name(const struct trace *t, const struct host_op *op);
