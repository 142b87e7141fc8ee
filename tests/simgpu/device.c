/* SPDX-License-Identifier: BSD-2-Clause */
/* device.c: cuInit and what can be asked of a device. */
#include "device.h"

#include "call.h"
#include "settings.h"
#include "shared.h"

#include <stdio.h>
#include <string.h>

CUresult api_init(CALL, unsigned int flags)
{
	CUresult result = CUDA_SUCCESS;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (settings()->devices == 0)
		return CUDA_ERROR_NO_DEVICE;
	sim_lock();
	if (!sim_initialised()) {
		result = shared_attach();
		if (!result)
			sim_set_initialised();
	}
	sim_unlock();
	return result;
}

bool device_exists(CUdevice device)
{
	return device >= 0 && device < settings()->devices;
}

CUresult api_device_get(CALL, CUdevice *device, int ordinal)
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult api_device_count(CALL, int *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = settings()->devices;
	return CUDA_SUCCESS;
}

CUresult api_device_name(CALL, char *name, int len, CUdevice dev)
{
	if (!name || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)len, "simgpu H200 (simulated)");
	return CUDA_SUCCESS;
}

CUresult api_device_uuid(CALL, CUuuid *uuid, CUdevice dev)
{
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	memcpy(uuid->bytes, "simgpu\x40\x00\x80\x00simgpu", 16);
	uuid->bytes[15] = (char)dev;
	return CUDA_SUCCESS;
}

CUresult api_device_luid(CALL, char *luid, unsigned int *mask, CUdevice dev)
{
	(void)luid;
	(void)mask;
	(void)dev;
	return CUDA_ERROR_NOT_SUPPORTED; /* Windows only */
}

CUresult api_device_memory(CALL, size_t *bytes, CUdevice dev)
{
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = settings()->memory_bytes;
	return CUDA_SUCCESS;
}

CUresult api_device_attribute(CALL, int *value, CUdevice_attribute attribute, CUdevice dev)
{
	if (!value || attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	switch ((int)attribute) {
#define ATTRIBUTE(name, number)          \
	case CU_DEVICE_ATTRIBUTE_##name: \
		*value = number;         \
		break;
#include "device_attributes.def"
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*value = dev + 1;
		break;
	default:
		*value = 0;
	}
	return CUDA_SUCCESS;
}

CUresult api_device_capability(CALL, int *major, int *minor, CUdevice dev)
{
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*major = 9;
	*minor = 0;
	return CUDA_SUCCESS;
}

CUresult api_device_pci_id(CALL, char *id, int len, CUdevice dev)
{
	if (!id || len < 13)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(id, (size_t)len, "0000:%02X:00.0", (unsigned)dev + 1);
	return CUDA_SUCCESS;
}

CUresult api_device_by_pci_id(CALL, CUdevice *dev, const char *id)
{
	unsigned domain = 0, bus, slot, function = 0;

	if (!dev || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
		domain = 0;
		if (sscanf(id, "%x:%x.%x", &bus, &slot, &function) < 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (domain || slot || function || !bus || !device_exists((CUdevice)bus - 1))
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = (CUdevice)bus - 1;
	return CUDA_SUCCESS;
}

CUresult api_profiler_start(CALL)
{
	return CUDA_SUCCESS;
}

CUresult api_profiler_stop(CALL)
{
	return CUDA_SUCCESS;
}

CUresult api_device_properties(CALL, CUdevprop *properties, CUdevice dev)
{
	static const CUdevice_attribute attributes[] = {
		CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
		CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
		CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
		CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
		CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
		CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
		CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
		CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
		CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY,
		CU_DEVICE_ATTRIBUTE_WARP_SIZE,
		CU_DEVICE_ATTRIBUTE_MAX_PITCH,
		CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK,
		CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
		CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT,
	};
	int values[sizeof(attributes) / sizeof(*attributes)];
	CUresult result = properties ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	_Static_assert(sizeof(values) == sizeof(*properties), "its members are these attributes, in this order");
	for (unsigned i = 0; i < sizeof(attributes) / sizeof(*attributes) && !result; i++)
		result = api_device_attribute(call, &values[i], attributes[i], dev);
	if (!result)
		memcpy(properties, values, sizeof(values));
	return result;
}

/* Affinity is a matter of MPS, and there is none. */
CUresult api_device_affinity(CALL, int *supported, CUexecAffinityType type, CUdevice dev)
{
	if (!supported || (unsigned)type >= CU_EXEC_AFFINITY_TYPE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*supported = 0;
	return CUDA_SUCCESS;
}
