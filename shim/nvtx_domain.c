/* SPDX-License-Identifier: BSD-2-Clause */
#include "nvtx_domain.h"

#include "nvtx.h"
#include "nvtx_text.h"

#define CATEGORIES 256

static struct nvtx_domain domains[NVTX_DOMAINS]; /* [0]: the default domain */

static struct category {
	uint64_t key; /* domain << 32 | number, + 1; 0 free */
	uint32_t text;
} categories[CATEGORIES];

struct nvtx_domain *nvtx_domain(uint32_t text)
{
	if (!text)
		return &domains[0];
	for (unsigned i = 1; i < NVTX_DOMAINS; i++) {
		uint32_t there = __atomic_load_n(&domains[i].text, __ATOMIC_RELAXED);

		if ((!there && __atomic_compare_exchange_n(&domains[i].text, &there, text, false, __ATOMIC_RELAXED,
							   __ATOMIC_RELAXED)) ||
		    there == text)
			return &domains[i];
	}
	nvtx_untracked();
	return &domains[0];
}

uint32_t nvtx_domain_of(const void *handle)
{
	uintptr_t distance = (uintptr_t)handle - (uintptr_t)domains;

	return distance < sizeof(domains) ? (uint32_t)(distance / sizeof(domains[0])) : 0;
}

uint32_t nvtx_domain_text(uint32_t domain)
{
	return __atomic_load_n(&domains[domain].text, __ATOMIC_RELAXED);
}

static void write(struct thread *t, const struct category *c)
{
	uint64_t key = __atomic_load_n(&c->key, __ATOMIC_ACQUIRE) - 1;

	nvtx_write(t, GST_NVTX_CATEGORY, nvtx_domain_text((uint32_t)(key >> 32)), (uint32_t)key,
		   __atomic_load_n(&c->text, __ATOMIC_RELAXED));
}

void nvtx_category(uint32_t domain, uint32_t number, uint32_t text)
{
	uint64_t key = ((uint64_t)domain << 32 | number) + 1;
	struct thread *t;

	for (unsigned i = 0; i < CATEGORIES; i++) {
		struct category *c = &categories[i];
		uint64_t there = __atomic_load_n(&c->key, __ATOMIC_ACQUIRE);

		if (there != key &&
		    (there ||
		     !__atomic_compare_exchange_n(&c->key, &there, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) &&
		    there != key)
			continue;
		if (__atomic_exchange_n(&c->text, text, __ATOMIC_RELAXED) != text && (t = nvtx_thread()))
			write(t, c);
		return;
	}
	nvtx_untracked();
}

void nvtx_categories_write(struct thread *t)
{
	for (unsigned i = 0; i < CATEGORIES; i++)
		if (__atomic_load_n(&categories[i].key, __ATOMIC_ACQUIRE) &&
		    __atomic_load_n(&categories[i].text, __ATOMIC_RELAXED))
			write(t, &categories[i]);
}
