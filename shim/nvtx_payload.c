/* SPDX-License-Identifier: BSD-2-Clause */
#include "nvtx_payload.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nvtx.h"
#include "nvtx_domain.h"
#include "nvtx_range.h"
#include "nvtx_text.h"

#define SCHEMAS 256     /* of all domains */
#define FIELDS 32       /* of a schema, those that are described */
#define KEPT_BYTES 256u /* of a payload */
#define DATA_MAX 4      /* of one event */
#define LABEL_BYTES 64

/* What a type number means: its letter and bytes, as in the schema's text. C's own types by their size here. */
static const struct plain {
	char letter;
	uint8_t bytes;
} plains[] = {
	[1] = { 'i', 1 },  [2] = { 'u', 1 },  [3] = { 'i', 2 },  [4] = { 'u', 2 },  [5] = { 'i', 4 },
	[6] = { 'u', 4 },  [7] = { 'i', 8 },  [8] = { 'u', 8 },  [9] = { 'i', 8 },  [10] = { 'u', 8 },
	[11] = { 'i', 1 }, [12] = { 'u', 1 }, [13] = { 'i', 2 }, [14] = { 'u', 2 }, [15] = { 'i', 4 },
	[16] = { 'u', 4 }, [17] = { 'i', 8 }, [18] = { 'u', 8 }, [19] = { 'f', 4 }, [20] = { 'f', 8 },
	[22] = { 'u', 8 }, [23] = { 'u', 8 },
};
_Static_assert(sizeof(long) == 8 && sizeof(size_t) == 8, "as the table has them");

/* What a program registers again changes under the eyes of other threads. */
static struct schema {
	uint64_t key;     /* (domain << 32 | id) + 1, 0 free */
	uint32_t text;    /* how its fields lie; of an enumeration, what its values are called */
	uint32_t bytes;   /* of an enumeration, or static ones; 0 not known */
	uint16_t message; /* offset of the event's name as a handle, + 1; 0 none */
	bool enumeration;
} schemas[SCHEMAS];

#define GET(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define SET(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

static struct schema *find(uint32_t domain, uint64_t id)
{
	uint64_t key = ((uint64_t)domain << 32 | (uint32_t)id) + 1, there;

	if (id >= NVTX_SCHEMA_OURS)
		return id - NVTX_SCHEMA_OURS < SCHEMAS ? &schemas[id - NVTX_SCHEMA_OURS] : NULL;
	for (unsigned i = 0; id >= NVTX_SCHEMA_IDS && i < SCHEMAS; i++) {
		there = __atomic_load_n(&schemas[i].key, __ATOMIC_ACQUIRE);
		if (there == key)
			return &schemas[i];
		if (!there)
			break;
	}
	return NULL;
}

/* A place for it; the one it has already where the program gave it its number. NULL: none is free. */
static struct schema *place_for(uint32_t domain, uint64_t id)
{
	struct schema *s = id ? find(domain, id) : NULL;

	for (unsigned i = 0; !s && i < SCHEMAS; i++) {
		uint64_t free_key = 0, own = id ? id : NVTX_SCHEMA_IDS - 1 - i; /* ours are below the program's */
		uint64_t key = ((uint64_t)domain << 32 | (uint32_t)own) + 1;

		if (__atomic_compare_exchange_n(&schemas[i].key, &free_key, key, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			s = &schemas[i];
	}
	if (!s)
		nvtx_untracked();
	return s;
}

/* ---- descriptions ------------------------------------------------------------------------------------------------------- */

struct description {
	char text[NVTX_TEXT_BYTES];
	size_t length;
};

/* Whole lines only, and no line or field of the program's makes another of ours. */
static void add_line(struct description *d, const char *line)
{
	size_t length = strlen(line);

	if (d->length + length > sizeof(d->text))
		return;
	memcpy(d->text + d->length, line, length);
	d->length += length;
}

static void copy_label(char *to, size_t size, const char *from)
{
	size_t i = 0;

	for (; from && i + 1 < size && from[i]; i++)
		to[i] = (uint8_t)from[i] < ' ' ? ' ' : from[i];
	to[i] = 0;
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static void describe_field(struct description *d, size_t offset, struct plain plain, const struct nvtx_entry *entry,
			   const struct schema *enumeration)
{
	char label[LABEL_BYTES], line[LABEL_BYTES + NVTX_TEXT_BYTES + 32];
	size_t length;

	copy_label(label, sizeof(label), entry->name);
	snprintf(line, sizeof(line), "%zu %c%u %s", offset, plain.letter, plain.bytes * 8u, label);
	length = strlen(line);
	if (enumeration)
		length += nvtx_text_copy(line + length, sizeof(line) - length - 2,
					 __atomic_load_n(&enumeration->text, __ATOMIC_ACQUIRE));
	line[length] = '\n';
	line[length + 1] = 0;
	add_line(d, line);
}

/* One field after another as the compiler lays them out, unless the program says where one lies. False: from here on it is not known. */
static bool describe(struct schema *s, struct description *d, uint32_t domain, const struct nvtx_schema *from)
{
	size_t at = 0;

	for (size_t i = 0; i < from->n_entries && i < FIELDS; i++) {
		const struct nvtx_entry *entry = &from->entries[i];
		const struct schema *known = find(domain, entry->type),
				    *enumeration = known && GET(known->enumeration) ? known : NULL;
		struct plain plain = { 0 };
		size_t offset;

		if (entry->type < sizeof(plains) / sizeof(plains[0]))
			plain = plains[entry->type];
		else if (entry->type == NVTX_TYPE_STRING_HANDLE)
			plain = (struct plain){ 'u', 8 };
		else if (enumeration)
			plain = (struct plain){ 'u', (uint8_t)GET(enumeration->bytes) };
		if (entry->flags & NVTX_ENTRY_NOT_PLAIN || !plain.bytes)
			plain.letter = 0;
		if (!plain.letter && !entry->offset && i)
			return false;
		offset = entry->offset || !plain.bytes ? entry->offset : round_up(at, plain.bytes);
		if (offset > UINT16_MAX / 2)
			return false;
		at = offset + plain.bytes;
		if (!plain.letter)
			continue;
		if (entry->type == NVTX_TYPE_STRING_HANDLE && entry->flags & NVTX_ENTRY_MESSAGE)
			SET(s->message, (uint16_t)(offset + 1));
		else
			describe_field(d, offset, plain, entry, enumeration);
	}
	return true;
}

static uint64_t id_of(const struct schema *s, uint64_t given)
{
	return given ? given : NVTX_SCHEMA_OURS + (uint64_t)(s - schemas);
}

static uint64_t schema_register(const void *domain, const struct nvtx_schema *from)
{
	struct description d = { .length = 0 };
	uint64_t id = from && from->mask & NVTX_FIELD_SCHEMA_ID ? from->id : 0;
	struct schema *s;

	if (!from || !(from->mask & NVTX_FIELD_ENTRIES) || !from->entries || !(from->mask & NVTX_FIELD_COUNT) ||
	    !(from->mask & NVTX_FIELD_TYPE))
		return 0;
	s = place_for(nvtx_domain_of(domain), id);
	if (!s)
		return id;
	if (from->type == NVTX_SCHEMA_STATIC)
		describe(s, &d, nvtx_domain_of(domain), from);
	SET(s->bytes,
	    from->mask & NVTX_FIELD_STATIC_BYTES && from->static_bytes < UINT32_MAX ? (uint32_t)from->static_bytes : 0);
	__atomic_store_n(&s->text, d.length ? nvtx_text(d.text, d.length) : 0, __ATOMIC_RELEASE);
	return id_of(s, id);
}

static uint64_t enum_register(const void *domain, const struct nvtx_enumeration *from)
{
	struct description d = { .length = 0 };
	uint64_t id = from && from->mask & NVTX_ENUM_ID ? from->id : 0;
	struct schema *s;

	if (!from || !(from->mask & NVTX_ENUM_ENTRIES) || !from->entries || !(from->mask & NVTX_ENUM_COUNT))
		return 0;
	s = place_for(nvtx_domain_of(domain), id);
	if (!s)
		return id;
	for (size_t i = 0; i < from->n_entries && i < FIELDS; i++) {
		char label[LABEL_BYTES], line[LABEL_BYTES + 32];

		copy_label(label, sizeof(label), from->entries[i].name);
		snprintf(line, sizeof(line), "\t%llu=%s", (unsigned long long)from->entries[i].value, label);
		add_line(&d, line);
	}
	SET(s->enumeration, true);
	SET(s->bytes, from->mask & NVTX_ENUM_BYTES && from->bytes <= 8 ? (uint32_t)from->bytes : 4);
	__atomic_store_n(&s->text, d.length ? nvtx_text(d.text, d.length) : 0, __ATOMIC_RELEASE);
	return id_of(s, id);
}

/* ---- payloads ----------------------------------------------------------------------------------------------------------- */

/* A payload of a plain type needs no schema of the program's. */
static uint32_t plain_text(uint64_t type, size_t *bytes)
{
	char line[32];

	if (type >= sizeof(plains) / sizeof(plains[0]) || !plains[type].bytes)
		return 0;
	*bytes = plains[type].bytes;
	snprintf(line, sizeof(line), "0 %c%u \n", plains[type].letter, plains[type].bytes * 8u);
	return nvtx_text(line, strlen(line));
}

static void write(struct thread *t, uint32_t domain, uint32_t range, const struct nvtx_data *data)
{
	union {
		struct gst_range_data data;
		uint8_t bytes[sizeof(struct gst_range_data) + KEPT_BYTES];
	} r = { .data = { .range = range } };
	const struct schema *s = find(domain, data->schema);
	size_t bytes = s ? GET(s->bytes) : 0;
	uint16_t size;
	uintptr_t depth;
	bool here;

	r.data.schema = s ? __atomic_load_n(&s->text, __ATOMIC_ACQUIRE) : plain_text(data->schema, &bytes);
	if (data->bytes != SIZE_MAX)
		bytes = data->bytes;
	r.data.bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
	r.data.kept = bytes < KEPT_BYTES ? (uint32_t)bytes : KEPT_BYTES;
	memcpy(r.data.data, data->data, r.data.kept);
	size = (uint16_t)((sizeof(r.data) + r.data.kept + 7) & ~7u);
	depth = nvtx_append_begin(t, &here);
	nvtx_text_write(t, r.data.schema, here);
	if (here)
		ring_append_here(&t->ring, GST_RANGE_DATA, size, &r);
	else
		ring_append(&t->ring, GST_RANGE_DATA, size, &r);
	nvtx_append_end(t, depth);
}

void nvtx_payload_write(struct thread *t, uint32_t domain, uint32_t range, const struct nvtx_data *data, size_t n)
{
	for (size_t i = 0; data && i < n && i < DATA_MAX; i++)
		if (data[i].data)
			write(t, domain, range, &data[i]);
}

/* The name of an event that is nothing but payloads may be a field in them. */
static struct nvtx_event event_of(const void *domain, const struct nvtx_data *data, size_t n)
{
	struct nvtx_event e = { .domain = nvtx_domain_of(domain), .data = data, .n_data = n };

	for (size_t i = 0; data && i < n && i < DATA_MAX; i++) {
		const struct schema *s = find(e.domain, data[i].schema);
		uint32_t message = s ? GET(s->message) : 0;
		size_t offset = message ? message - 1u : SIZE_MAX;
		const void *handle;

		if (offset == SIZE_MAX || !data[i].data || data[i].bytes < offset + sizeof(handle))
			continue;
		memcpy(&handle, (const uint8_t *)data[i].data + offset, sizeof(handle));
		e.name = nvtx_name_of(handle);
	}
	return e;
}

/* ---- the extension's functions ------------------------------------------------------------------------------------------ */

static void mark_payload(const void *domain, const struct nvtx_data *data, size_t n)
{
	struct nvtx_event e = event_of(domain, data, n);

	nvtx_range_mark(&e);
}

static int push_payload(const void *domain, const struct nvtx_data *data, size_t n)
{
	struct nvtx_event e = event_of(domain, data, n);

	return nvtx_range_push(&e);
}

static int pop_payload(const void *domain, const struct nvtx_data *data, size_t n)
{
	return nvtx_range_pop(nvtx_domain_of(domain), data, n);
}

static uint64_t start_payload(const void *domain, const struct nvtx_data *data, size_t n)
{
	struct nvtx_event e = event_of(domain, data, n);

	return nvtx_range_start(&e);
}

static void end_payload(const void *domain, uint64_t id, const struct nvtx_data *data, size_t n)
{
	(void)domain;
	nvtx_range_end(id, data, n);
}

static uint8_t domain_is_enabled(const void *domain)
{
	(void)domain;
	return 1;
}

int nvtx_payload_attach(const struct nvtx_extension *e)
{
	static void *const functions[] = {
		[NVTX_SCHEMA_REGISTER] = (void *)schema_register, [NVTX_ENUM_REGISTER] = (void *)enum_register,
		[NVTX_MARK_PAYLOAD] = (void *)mark_payload,       [NVTX_PUSH_PAYLOAD] = (void *)push_payload,
		[NVTX_POP_PAYLOAD] = (void *)pop_payload,         [NVTX_START_PAYLOAD] = (void *)start_payload,
		[NVTX_END_PAYLOAD] = (void *)end_payload,         [NVTX_DOMAIN_IS_ENABLED] = (void *)domain_is_enabled,
	};

	if (!e || e->module != NVTX_EXTENSION_PAYLOAD || !e->n_segments || !e->segments)
		return 0;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && i < e->segments[0].count; i++)
		e->segments[0].places[i] = (intptr_t)functions[i];
	return 1;
}
