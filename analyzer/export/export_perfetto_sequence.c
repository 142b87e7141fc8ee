/* SPDX-License-Identifier: BSD-2-Clause */
#include "export_perfetto_parts.h"

#include <stdlib.h>

#include "tools/alloc.h"
#include "tools/fnv.h"
#include "tools/ns.h"

void sequences_free(struct sequences *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->at[i].ends);
		interned_clear(&s->at[i].texts);
	}
	free(s->at);
	hash_free(&s->index);
	pb_free(&s->packet);
	pb_free(&s->event);
	pb_free(&s->texts);
}

static uint64_t hash_of(uint64_t seed, uint32_t pid, uint32_t tid, uint32_t kind)
{
	const uint32_t key[] = { pid, tid, kind };

	return fnv1a(seed, key, sizeof(key));
}

/* 0 is the trace itself. */
uint64_t sequence_uuid(const struct sequences *s, uint32_t pid, uint32_t tid, uint32_t kind)
{
	uint64_t hash = hash_of(FNV_BEGIN ^ s->seed, pid, tid, kind);

	return hash ? hash : 1;
}

static struct sequence *find(const struct sequences *s, uint32_t pid, uint32_t tid, uint32_t kind, uint64_t hash)
{
	uint32_t i;

	for (size_t at = 0; (i = hash_next(&s->index, hash, &at)) != HASH_NONE;)
		if (s->at[i].pid == pid && s->at[i].tid == tid && s->at[i].kind == kind)
			return &s->at[i];
	return NULL;
}

struct sequence *sequence_get(struct sequences *s, uint32_t pid, uint32_t tid, uint32_t kind, bool *is_new)
{
	uint64_t hash = hash_of(FNV_BEGIN, pid, tid, kind);
	struct sequence *known = find(s, pid, tid, kind, hash);

	*is_new = false;
	if (known)
		return known;
	if (!array_room(s->at, s->n, s->cap) || !hash_add(&s->index, hash, (uint32_t)s->n)) {
		s->failed = true;
		return NULL;
	}
	s->at[s->n] = (struct sequence){ .pid = pid, .tid = tid, .kind = kind, .id = (uint32_t)s->n + 2 };
	s->at[s->n].uuid = sequence_uuid(s, pid, tid, kind);
	*is_new = true;
	return &s->at[s->n++];
}

static uint64_t on_monotonic(const struct sequences *s, int64_t at_ns)
{
	return (uint64_t)max64(sum64(s->base_ns, at_ns), 0);
}

static void put_packet(struct sequences *s)
{
	pb_write(s->out, TRACE_PACKET, &s->packet);
	s->failed |= s->packet.failed;
}

static void put_clock(struct pb *m, uint32_t id, uint64_t now)
{
	size_t clock = pb_open(m, SNAPSHOT_CLOCK);

	pb_uint(m, CLOCK_ID, id);
	pb_uint(m, CLOCK_TIMESTAMP, now);
	if (id == FROM_LAST)
		pb_uint(m, CLOCK_INCREMENTAL, 1);
	pb_close(m, clock);
}

/* What was said before is forgotten; what all that follows has in common. */
static void put_state(struct sequences *s, struct sequence *q)
{
	struct pb *m = &s->packet;
	size_t outer, inner;

	interned_clear(&q->texts);
	pb_clear(m);
	pb_uint(m, PACKET_SEQUENCE, q->id);
	pb_uint(m, PACKET_FLAGS, CLEARED);
	outer = pb_open(m, PACKET_DEFAULTS);
	pb_uint(m, DEFAULTS_CLOCK, FROM_LAST);
	inner = pb_open(m, DEFAULTS_EVENT);
	pb_uint(m, EVENT_TRACK, q->uuid);
	pb_close(m, inner);
	pb_close(m, outer);
	outer = pb_open(m, PACKET_CLOCK_SNAPSHOT);
	put_clock(m, MONOTONIC, on_monotonic(s, q->last_ns));
	put_clock(m, FROM_LAST, on_monotonic(s, q->last_ns));
	pb_close(m, outer);
	put_packet(s);
	q->told = true;
}

void event_open(struct sequences *s, struct sequence *q)
{
	if (!q->told || interned_full(&q->texts))
		put_state(s, q);
	pb_clear(&s->event);
	pb_clear(&s->texts);
}

uint32_t event_text(struct sequences *s, struct sequence *q, enum text_kind kind, const char *text)
{
	static const uint32_t fields[] = { [CATEGORIES] = 1, [NAMES] = 2, [ARG_NAMES] = 3, [ARG_TEXTS] = 29 };
	bool is_new;
	uint32_t number = interned_number(&q->texts, kind, text, &is_new);
	size_t entry;

	s->failed |= !number;
	if (is_new) {
		entry = pb_open(&s->texts, fields[kind]);
		pb_uint(&s->texts, INTERNED_NUMBER, number);
		pb_text(&s->texts, INTERNED_TEXT, text);
		pb_close(&s->texts, entry);
	}
	return number;
}

/* A clock that counts from packet to packet cannot go back: what is out of order has the other. */
void event_close(struct sequences *s, struct sequence *q, int64_t at_ns)
{
	struct pb *m = &s->packet;

	pb_clear(m);
	if (at_ns >= q->last_ns) {
		pb_uint(m, PACKET_TIMESTAMP, on_monotonic(s, at_ns) - on_monotonic(s, q->last_ns));
		q->last_ns = at_ns;
	} else {
		pb_uint(m, PACKET_TIMESTAMP, on_monotonic(s, at_ns));
		pb_uint(m, PACKET_CLOCK, MONOTONIC);
	}
	pb_uint(m, PACKET_SEQUENCE, q->id);
	pb_message(m, PACKET_EVENT, &s->event);
	if (s->texts.n)
		pb_message(m, PACKET_INTERNED, &s->texts);
	put_packet(s);
}

void slices_end(struct sequences *s, struct sequence *q, int64_t by_ns)
{
	while (q->n && q->ends[q->n - 1] <= by_ns) {
		event_open(s, q);
		pb_uint(&s->event, EVENT_TYPE, SLICE_END);
		event_close(s, q, q->ends[--q->n]);
	}
}
