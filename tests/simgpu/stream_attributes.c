/* SPDX-License-Identifier: BSD-2-Clause */
/* stream_attributes.c: what cuStreamSetAttribute sets. It is kept and given back; only the priority means the same elsewhere. */
#include "stream.h"

#include <string.h>

enum { LEAST = 0, GREATEST = -5 }; /* cuCtxGetStreamPriorityRange */

static CUresult get(const struct CUstream_st *stream, CUstreamAttrID id, CUstreamAttrValue *value)
{
	memset(value, 0, sizeof(*value));
	switch ((int)id) {
	case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		value->accessPolicyWindow = stream->attributes.window;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		value->syncPolicy = stream->attributes.policy ? stream->attributes.policy : CU_SYNC_POLICY_AUTO;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_PRIORITY:
		value->priority = stream->priority;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		value->memSyncDomainMap = stream->attributes.map;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
		value->memSyncDomain = stream->attributes.domain;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult set(struct CUstream_st *stream, CUstreamAttrID id, const CUstreamAttrValue *value)
{
	switch ((int)id) {
	case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		if (value->accessPolicyWindow.hitRatio < 0 || value->accessPolicyWindow.hitRatio > 1)
			return CUDA_ERROR_INVALID_VALUE;
		stream->attributes.window = value->accessPolicyWindow;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		if (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
			return CUDA_ERROR_INVALID_VALUE;
		stream->attributes.policy = value->syncPolicy;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_PRIORITY:
		if (value->priority > LEAST || value->priority < GREATEST)
			return CUDA_ERROR_INVALID_VALUE;
		stream->priority = value->priority;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		stream->attributes.map = value->memSyncDomainMap;
		return CUDA_SUCCESS;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
		if (value->memSyncDomain > CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE)
			return CUDA_ERROR_INVALID_VALUE;
		stream->attributes.domain = value->memSyncDomain;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult api_stream_attribute(CALL, CUstream s, CUstreamAttrID id, CUstreamAttrValue *value)
{
	struct CUstream_st *stream;
	CUresult result;

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = stream_find(call, s, &stream);
	if (!result)
		result = get(stream, id, value);
	sim_unlock();
	return result;
}

CUresult api_stream_set_attribute(CALL, CUstream s, CUstreamAttrID id, const CUstreamAttrValue *value)
{
	struct CUstream_st *stream;
	CUresult result;

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = stream_find(call, s, &stream);
	if (!result)
		result = set(stream, id, value);
	sim_unlock();
	return result;
}

/* Both must be of one context. A priority is no attribute to be copied: it was chosen when the stream was made. */
CUresult api_stream_copy_attributes(CALL, CUstream to, CUstream from)
{
	struct CUstream_st *one = NULL, *other = NULL;
	CUresult result;

	sim_lock();
	result = stream_find(call, to, &one);
	if (!result)
		result = stream_find(call, from, &other);
	if (!result && one->context != other->context)
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		one->attributes = other->attributes;
	sim_unlock();
	return result;
}
