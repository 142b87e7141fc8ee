# SPDX-License-Identifier: BSD-2-Clause
"""The driver's structs that the conformance list needs, as cuda.h of CUDA 13.0 lays them out (a test compares)."""

import ctypes
from ctypes import Structure, Union, c_byte, c_int, c_size_t, c_ubyte, c_uint, c_ushort, c_void_p

u64 = ctypes.c_uint64


def make(name, *fields):
    return type(name, (Structure,), {"_fields_": [(field, kind) for kind, names in fields for field in names.split()]})


CUDA_MEMCPY2D = make("CUDA_MEMCPY2D", (c_size_t, "srcXInBytes srcY"), (c_int, "srcMemoryType"), (c_void_p, "srcHost"), (u64, "srcDevice"),
                     (c_void_p, "srcArray"), (c_size_t, "srcPitch dstXInBytes dstY"), (c_int, "dstMemoryType"), (c_void_p, "dstHost"),
                     (u64, "dstDevice"), (c_void_p, "dstArray"), (c_size_t, "dstPitch WidthInBytes Height"))

CUDA_MEMCPY3D = make("CUDA_MEMCPY3D", (c_size_t, "srcXInBytes srcY srcZ srcLOD"), (c_int, "srcMemoryType"), (c_void_p, "srcHost"),
                     (u64, "srcDevice"), (c_void_p, "srcArray reserved0"), (c_size_t, "srcPitch srcHeight dstXInBytes dstY dstZ dstLOD"),
                     (c_int, "dstMemoryType"), (c_void_p, "dstHost"), (u64, "dstDevice"), (c_void_p, "dstArray reserved1"),
                     (c_size_t, "dstPitch dstHeight WidthInBytes Height Depth"))

CUDA_ARRAY_DESCRIPTOR = make("CUDA_ARRAY_DESCRIPTOR", (c_size_t, "Width Height"), (c_int, "Format"), (c_uint, "NumChannels"))

CUDA_ARRAY3D_DESCRIPTOR = make("CUDA_ARRAY3D_DESCRIPTOR", (c_size_t, "Width Height Depth"), (c_int, "Format"), (c_uint, "NumChannels Flags"))

CUDA_KERNEL_NODE_PARAMS = make("CUDA_KERNEL_NODE_PARAMS", (c_void_p, "func"), (c_uint, "gridDimX gridDimY gridDimZ blockDimX blockDimY blockDimZ"),
                               (c_uint, "sharedMemBytes"), (c_void_p, "kernelParams extra kern ctx"))

CUDA_MEMSET_NODE_PARAMS = make("CUDA_MEMSET_NODE_PARAMS", (u64, "dst"), (c_size_t, "pitch"), (c_uint, "value elementSize"),
                               (c_size_t, "width height"))

CUDA_HOST_NODE_PARAMS = make("CUDA_HOST_NODE_PARAMS", (c_void_p, "fn userData"))

CUmemLocation = make("CUmemLocation", (c_int, "type id"))

CUmemAllocationProp_flags = make("CUmemAllocationProp_flags", (c_ubyte, "compressionType gpuDirectRDMACapable"), (c_ushort, "usage"),
                                 (c_ubyte * 4, "reserved"))

CUmemAllocationProp = make("CUmemAllocationProp", (c_int, "type requestedHandleTypes"), (CUmemLocation, "location"),
                           (c_void_p, "win32HandleMetaData"), (CUmemAllocationProp_flags, "allocFlags"))

CUmemAccessDesc = make("CUmemAccessDesc", (CUmemLocation, "location"), (c_int, "flags"))

CUmemcpyAttributes = make("CUmemcpyAttributes", (c_int, "srcAccessOrder"), (CUmemLocation, "srcLocHint dstLocHint"), (c_uint, "flags"))

CUmemPoolProps = make("CUmemPoolProps", (c_int, "allocType handleTypes"), (CUmemLocation, "location"), (c_void_p, "win32SecurityAttributes"),
                      (c_size_t, "maxSize"), (c_ushort, "usage"), (c_ubyte * 54, "reserved"))

CUlaunchAttributeValue = type("CUlaunchAttributeValue", (Union,), {"_fields_": [("pad", c_byte * 64), ("word", u64), ("cooperative", c_int),
                                                                               ("priority", c_int), ("syncPolicy", c_int)]})

CUlaunchAttribute = make("CUlaunchAttribute", (c_int, "id"), (c_ubyte * 4, "pad"), (CUlaunchAttributeValue, "value"))

CUlaunchConfig = make("CUlaunchConfig", (c_uint, "gridDimX gridDimY gridDimZ blockDimX blockDimY blockDimZ sharedMemBytes"),
                      (c_void_p, "hStream attrs"), (c_uint, "numAttrs"))

CUgraphExecUpdateResultInfo = make("CUgraphExecUpdateResultInfo", (c_int, "result"), (c_void_p, "errorNode errorFromNode"))

ALL = {name: value for name, value in list(globals().items()) if isinstance(value, type) and issubclass(value, (Structure, Union))
       and value not in (Structure, Union)}
