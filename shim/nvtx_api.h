/* SPDX-License-Identifier: BSD-2-Clause */
/* nvtx_api.h: what is known of NVTX, version 3, from its public headers' documentation: what a program's copy of it hands to a tool.
 *
 * NVTX is a set of headers; each library that includes them has a copy of its own. At its first use a copy loads the library that
 * NVTX_INJECTION64_PATH names and calls its InitializeInjectionNvtx2 with a function that gives out tables. In the table of callbacks is
 * a function that gives for each module an array of places for function pointers, indexed by the numbers below (0 is void): those
 * that the tool sets are called from then on, the others do nothing. Extensions, payloads among them, ask
 * InitializeInjectionNvtxExtension in the same way. NVTX 2 (libnvToolsExt.so) does the same as the first. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum nvtx_table_id { NVTX_TABLE_CALLBACKS = 1 };
enum nvtx_module { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

enum nvtx_core { /* places in module CORE */
	NVTX_MARK_EX = 1, NVTX_MARK_A, NVTX_MARK_W,
	NVTX_START_EX, NVTX_START_A, NVTX_START_W, NVTX_END,
	NVTX_PUSH_EX, NVTX_PUSH_A, NVTX_PUSH_W, NVTX_POP,
	NVTX_CATEGORY_A, NVTX_CATEGORY_W,
};

enum nvtx_core2 { /* … in module CORE2: the same in a domain */
	NVTX_DOMAIN_MARK_EX = 1, NVTX_DOMAIN_START_EX, NVTX_DOMAIN_END, NVTX_DOMAIN_PUSH_EX, NVTX_DOMAIN_POP,
	NVTX_DOMAIN_CATEGORY_A = 8, NVTX_DOMAIN_CATEGORY_W, NVTX_DOMAIN_STRING_A, NVTX_DOMAIN_STRING_W,
	NVTX_DOMAIN_CREATE_A, NVTX_DOMAIN_CREATE_W, NVTX_DOMAIN_DESTROY,
};

typedef void nvtx_function(void);
typedef nvtx_function *nvtx_place; /* where a tool puts its function */
typedef const void *nvtx_get_table(uint32_t id);

struct nvtx_callbacks { /* table CALLBACKS */
	size_t bytes;
	int (*module)(int module, nvtx_place ***out, unsigned *count); /* *count: places, the void first one too; 0: no such module */
};

enum nvtx_message { NVTX_ASCII = 1, NVTX_WIDE = 2, NVTX_REGISTERED = 3 };
#define NVTX_PAYLOAD_LAST 6           /* kinds of plain payloads: 1 … 6 (gst_range.payload_kind) */
#define NVTX_PAYLOAD_EXTENDED 0xdfbd0009u /* the payload is the address of `extended` many struct nvtx_data */

struct nvtx_attributes { /* of an event */
	uint16_t version;
	uint16_t bytes; /* of this structure, as the program knows it */
	uint32_t category;
	int32_t color_kind;
	uint32_t color;
	uint32_t payload_kind;
	int32_t extended;
	uint64_t payload;
	int32_t message_kind; /* enum nvtx_message */
	int32_t zero;
	const void *message;
};
_Static_assert(sizeof(struct nvtx_attributes) == 48, "nvtxEventAttributes_v2");

#define NVTX_NOT_TRACKED (-2) /* what push and pop return where nobody counts */

/* ---- the extension for payloads ---- */

struct nvtx_segment {
	size_t id, count;
	intptr_t *places;
};

struct nvtx_extension {
	uint16_t version, bytes, module, compatible;
	size_t n_segments;
	struct nvtx_segment *segments;
};

#define NVTX_EXTENSION_PAYLOAD 2
enum nvtx_payload_place {
	NVTX_SCHEMA_REGISTER, NVTX_ENUM_REGISTER, NVTX_MARK_PAYLOAD, NVTX_PUSH_PAYLOAD, NVTX_POP_PAYLOAD,
	NVTX_START_PAYLOAD, NVTX_END_PAYLOAD, NVTX_DOMAIN_IS_ENABLED,
};

struct nvtx_data {
	uint64_t schema;
	size_t bytes; /* SIZE_MAX: the schema says */
	const void *data;
};

enum nvtx_field_mask { /* which of a schema's attributes are set; of an enumeration the same up to COUNT, then SIZE and ID */
	NVTX_FIELD_TYPE = 1 << 2,
	NVTX_FIELD_ENTRIES = 1 << 4,
	NVTX_FIELD_COUNT = 1 << 5,
	NVTX_FIELD_STATIC_BYTES = 1 << 6,
	NVTX_FIELD_SCHEMA_ID = 1 << 8,
	NVTX_ENUM_ENTRIES = 1 << 2,
	NVTX_ENUM_COUNT = 1 << 3,
	NVTX_ENUM_BYTES = 1 << 4,
	NVTX_ENUM_ID = 1 << 5,
};

#define NVTX_SCHEMA_STATIC 1 /* nvtx_schema.type: fields at fixed places */
#define NVTX_SCHEMA_IDS (1u << 24)    /* ids below are types, from here on the program's … */
#define NVTX_SCHEMA_OURS (1ull << 32) /* … and from here on the tool's */

#define NVTX_ENTRY_NOT_PLAIN 0x7eu /* flags: it is an address, an offset, an array */
#define NVTX_ENTRY_MESSAGE (1u << 10) /* … it is the event's message */

enum nvtx_entry_type { /* plain ones: 1 … 22, see nvtx_payload.c */
	NVTX_TYPE_ADDRESS = 23,
	NVTX_TYPE_STRING_HANDLE = 80,
};

struct nvtx_entry {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t detail, offset; /* offset 0: where the compiler would put it */
	const void *semantics, *reserved;
};
_Static_assert(sizeof(struct nvtx_entry) == 64, "nvtxPayloadSchemaEntry_v1");

struct nvtx_schema {
	uint64_t mask;
	const char *name;
	uint64_t type, flags;
	const struct nvtx_entry *entries;
	size_t n_entries, static_bytes, align;
	uint64_t id;
};

struct nvtx_enumerator {
	const char *name;
	uint64_t value;
	int8_t is_flag;
};

struct nvtx_enumeration {
	uint64_t mask;
	const char *name;
	const struct nvtx_enumerator *entries;
	size_t n_entries, bytes;
	uint64_t id;
};
