/* SPDX-License-Identifier: BSD-2-Clause */
/* nvtx_domain.h: NVTX domains, each a name space of its own for ranges, and the names of categories in them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct thread;

#define NVTX_DOMAINS 64 /* the program's; what is beyond counts as the default domain */

struct nvtx_domain {
	uint32_t text; /* its name, 0 the default domain */
};

/* The domain of this name; the same again for the same name. Never NULL. */
struct nvtx_domain *nvtx_domain(uint32_t text);
/* Number of a domain, 0 the default one and whatever is none. */
uint32_t nvtx_domain_of(const void *handle);
uint32_t nvtx_domain_text(uint32_t domain);

void nvtx_category(uint32_t domain, uint32_t category, uint32_t text);
/* Those that were named before there was this file. */
void nvtx_categories_write(struct thread *t);
