/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

#include <stdio.h>

void call_init(void)
{
	SHOW(cuInit, one_in(3) ? 1 + below(3) : 0);
}

void call_device(void)
{
	CUdevice device = (CUdevice)UNTOUCHED;
	int value = (int)UNTOUCHED;
	char name[64] = "";
	size_t bytes = UNTOUCHED;

	switch (below(5)) {
	case 0:
		SHOW(cuDeviceGet, one_in(6) ? NULL : &device, (int)below(4) - 1);
		show_number(device);
		break;
	case 1:
		SHOW(cuDeviceGetCount, one_in(6) ? NULL : &value);
		show_number(value);
		break;
	case 2:
		SHOW(cuDeviceGetName, name, (int)below(70) - 3, (CUdevice)below(3));
		printf(" %s", name);
		break;
	case 3:
		SHOW(cuDeviceGetAttribute, &value, (CUdevice_attribute)below(160), (CUdevice)below(2));
		show_number(value);
		break;
	default:
		SHOW(cuDeviceTotalMem_v2, &bytes, (CUdevice)below(2));
		show_number((long long)bytes);
	}
}

void call_error_name(void)
{
	const char *name = "untouched";

	SHOW(cuGetErrorName, (CUresult)below(1000), one_in(8) ? NULL : &name);
	printf(" %s", name ? name : "null");
}
