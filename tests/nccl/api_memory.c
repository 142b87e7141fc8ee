/* SPDX-License-Identifier: BSD-2-Clause */
/* api_memory.c: memory and its registration, which need nothing here; and what came after 2.28, most of which needs hardware that the
 * simulated devices are not: it says so as the real library does there. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ncclWindow_vidmem {
	void *memory, *registration;
};

API(ncclResult_t, ncclMemAlloc, (void **ptr, size_t size))
{
	struct log_call call = log_begin("ncclMemAlloc", NULL);
	ncclResult_t result = ptr && size ? ncclSuccess : ncclInvalidArgument;
	CUdeviceptr memory = 0;
	CUcontext context;

	if (!result)
		result = driver_context(&context);
	if (!result && driver.cuMemAlloc(&memory, size))
		result = ncclUnhandledCudaError;
	if (!result)
		*ptr = (void *)(uintptr_t)memory;
	return log_end(&call, result);
}

API(ncclResult_t, ncclMemFree, (void *ptr))
{
	struct log_call call = log_begin("ncclMemFree", NULL);

	if (!ptr)
		return log_end(&call, ncclSuccess);
	return log_end(&call, driver_ready() && !driver.cuMemFree((CUdeviceptr)(uintptr_t)ptr)
				      ? ncclSuccess
				      : ncclUnhandledCudaError);
}

API(ncclResult_t, ncclCommRegister, (const ncclComm_t comm, void *buff, size_t size, void **handle))
{
	struct log_call call = log_begin("ncclCommRegister", comm);
	ncclResult_t result = comm_check(comm);

	if (!result && (!buff || !size || !handle))
		result = ncclInvalidArgument;
	if (!result)
		*handle = malloc(1);
	return log_end(&call, !result && !*handle ? ncclSystemError : result);
}

API(ncclResult_t, ncclCommDeregister, (const ncclComm_t comm, void *handle))
{
	struct log_call call = log_begin("ncclCommDeregister", comm);
	ncclResult_t result = comm_check(comm);

	if (!result)
		free(handle);
	return log_end(&call, result);
}

/* Without symmetric memory a window is a buffer registered by the public call. */
API(ncclResult_t, ncclCommWindowRegister, (ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win, int flags))
{
	struct log_call call = log_begin("ncclCommWindowRegister", comm);
	ncclResult_t result = comm_check(comm);
	ncclWindow_t made = calloc(1, sizeof(*made));

	(void)flags;
	if (!result && (!win || !made))
		result = win ? ncclSystemError : ncclInvalidArgument;
	if (!result)
		result = ncclCommRegister(comm, buff, size, &made->registration);
	if (result) {
		free(made);
	} else {
		made->memory = buff;
		*win = made;
	}
	return log_end(&call, result);
}

API(ncclResult_t, ncclCommWindowDeregister, (ncclComm_t comm, ncclWindow_t win))
{
	struct log_call call = log_begin("ncclCommWindowDeregister", comm);
	ncclResult_t result = win ? ncclCommDeregister(comm, win->registration) : comm_check(comm);

	if (!result)
		free(win);
	return log_end(&call, result);
}

API(ncclResult_t, ncclWinGetUserPtr, (ncclComm_t comm, ncclWindow_t win, void **ptr))
{
	struct log_call call = log_begin("ncclWinGetUserPtr", comm);
	ncclResult_t result = comm_check(comm);

	if (!result && (!win || !ptr))
		result = ncclInvalidArgument;
	if (!result)
		*ptr = win->memory;
	return log_end(&call, result);
}

/* ---- the device's own interface, one-sided calls --------------------------------------------------------- */

static ncclResult_t unsupported(const char *name, struct ncclComm *comm)
{
	struct log_call call = log_begin(name, comm);
	ncclResult_t result = comm_check(comm);

	if (!result)
		result = comm_failed(comm, ncclInvalidUsage, "not supported by these devices");
	group_error(result);
	return log_end(&call, result);
}

API(ncclResult_t, ncclDevCommCreate,
    (ncclComm_t comm, const struct ncclDevCommRequirements *needs, struct ncclDevComm *made))
{
	(void)needs;
	(void)made;
	return unsupported("ncclDevCommCreate", comm);
}

API(ncclResult_t, ncclDevCommDestroy, (ncclComm_t comm, const struct ncclDevComm *made))
{
	(void)made;
	return unsupported("ncclDevCommDestroy", comm);
}

API(ncclResult_t, ncclCommQueryProperties, (ncclComm_t comm, struct ncclCommProperties *properties))
{
	(void)properties;
	return unsupported("ncclCommQueryProperties", comm);
}

API(ncclResult_t, ncclPutSignal,
    (const void *send, size_t count, ncclDataType_t type, int peer, ncclWindow_t win, size_t offset, int signal,
     int context, unsigned int flags, ncclComm_t comm, CUstream stream))
{
	(void)send, (void)count, (void)type, (void)peer, (void)win, (void)offset;
	(void)signal, (void)context, (void)flags, (void)stream;
	return unsupported("ncclPutSignal", comm);
}

API(ncclResult_t, ncclSignal, (int peer, int signal, int context, unsigned int flags, ncclComm_t comm, CUstream stream))
{
	(void)peer, (void)signal, (void)context, (void)flags, (void)stream;
	return unsupported("ncclSignal", comm);
}

API(ncclResult_t, ncclWaitSignal, (int count, ncclWaitSignalDesc_t *signals, ncclComm_t comm, CUstream stream))
{
	(void)count, (void)signals, (void)stream;
	return unsupported("ncclWaitSignal", comm);
}

/* ---- suspending, statistics, encryption ------------------------------------------------------------------ */

static ncclResult_t suspend(const char *name, struct ncclComm *comm, bool suspended)
{
	struct log_call call = log_begin(name, comm);
	ncclResult_t result = comm_check(comm);

	if (!result && comm->suspended == suspended)
		result = ncclInvalidUsage;
	if (!result)
		comm->suspended = suspended;
	return log_end(&call, result);
}

API(ncclResult_t, ncclCommSuspend, (ncclComm_t comm, int flags))
{
	(void)flags;
	return suspend("ncclCommSuspend", comm, true);
}

API(ncclResult_t, ncclCommResume, (ncclComm_t comm))
{
	return suspend("ncclCommResume", comm, false);
}

API(ncclResult_t, ncclCommMemStats, (ncclComm_t comm, ncclCommMemStat_t stat, uint64_t *value))
{
	struct log_call call = log_begin("ncclCommMemStats", comm);
	ncclResult_t result = comm_check(comm);

	if (!result && (!value || (unsigned)stat > ncclStatGpuMemTotal))
		result = ncclInvalidArgument;
	if (!result) /* we take no device memory */
		*value = stat == ncclStatGpuMemSuspended && comm->suspended;
	return log_end(&call, result);
}

API(ncclResult_t, ncclSetEncryption, (const ncclEncryptionConfig_t *config))
{
	struct log_call call = log_begin("ncclSetEncryption", NULL);

	return log_end(&call, !config ? ncclInvalidArgument : config->mode ? ncclInvalidUsage : ncclSuccess);
}

/* ---- parameters: a few of the documented environment variables ------------------------------------------- */

struct ncclParamHandle {
	const char *key, *otherwise;
};

static struct ncclParamHandle parameters[] = { { "NCCL_DEBUG", "" },
					       { "NCCL_MAX_NCHANNELS", "24" },
					       { "NCCL_COMM_BLOCKING", "1" },
					       { "NCCL_CUMEM_ENABLE", "0" } };

enum { PARAMETERS = sizeof(parameters) / sizeof(*parameters) };

static const char *text_of(ncclParamHandle_t handle)
{
	const char *text = getenv(handle->key);

	return text ? text : handle->otherwise;
}

API(ncclResult_t, ncclParamBind, (ncclParamHandle_t * handle, const char *key))
{
	struct log_call call = log_begin("ncclParamBind", NULL);

	for (unsigned i = 0; handle && key && i < PARAMETERS; i++)
		if (!strcmp(parameters[i].key, key)) {
			*handle = &parameters[i];
			return log_end(&call, ncclSuccess);
		}
	return log_end(&call, ncclInvalidArgument);
}

#define PARAM_GET(suffix, type)                                                           \
	API(ncclResult_t, ncclParamGet##suffix, (ncclParamHandle_t handle, type * value)) \
	{                                                                                 \
		struct log_call call = log_begin("ncclParamGet" #suffix, NULL);           \
		const char *text = handle ? text_of(handle) : "";                         \
		char *end = NULL;                                                         \
		long long number = strtoll(text, &end, 0);                                \
                                                                                          \
		if (!value || end == text || *end)                                        \
			return log_end(&call, ncclInvalidArgument);                       \
		*value = (type)number;                                                    \
		return log_end(&call, ncclSuccess);                                       \
	}
PARAM_GET(I8, int8_t)
PARAM_GET(I16, int16_t)
PARAM_GET(I32, int32_t)
PARAM_GET(I64, int64_t)
PARAM_GET(U8, uint8_t)
PARAM_GET(U16, uint16_t)
PARAM_GET(U32, uint32_t)
PARAM_GET(U64, uint64_t)

API(ncclResult_t, ncclParamGetStr, (ncclParamHandle_t handle, const char **value))
{
	struct log_call call = log_begin("ncclParamGetStr", NULL);

	if (!handle || !value)
		return log_end(&call, ncclInvalidArgument);
	*value = text_of(handle);
	return log_end(&call, ncclSuccess);
}

API(ncclResult_t, ncclParamGet, (ncclParamHandle_t handle, void *value, int room, int *bytes))
{
	struct log_call call = log_begin("ncclParamGet", NULL);
	int length;

	if (!handle || !value || !bytes)
		return log_end(&call, ncclInvalidArgument);
	length = (int)strlen(text_of(handle)) + 1;
	if (length > room)
		return log_end(&call, ncclInvalidArgument);
	memcpy(value, text_of(handle), (size_t)length);
	*bytes = length;
	return log_end(&call, ncclSuccess);
}

API(ncclResult_t, ncclParamGetParameter, (const char *key, const char **value, int *bytes))
{
	struct log_call call = log_begin("ncclParamGetParameter", NULL);

	for (unsigned i = 0; key && value && bytes && i < PARAMETERS; i++)
		if (!strcmp(parameters[i].key, key)) {
			*value = text_of(&parameters[i]);
			*bytes = (int)strlen(*value) + 1;
			return log_end(&call, ncclSuccess);
		}
	return log_end(&call, ncclInvalidArgument);
}

API(ncclResult_t, ncclParamGetAllParameterKeys, (const char ***keys, int *count))
{
	static const char *all[PARAMETERS];
	struct log_call call = log_begin("ncclParamGetAllParameterKeys", NULL);

	if (!keys || !count)
		return log_end(&call, ncclInvalidArgument);
	for (unsigned i = 0; i < PARAMETERS; i++)
		all[i] = parameters[i].key;
	*keys = all;
	*count = PARAMETERS;
	return log_end(&call, ncclSuccess);
}

API(void, ncclParamDumpAll, (void))
{
	struct log_call call = log_begin("ncclParamDumpAll", NULL);

	for (unsigned i = 0; i < PARAMETERS; i++)
		fprintf(stderr, "%s=%s\n", parameters[i].key, text_of(&parameters[i]));
	log_end(&call, ncclSuccess);
}
