/* SPDX-License-Identifier: BSD-2-Clause */
/* gap_view_ops_words.c: what a thread was at, in words. */
#include "gap_view_ops.h"

#include "import/import.h"
#include "tools/text.h"

#define NAME_COLUMNS 72
#define NAME_BYTES 96

const char *op_name(const struct trace *t, const struct host_op *op)
{
	return op && op->name < t->host_ops.n_names ? t->host_ops.names[op->name] : "";
}

static void put_name(struct text_put *p, const char *name)
{
	if (*name)
		put_clean(p, name, NAME_BYTES, NAME_COLUMNS);
	else
		put_text(p, "what has no name");
}

static void put_place(struct text_put *p, const struct trace *t, const struct host_op *op)
{
	char place[PLACE_TEXT];

	put_text(p, " (");
	put_text(p, import_place_text(place, sizeof(place), t, op->byte));
	put_text(p, ")");
}

static void put_op(struct text_put *p, const struct trace *t, const struct host_op *op)
{
	put_name(p, op_name(t, op));
	put_text(p, " took ");
	put_duration(p, op->end_ns - op->begin_ns);
	put_place(p, t, op);
}

void evidence_op(char *buf, size_t size, const struct trace *t, const struct host_op *op)
{
	struct text_put p = text_put_begin(buf, size);

	put_op(&p, t, op);
}

void put_piece(struct text_put *to, const struct gap_view *v, const struct op_piece *p, int64_t piece_ns)
{
	const struct trace *t = v->trace;
	const struct host_op *inner = op_of(t, p->inner), *outer = op_of(t, p->outer), *python = op_of(t, p->python);

	if (!inner)
		return;
	if (piece_ns >= (inner->end_ns - inner->begin_ns) / 10 * 9) {
		put_op(to, t, inner);
	} else {
		put_name(to, op_name(t, inner));
		put_text(to, ", ");
		put_duration(to, piece_ns);
		put_text(to, " of its ");
		put_duration(to, inner->end_ns - inner->begin_ns);
		put_place(to, t, inner);
	}
	if (outer && outer != inner) {
		put_text(to, " within ");
		put_name(to, op_name(t, outer));
	}
	if (python && python != inner) {
		put_text(to, outer && outer != inner ? ", " : " within ");
		put_name(to, op_name(t, python));
	}
}

void evidence_piece(char *buf, size_t size, const struct gap_view *v, const struct op_piece *p, int64_t piece_ns)
{
	struct text_put to = text_put_begin(buf, size);

	put_piece(&to, v, p, piece_ns);
}

void evidence_loader(char *buf, size_t size, const struct gap_view *v, const struct stretch *s)
{
	const struct host_op *op = op_of(v->trace, s->piece->loader), *inner = op_of(v->trace, s->piece->inner);
	struct text_put p = text_put_begin(buf, size);
	char whole[512];

	if (op) {
		put_op(&p, v->trace, op);
	} else {
		put_clean(&p, op_loader_name(whole, sizeof(whole), v->trace, s->piece->loader), NAME_BYTES,
			  NAME_COLUMNS);
		put_text(&p, " took ");
		put_duration(&p, op_loader_ns(v->trace, s->piece->loader));
	}
	if (!inner || inner == op ||
	    s->piece_ns < (s->end_ns - s->begin_ns) / 10) /* of many pieces none is worth a word */
		return;
	put_text(&p, "; longest in it: ");
	put_name(&p, op_name(v->trace, inner));
	put_text(&p, ", ");
	put_duration(&p, s->piece_ns);
}
