/* SPDX-License-Identifier: BSD-2-Clause */
/* A library with a copy of NVTX of its own, as cuDNN, NCCL and others have. */
#include <nvtx3/nvToolsExt.h>

int copy_push(const char *domain, const char *name);
int copy_pop(const char *domain);

static nvtxEventAttributes_t named(const char *name)
{
	nvtxEventAttributes_t a = { .version = NVTX_VERSION,
				    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				    .messageType = NVTX_MESSAGE_TYPE_ASCII,
				    .message.ascii = name };

	return a;
}

int copy_push(const char *domain, const char *name)
{
	nvtxEventAttributes_t a = named(name);

	return nvtxDomainRangePushEx(nvtxDomainCreateA(domain), &a);
}

int copy_pop(const char *domain)
{
	return nvtxDomainRangePop(nvtxDomainCreateA(domain));
}
