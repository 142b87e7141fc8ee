/* SPDX-License-Identifier: BSD-2-Clause */
#include "nvtx.h"

#include <errno.h>
#include <string.h>
#include <wchar.h>

#include "apart.h"
#include "clock.h"
#include "nvtx_api.h"
#include "nvtx_domain.h"
#include "nvtx_payload.h"
#include "nvtx_range.h"
#include "nvtx_slot.h"
#include "nvtx_text.h"
#include "settings.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjectionNvtx2(nvtx_get_table *get_table);
EXPORT int InitializeInjectionNvtxExtension(const struct nvtx_extension *e);

static uint32_t attached;  /* copies of NVTX that call us */
static uint32_t announced; /* the generation of the file that says whose the slot is */

/* ---- events ------------------------------------------------------------------------------------------------------------- */

/* What the program knows of the structure; the rest is zero. */
static struct nvtx_event event_of(const void *domain, const struct nvtx_attributes *given)
{
	struct nvtx_event e = { .domain = nvtx_domain_of(domain) };
	struct nvtx_attributes a = { 0 };

	if (given)
		memcpy(&a, given, given->bytes < sizeof(a) ? given->bytes : sizeof(a));
	e.category = a.category;
	if (a.payload_kind == NVTX_PAYLOAD_EXTENDED) {
		e.data = (const struct nvtx_data *)(uintptr_t)a.payload;
		e.n_data = a.extended > 0 ? (size_t)a.extended : 0;
	} else if (a.payload_kind && a.payload_kind <= NVTX_PAYLOAD_LAST) {
		e.payload_kind = a.payload_kind;
		e.payload = a.payload_kind > 3 ? (uint32_t)a.payload
					       : a.payload; /* of the small ones the rest is anything */
	}
	if (a.message_kind == NVTX_ASCII)
		e.name = nvtx_name_ascii(a.message);
	else if (a.message_kind == NVTX_WIDE)
		e.name = nvtx_name_wide(a.message);
	else if (a.message_kind == NVTX_REGISTERED)
		e.name = nvtx_name_of(a.message);
	return e;
}

static void domain_mark_ex(const void *domain, const struct nvtx_attributes *a)
{
	struct nvtx_event e = event_of(domain, a);

	nvtx_range_mark(&e);
}

static uint64_t domain_start_ex(const void *domain, const struct nvtx_attributes *a)
{
	struct nvtx_event e = event_of(domain, a);

	return nvtx_range_start(&e);
}

static void domain_end(const void *domain, uint64_t id)
{
	(void)domain; /* the id says it */
	nvtx_range_end(id, NULL, 0);
}

static int domain_push_ex(const void *domain, const struct nvtx_attributes *a)
{
	struct nvtx_event e = event_of(domain, a);

	return nvtx_range_push(&e);
}

static int domain_pop(const void *domain)
{
	return nvtx_range_pop(nvtx_domain_of(domain), NULL, 0);
}

static void mark_ex(const struct nvtx_attributes *a)
{
	domain_mark_ex(NULL, a);
}

static void mark_a(const char *text)
{
	nvtx_range_mark(&(struct nvtx_event){ .name = nvtx_name_ascii(text) });
}

static void mark_w(const wchar_t *text)
{
	nvtx_range_mark(&(struct nvtx_event){ .name = nvtx_name_wide(text) });
}

static uint64_t start_ex(const struct nvtx_attributes *a)
{
	return domain_start_ex(NULL, a);
}

static uint64_t start_a(const char *text)
{
	return nvtx_range_start(&(struct nvtx_event){ .name = nvtx_name_ascii(text) });
}

static uint64_t start_w(const wchar_t *text)
{
	return nvtx_range_start(&(struct nvtx_event){ .name = nvtx_name_wide(text) });
}

static void end(uint64_t id)
{
	nvtx_range_end(id, NULL, 0);
}

static int push_ex(const struct nvtx_attributes *a)
{
	return domain_push_ex(NULL, a);
}

static int push_a(const char *text)
{
	return nvtx_range_push(&(struct nvtx_event){ .name = nvtx_name_ascii(text) });
}

static int push_w(const wchar_t *text)
{
	return nvtx_range_push(&(struct nvtx_event){ .name = nvtx_name_wide(text) });
}

static int pop(void)
{
	return domain_pop(NULL);
}

/* ---- names -------------------------------------------------------------------------------------------------------------- */

static void category_a(uint32_t category, const char *text)
{
	nvtx_category(0, category, nvtx_text_ascii(text));
}

static void category_w(uint32_t category, const wchar_t *text)
{
	nvtx_category(0, category, nvtx_text_wide(text));
}

static void domain_category_a(const void *domain, uint32_t category, const char *text)
{
	nvtx_category(nvtx_domain_of(domain), category, nvtx_text_ascii(text));
}

static void domain_category_w(const void *domain, uint32_t category, const wchar_t *text)
{
	nvtx_category(nvtx_domain_of(domain), category, nvtx_text_wide(text));
}

static void *domain_string_a(const void *domain, const char *text)
{
	(void)domain;
	return nvtx_name_handle(nvtx_name_ascii(text));
}

static void *domain_string_w(const void *domain, const wchar_t *text)
{
	(void)domain;
	return nvtx_name_handle(nvtx_name_wide(text));
}

static void *domain_create_a(const char *text)
{
	return nvtx_domain(nvtx_text_ascii(text));
}

static void *domain_create_w(const wchar_t *text)
{
	return nvtx_domain(nvtx_text_wide(text));
}

/* Its ranges may be open still, and another library may have made it too. */
static void domain_destroy(const void *domain)
{
	(void)domain;
}

/* ---- attaching ---------------------------------------------------------------------------------------------------------- */

static nvtx_function *const core[] = {
	[NVTX_MARK_EX] = (nvtx_function *)mark_ex,
	[NVTX_MARK_A] = (nvtx_function *)mark_a,
	[NVTX_MARK_W] = (nvtx_function *)mark_w,
	[NVTX_START_EX] = (nvtx_function *)start_ex,
	[NVTX_START_A] = (nvtx_function *)start_a,
	[NVTX_START_W] = (nvtx_function *)start_w,
	[NVTX_END] = (nvtx_function *)end,
	[NVTX_PUSH_EX] = (nvtx_function *)push_ex,
	[NVTX_PUSH_A] = (nvtx_function *)push_a,
	[NVTX_PUSH_W] = (nvtx_function *)push_w,
	[NVTX_POP] = (nvtx_function *)pop,
	[NVTX_CATEGORY_A] = (nvtx_function *)category_a,
	[NVTX_CATEGORY_W] = (nvtx_function *)category_w,
};

static nvtx_function *const core2[] = {
	[NVTX_DOMAIN_MARK_EX] = (nvtx_function *)domain_mark_ex,
	[NVTX_DOMAIN_START_EX] = (nvtx_function *)domain_start_ex,
	[NVTX_DOMAIN_END] = (nvtx_function *)domain_end,
	[NVTX_DOMAIN_PUSH_EX] = (nvtx_function *)domain_push_ex,
	[NVTX_DOMAIN_POP] = (nvtx_function *)domain_pop,
	[NVTX_DOMAIN_CATEGORY_A] = (nvtx_function *)domain_category_a,
	[NVTX_DOMAIN_CATEGORY_W] = (nvtx_function *)domain_category_w,
	[NVTX_DOMAIN_STRING_A] = (nvtx_function *)domain_string_a,
	[NVTX_DOMAIN_STRING_W] = (nvtx_function *)domain_string_w,
	[NVTX_DOMAIN_CREATE_A] = (nvtx_function *)domain_create_a,
	[NVTX_DOMAIN_CREATE_W] = (nvtx_function *)domain_create_w,
	[NVTX_DOMAIN_DESTROY] = (nvtx_function *)domain_destroy,
};

static bool attach_module(const struct nvtx_callbacks *callbacks, int module, nvtx_function *const *ours, size_t n)
{
	nvtx_place **places = NULL;
	unsigned count = 0;

	if (!callbacks->module(module, &places, &count) || !places)
		return false;
	for (size_t i = 1; i < n && i < count; i++)
		if (ours[i] && places[i])
			*places[i] = ours[i];
	return true;
}

static void choose_clock(void *arg)
{
	(void)arg;
	clock_choose_once();
}

/* Ticks are taken from now on, also where there is no file yet. */
static bool may_record(void)
{
	if (!settings.enabled || nvtx_slot() != GST_NVTX_OURS)
		return false;
	if (!clock_is_chosen())
		apart_run(choose_clock, NULL);
	return true;
}

/* Each copy of NVTX calls this once, and may call it again. */
int InitializeInjectionNvtx2(nvtx_get_table *get_table)
{
	const struct nvtx_callbacks *callbacks;
	int saved_errno = errno;
	struct thread *t;
	uint32_t n;

	if (!get_table || !may_record())
		return 0;
	callbacks = get_table(NVTX_TABLE_CALLBACKS);
	if (!callbacks || callbacks->bytes < sizeof(*callbacks) ||
	    !attach_module(callbacks, NVTX_MODULE_CORE, core, sizeof(core) / sizeof(core[0])))
		return 0;
	attach_module(callbacks, NVTX_MODULE_CORE2, core2, sizeof(core2) / sizeof(core2[0]));
	n = __atomic_add_fetch(&attached, 1, __ATOMIC_RELAXED);
	t = nvtx_thread();
	if (t)
		nvtx_write(t, GST_NVTX_ATTACHED, 0, n, 0);
	errno = saved_errno;
	return 1;
}

int InitializeInjectionNvtxExtension(const struct nvtx_extension *e)
{
	return may_record() ? nvtx_payload_attach(e) : 0;
}

/* ---- records ------------------------------------------------------------------------------------------------------------ */

void nvtx_write(struct thread *t, enum gst_nvtx_what what, uint32_t domain, uint32_t number, uint32_t name)
{
	struct gst_nvtx r = { .ticks = clock_ticks(), .what = what, .domain = domain, .number = number, .name = name };
	bool here;
	uintptr_t depth = nvtx_append_begin(t, &here);

	nvtx_text_write(t, domain, here);
	nvtx_text_write(t, name, here);
	if (here)
		ring_append_here(&t->ring, GST_NVTX, sizeof(r), &r);
	else
		ring_append(&t->ring, GST_NVTX, sizeof(r), &r);
	nvtx_append_end(t, depth);
}

static void announce_slot(struct thread *t)
{
	uint32_t n = __atomic_load_n(&attached, __ATOMIC_RELAXED);

	enum gst_nvtx_what slot = nvtx_slot_again();

	if (slot == GST_NVTX_TAKEN)
		settings_log("%s is in NVTX_INJECTION64_PATH: NVTX ranges are not recorded", nvtx_slot_other());
	nvtx_write(t, slot, 0, 0, slot == GST_NVTX_TAKEN ? nvtx_text_ascii(nvtx_slot_other()) : 0);
	if (n)
		nvtx_write(t, GST_NVTX_ATTACHED, 0, n, 0);
	nvtx_categories_write(t);
	nvtx_ranges_started_announce(t);
}

void nvtx_announce(struct thread *t)
{
	uint32_t generation = *process_generation, before = __atomic_load_n(&announced, __ATOMIC_RELAXED);

	if (before != generation &&
	    __atomic_compare_exchange_n(&announced, &before, generation, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		announce_slot(t);
	nvtx_ranges_announce(t);
}

void nvtx_thread_ended(void)
{
	nvtx_ranges_thread_ended();
}

void nvtx_forget(void)
{
	nvtx_ranges_forget();
}
