/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_ranges.c: NVTX, and what PyTorch says of its operators through it (torch.autograd.profiler.emit_nvtx): those are operators. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_nsys_parts.h"
#include "tools/alloc.h"

enum nvtx_type { /* ENUM_NSYS_EVENT_TYPE; of both of NVTX's ways to say it, in calls and in a text file */
		 NVTX_MARK = 34,
		 NVTX_PUSHED = 59,
		 NVTX_STARTED = 60,
		 NVTXT_MARK = 65,
		 NVTXT_PUSHED = 70,
		 NVTXT_STARTED = 71,
		 NVTX_DOMAIN = 75,
};

#define DOMAINS_MOST 4096

struct domain {
	uint64_t pid;
	int64_t id;
	uint32_t name;
};

struct domains {
	struct domain *at;
	size_t n, cap, last;
};

static uint32_t text_of(struct nsys *n, const struct nsys_rows *r)
{
	uint32_t name = nsys_row_name(n, r, NVTX_textId);

	return name ? name : import_name(n->b, nsys_rows_text(r, NVTX_text));
}

/* ---- domains --------------------------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const struct domain *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static bool number_before(const void *element, const void *key)
{
	return by_number(element, key) < 0;
}

/* Each says its name once, not always before its first range. */
static void read_domains(struct nsys *n, struct domains *d)
{
	struct nsys_rows r;

	if (!nsys_rows_begin_where(&r, &n->file, NSYS_NVTX, NVTX_eventType, NVTX_DOMAIN))
		return;
	while (d->n < DOMAINS_MOST && nsys_next(n, &r)) {
		if (!array_room(d->at, d->n, d->cap)) {
			n->no_memory = true;
			break;
		}
		d->at[d->n++] = (struct domain){ nsys_row_pid(n, &r, NVTX_globalTid),
						 nsys_rows_int(&r, NVTX_domainId, 0), text_of(n, &r) };
	}
	nsys_rows_close(&r);
	array_sort(d->at, d->n, sizeof(*d->at), by_number);
}

static uint32_t domain_of(struct nsys *n, struct domains *d, uint64_t pid, int64_t id)
{
	struct domain key = { .pid = pid, .id = id };
	char unnamed[32];
	size_t i = d->last, n_unnamed;

	if (!id)
		return 0;
	if (i >= d->n || by_number(&d->at[i], &key) != 0)
		i = array_first(d->at, d->n, sizeof(*d->at), number_before, &key);
	if (i < d->n && by_number(&d->at[i], &key) == 0) {
		d->last = i;
		return d->at[i].name;
	}
	n_unnamed = (size_t)snprintf(unnamed, sizeof(unnamed), "domain %lld", (long long)id);
	return import_name(n->b, (struct import_text){ unnamed, n_unnamed });
}

/* ---- operators ------------------------------------------------------------------------------------------------------------- */

/* Where `word` begins in the text; its end where it does not occur. */
static size_t find(struct import_text text, const char *word)
{
	const char *at = memmem(text.at, text.bytes, word, strlen(word));

	return at ? (size_t)(at - text.at) : text.bytes;
}

/* "aten::add, seq = 7, op_id = 12": PyTorch's, and its name without the numbers. The program's own, as "ProfilerStep#3, op_id = 9", have
 * neither a namespace nor a place in the backward pass. The mark that PyTorch puts around each collective, record_param_comms, has neither and is
 * an operator all the same. */
static bool is_operator(struct import_text *text)
{
	size_t tail = find(*text, ", op_id = "), seq = find(*text, ", seq = ");
	bool ours = seq < text->bytes;

	if (tail == text->bytes && seq == text->bytes)
		return false;
	text->bytes = seq < tail ? seq : tail;
	text->bytes = find(*text, ", sizes = ");
	return ours || find(*text, "::") < text->bytes || nsys_is(*text, "record_param_comms");
}

/* ---- ranges ---------------------------------------------------------------------------------------------------------------- */

static bool is_range(int64_t type)
{
	return type == NVTX_PUSHED || type == NVTX_STARTED || type == NVTXT_PUSHED || type == NVTXT_STARTED;
}

static void take(struct nsys *n, struct domains *d, const struct nsys_rows *r, int64_t type)
{
	uint64_t pid = nsys_row_pid(n, r, NVTX_globalTid);
	struct nsys_process *p = nsys_process(n, pid, true);
	struct import_text text = nsys_rows_text(r, NVTX_text);
	uint32_t tid = nsys_tid((uint64_t)nsys_rows_int(r, NVTX_globalTid, 0));
	int64_t begin = nsys_rows_int(r, NVTX_start, 0),
		end = nsys_rows_int(r, NVTX_end, is_range(type) ? INT64_MAX : begin);
	bool op = is_operator(&text);
	uint32_t name = nsys_row_name(n, r, NVTX_textId);

	if (!p)
		return;
	if (!name)
		name = import_name(n->b, text);
	if (op && end != INT64_MAX)
		import_host_op(n->b, &(struct import_host_op){ nsys_rows_place(r), begin, end, p->number, tid, name,
							       HOST_OP_OPERATOR });
	else
		import_range(n->b, &(struct import_range){
					   .place = nsys_rows_place(r),
					   .begin_ns = begin,
					   .end_ns = end,
					   .process = p->number,
					   .tid = tid,
					   .name = name,
					   .domain = domain_of(n, d, pid, nsys_rows_int(r, NVTX_domainId, 0)),
					   .started = type == NVTX_STARTED || type == NVTXT_STARTED,
				   });
}

void nsys_ranges(struct nsys *n)
{
	struct domains d = { 0 };
	struct nsys_rows r;

	read_domains(n, &d);
	if (!nsys_over(n) && nsys_rows_begin(&r, &n->file, NSYS_NVTX)) {
		while (nsys_next(n, &r)) {
			int64_t type = nsys_rows_int(&r, NVTX_eventType, NVTX_PUSHED);

			if (is_range(type) || type == NVTX_MARK || type == NVTXT_MARK)
				take(n, &d, &r, type);
		}
		nsys_rows_close(&r);
	}
	free(d.at);
}
