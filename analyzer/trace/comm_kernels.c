/* SPDX-License-Identifier: BSD-2-Clause */
#include "comm_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/ns.h"
#include "trace.h"

/* ---- names ------------------------------------------------------------------------------------------ */

struct word { /* an identifier of a name */
	const char *at;
	size_t n;
};

enum how { FUNCTION, BEGINS, LIBRARY, SPACE };

static const struct {
	enum how how;
	const char *text;
} rows[] = {
#define COMM_KERNEL(how, text) { how, text },
#include "comm_kernels.def"
};

static bool fits(enum how how, const char *text, struct word w, bool last)
{
	size_t n = strlen(text);

	if (w.n < n || memcmp(w.at, text, n) != 0)
		return false;
	switch (how) {
	case SPACE:
		return !last && w.n == n;
	case FUNCTION:
		return last && w.n == n;
	case LIBRARY:
		return last && w.n > n && w.at[n] >= 'A' && w.at[n] <= 'Z';
	default:
		return last;
	}
}

static bool communicates(struct word w, bool last)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (fits(rows[i].how, rows[i].text, w, last))
			return true;
	return false;
}

/* "<length><identifier>": false where there is none. */
static bool take_mangled(const char **at, const char *end, struct word *w)
{
	const char *p = *at;
	size_t n = 0;

	while (p < end && *p >= '0' && *p <= '9' && n < 10000)
		n = n * 10 + (size_t)(*p++ - '0');
	if (n == 0 || n > (size_t)(end - p))
		return false;
	*w = (struct word){ p, n };
	*at = p + n;
	return true;
}

/* _Z8functionPf, _ZN5space8functionI…EEvPf: up to its template's arguments or parameters. */
static bool of_mangled(const char *at, const char *end)
{
	bool nested = *at == 'N';
	struct word w, next;

	at += strspn(at, "NLKVr");
	if (!take_mangled(&at, end, &w))
		return false;
	while (nested) {
		at += *at == 'L';
		if (!take_mangled(&at, end, &next))
			break;
		if (communicates(w, false))
			return true;
		w = next;
	}
	return communicates(w, true);
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/* "void space::(anonymous namespace)::function<…>(…)": each word outside of brackets; the function's is the last before its parameters. */
static bool of_plain(const char *at)
{
	static const char unnamed[] = "(anonymous namespace)";
	struct word w = { at, 0 };
	size_t depth = 0;

	for (; *at; at++) {
		if (depth == 0 && strncmp(at, unnamed, sizeof(unnamed) - 1) == 0)
			at += sizeof(unnamed) - 2;
		else if (depth == 0 && *at == '(')
			break;
		else if (*at == '<')
			depth++;
		else if (*at == '>' && depth > 0)
			depth--;
		else if (depth == 0 && is_word(*at)) {
			size_t n = 1;

			while (is_word(at[n]))
				n++;
			w = (struct word){ at, n };
			if (at[n] == ':' && communicates(w, false))
				return true;
			at += n - 1;
		}
	}
	return communicates(w, true);
}

bool comm_kernel(const char *name)
{
	if (strncmp(name, "_Z", 2) == 0)
		return of_mangled(name + 2, name + strlen(name));
	return of_plain(name);
}

/* ---- launches --------------------------------------------------------------------------------------- */

static bool launches(const struct nccl_call *c)
{
	return !(c->flags & GST_NCCL_OURS) &&
	       (nccl_is_collective(c->kind) || nccl_is_message(c->kind) || c->kind == GST_NCCL_GROUP_END);
}

static bool thread_below(const void *element, const void *key)
{
	return ((const struct thread *)element)->tid < *(const uint32_t *)key;
}

static size_t place_of(const struct trace *t, uint32_t tid)
{
	size_t i = array_first(t->threads, t->n_threads, sizeof(*t->threads), thread_below, &tid);

	return i < t->n_threads && t->threads[i].tid == tid ? i : t->n_threads;
}

bool comm_launches_mark(struct trace *t)
{
	int64_t *until_ns; /* of each thread's NCCL calls so far; last: of nobody */
	size_t next = 0;

	if (!t->n_nccl)
		return true; /* as decoded, no launch is marked */
	until_ns = array_new(t->n_threads + 1, sizeof(*until_ns));
	if (!until_ns)
		return false;
	for (size_t i = 0; i <= t->n_threads; i++)
		until_ns[i] = INT64_MIN;
	for (size_t i = 0; i < t->n_calls; i++) {
		struct call *c = &t->calls[i];

		if (c->family != GST_FAMILY_LAUNCH)
			continue;
		for (; next < t->n_nccl && t->nccl[next].begin_ns <= c->begin_ns; next++) {
			size_t place = launches(&t->nccl[next]) ? place_of(t, t->nccl[next].tid) : t->n_threads;

			if (place < t->n_threads)
				until_ns[place] = max64(until_ns[place], t->nccl[next].end_ns);
		}
		c->detail = c->end_ns <= until_ns[place_of(t, c->tid)] ? LAUNCH_BY_NCCL : 0;
	}
	free(until_ns);
	return true;
}
