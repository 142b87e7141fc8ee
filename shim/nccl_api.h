/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl_api.h: NCCL's host calls as their binary interface has them: those of 2.28, then those that 2.29 to 2.32 added. Written from
 * the documented interface, so that neither the shim nor the tests' own libnccl needs NVIDIA's header; a test compares the names with
 * it. Structs end where a later version appends: `size` says how far the caller's goes. A cudaStream_t is a CUstream. */
#pragma once

#include <cuda.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
typedef struct ncclParamHandle *ncclParamHandle_t;

enum { NCCL_UNIQUE_ID_BYTES = 128 };
typedef struct {
	char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
	ncclSuccess,
	ncclUnhandledCudaError,
	ncclSystemError,
	ncclInternalError,
	ncclInvalidArgument,
	ncclInvalidUsage,
	ncclRemoteError,
	ncclInProgress,
	ncclTimeout, /* from 2.31 on */
	ncclNumResults
} ncclResult_t;

typedef enum {
	ncclSum,
	ncclProd,
	ncclMax,
	ncclMin,
	ncclAvg,
	ncclNumOps, /* and the first number of ncclRedOpCreate */
	ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

typedef enum {
	ncclInt8,
	ncclUint8,
	ncclInt32,
	ncclUint32,
	ncclInt64,
	ncclUint64,
	ncclFloat16,
	ncclFloat32,
	ncclFloat64,
	ncclBfloat16,
	ncclFloat8e4m3,
	ncclFloat8e5m2,
	ncclNumTypes
} ncclDataType_t;

typedef enum { ncclScalarDevice, ncclScalarHostImmediate } ncclScalarResidence_t;

typedef enum {
	ncclStatGpuMemSuspend,
	ncclStatGpuMemSuspended,
	ncclStatGpuMemPersist,
	ncclStatGpuMemTotal
} ncclCommMemStat_t;

enum {
	NCCL_CONFIG_UNDEF_INT = INT_MIN,
	NCCL_CONFIG_MAGIC = (int)0xcafebeef,
	NCCL_SPLIT_NOCOLOR = -1,
	NCCL_SHRINK_ABORT = 1, /* flag: end what the parent has under way first */
	NCCL_SIM_INFO_MAGIC = 0x74685283
};

typedef struct {
	size_t size;
	unsigned int magic, version;
	int blocking;
	int cgaClusterSize;
	int minCTAs, maxCTAs;
	const char *netName;
	int splitShare;
	int trafficClass;
	const char *commName;
	int collnetEnable;
	int CTAPolicy;
	int shrinkShare;
	int nvlsCTAs;
	int nChannelsPerNetPeer;
	int nvlinkCentricSched; /* the last of 2.28 */
} ncclConfig_t;

typedef struct {
	size_t size;
	unsigned int magic, version;
	float estimatedTime;
} ncclSimInfo_t;

typedef struct {
	size_t size;
	unsigned int magic, version;
} ncclCollConfig_t;

typedef struct {
	size_t size;
	unsigned int magic, version;
	int mode;
	const char *psk;
} ncclEncryptionConfig_t;

typedef struct {
	int opCnt, peer, sigIdx, ctx;
} ncclWaitSignalDesc_t;

/* ---- 2.28 ------------------------------------------------------------------------------------------------ */

ncclResult_t ncclGetVersion(int *version);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);
void ncclResetDebugInit(void);

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config);
ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nids, ncclUniqueId *ids,
				      ncclConfig_t *config);
ncclResult_t ncclCommInitAll(ncclComm_t *comms, int ndev, const int *devices);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config);
ncclResult_t ncclCommShrink(ncclComm_t comm, int *exclude, int count, ncclComm_t *newcomm, ncclConfig_t *config,
			    int flags);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank);

ncclResult_t ncclMemAlloc(void **ptr, size_t size);
ncclResult_t ncclMemFree(void *ptr);
ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buff, size_t size, void **handle);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle);
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win, int flags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
				      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
			   ncclComm_t comm, CUstream stream);
ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
			   CUstream stream);
ncclResult_t ncclBcast(void *buff, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream);
ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
			ncclComm_t comm, CUstream stream);
ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
			   CUstream stream);
ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
			       ncclComm_t comm, CUstream stream);
ncclResult_t ncclAlltoAll(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
			  CUstream stream);
ncclResult_t ncclGather(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
			CUstream stream);
ncclResult_t ncclScatter(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
			 CUstream stream);
ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream);
ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream);

ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info);

/* Of nccl_device.h, whose structs nobody here looks into. */
struct ncclDevComm;
struct ncclDevCommRequirements;
struct ncclCommProperties;
ncclResult_t ncclDevCommCreate(ncclComm_t comm, const struct ncclDevCommRequirements *needs, struct ncclDevComm *made);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const struct ncclDevComm *made);

/* ---- 2.29 to 2.32 ---------------------------------------------------------------------------------------- */

ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id);
ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank, ncclComm_t *newcomm,
			  ncclConfig_t *config);
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t ncclCommResume(ncclComm_t comm);
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t *value);
ncclResult_t ncclCommQueryProperties(ncclComm_t comm, struct ncclCommProperties *properties); /* nccl_device.h */
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void **ptr);
ncclResult_t ncclSetEncryption(const ncclEncryptionConfig_t *config);

ncclResult_t ncclAllReduceConfig(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
				 ncclComm_t comm, CUstream stream, const ncclCollConfig_t *config);
ncclResult_t ncclBroadcastConfig(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
				 ncclComm_t comm, CUstream stream, const ncclCollConfig_t *config);
ncclResult_t ncclReduceConfig(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
			      ncclComm_t comm, CUstream stream, const ncclCollConfig_t *config);
ncclResult_t ncclAllGatherConfig(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
				 CUstream stream, const ncclCollConfig_t *config);
ncclResult_t ncclReduceScatterConfig(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
				     ncclComm_t comm, CUstream stream, const ncclCollConfig_t *config);
ncclResult_t ncclAlltoAllConfig(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
				CUstream stream, const ncclCollConfig_t *config);
ncclResult_t ncclGatherConfig(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
			      ncclComm_t comm, CUstream stream, const ncclCollConfig_t *config);
ncclResult_t ncclScatterConfig(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
			       ncclComm_t comm, CUstream stream, const ncclCollConfig_t *config);

ncclResult_t ncclPutSignal(const void *send, size_t count, ncclDataType_t type, int peer, ncclWindow_t win,
			   size_t offset, int signal, int context, unsigned int flags, ncclComm_t comm,
			   CUstream stream);
ncclResult_t ncclSignal(int peer, int signal, int context, unsigned int flags, ncclComm_t comm, CUstream stream);
ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t *signals, ncclComm_t comm, CUstream stream);

ncclResult_t ncclParamBind(ncclParamHandle_t *handle, const char *key);
ncclResult_t ncclParamGetI8(ncclParamHandle_t handle, int8_t *value);
ncclResult_t ncclParamGetI16(ncclParamHandle_t handle, int16_t *value);
ncclResult_t ncclParamGetI32(ncclParamHandle_t handle, int32_t *value);
ncclResult_t ncclParamGetI64(ncclParamHandle_t handle, int64_t *value);
ncclResult_t ncclParamGetU8(ncclParamHandle_t handle, uint8_t *value);
ncclResult_t ncclParamGetU16(ncclParamHandle_t handle, uint16_t *value);
ncclResult_t ncclParamGetU32(ncclParamHandle_t handle, uint32_t *value);
ncclResult_t ncclParamGetU64(ncclParamHandle_t handle, uint64_t *value);
ncclResult_t ncclParamGetStr(ncclParamHandle_t handle, const char **value);
ncclResult_t ncclParamGet(ncclParamHandle_t handle, void *value, int room, int *bytes);
ncclResult_t ncclParamGetParameter(const char *key, const char **value, int *bytes);
ncclResult_t ncclParamGetAllParameterKeys(const char ***keys, int *count);
void ncclParamDumpAll(void);
