#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The driver API through NVIDIA's cuda-bindings (cuda.bindings.driver), family by family; two devices where there are two.

Deterministic: prints every result code, and every value that is the same in each run. cuda-bindings resolves each function with
cuGetProcAddress; CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM=1 makes it ask for the per-thread default stream's variants.
"""

import argparse

import bindings_graphs
import bindings_memory
from bindings_call import Device, call, driver, host_function, launch, of_bytes, pattern, ptx, read, refused

ATTRIBUTE = driver.CUdevice_attribute
EVENT, STREAM = driver.CUevent_flags, driver.CUstream_flags


def devices(device):
    print("driver", call("cuDriverGetVersion") // 1000)
    for ordinal in range(call("cuDeviceGetCount")):
        handle = call("cuDeviceGet", ordinal)
        print("name", call("cuDeviceGetName", 64, handle).split(b"\0")[0].decode())
        print("uuid", len(call("cuDeviceGetUuid", handle).bytes), "memory", call("cuDeviceTotalMem", handle))
        for attribute in (ATTRIBUTE.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ATTRIBUTE.CU_DEVICE_ATTRIBUTE_WARP_SIZE,
                          ATTRIBUTE.CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED):
            print(attribute.name, call("cuDeviceGetAttribute", attribute, handle))
    refused("cuDeviceGet", "CUDA_ERROR_INVALID_DEVICE", 99)


def contexts(device):
    call("cuCtxPushCurrent", device.context)
    print("current", int(call("cuCtxGetCurrent")) == int(device.context), "device", int(call("cuCtxGetDevice")))
    call("cuCtxPopCurrent")
    print("priorities", call("cuCtxGetStreamPriorityRange"))
    print("primary active", call("cuDevicePrimaryCtxGetState", device.device))


def libraries(device):
    refused("cuModuleGetFunction", "CUDA_ERROR_NOT_FOUND", device.module, b"missing_kernel")
    print("threads", call("cuFuncGetAttribute", driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device.short))
    library = call("cuLibraryLoadData", ptx(["from_library__300us"]), None, None, 0, None, None, 0)
    kernel = call("cuLibraryGetKernel", library, b"from_library__300us")
    print("kernel", call("cuKernelGetName", kernel).decode())
    refused("cuLibraryGetKernel", "CUDA_ERROR_NOT_FOUND", library, b"missing_kernel")
    function = call("cuKernelGetFunction", kernel)
    stream = call("cuStreamCreate", STREAM.CU_STREAM_NON_BLOCKING)
    launch(function, stream)
    launch(driver.CUfunction(int(kernel)), stream)  # the driver takes a kernel in a function's place
    config = driver.CUlaunchConfig()
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1
    config.blockDimX, config.hStream = 64, stream
    call("cuLaunchKernelEx", config, function, 0, 0)
    call("cuStreamSynchronize", stream)
    print("fit", call("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, 128, 0) > 0)
    call("cuStreamDestroy", stream)
    call("cuLibraryUnload", library)


def streams_and_events(device):
    least, greatest = call("cuCtxGetStreamPriorityRange")
    streams = [call("cuStreamCreateWithPriority", STREAM.CU_STREAM_NON_BLOCKING, greatest),
               call("cuStreamCreate", STREAM.CU_STREAM_DEFAULT)]
    print("priority", call("cuStreamGetPriority", streams[0]), "flags", call("cuStreamGetFlags", streams[1]))
    begin, middle, end = (call("cuEventCreate", EVENT.CU_EVENT_DEFAULT) for _ in range(3))
    untimed = call("cuEventCreate", EVENT.CU_EVENT_DISABLE_TIMING)

    call("cuEventRecord", begin, streams[0])
    for _ in range(4):
        launch(device.middle, streams[0])
    call("cuEventRecord", middle, streams[0])
    call("cuStreamWaitEvent", streams[1], middle, 0)
    launch(device.long, streams[1])
    refused("cuStreamQuery", "CUDA_ERROR_NOT_READY", streams[1])
    call("cuEventRecord", end, streams[1])
    call("cuEventRecord", untimed, streams[1])
    call("cuEventSynchronize", end)
    print("at least", call("cuEventElapsedTime", begin, middle) >= 4 * 0.4, call("cuEventElapsedTime", middle, end) >= 2.0)
    call("cuStreamSynchronize", streams[1])
    refused("cuEventElapsedTime", "CUDA_ERROR_INVALID_HANDLE", begin, untimed)
    call("cuStreamQuery", streams[1])

    called = []
    launch(device.short, streams[1])
    call("cuLaunchHostFunc", streams[1], host_function(lambda: called.append("host function")), 0)
    launch(device.short, streams[1])
    call("cuStreamSynchronize", streams[1])
    print("called", called)
    for event in (begin, middle, end, untimed):
        call("cuEventDestroy", event)
    for stream in streams:
        call("cuStreamDestroy", stream)


def default_stream(device):
    """Stream 0: the legacy one, or this thread's own where cuda-bindings was told so."""
    data = pattern(1 << 16, 3)
    pointer = call("cuMemAlloc", len(data))
    call("cuMemcpyHtoD", pointer, data, len(data))
    for _ in range(5):
        launch(device.middle, 0)
    call("cuMemsetD8Async", pointer, 7, 256, 0)
    call("cuStreamSynchronize", 0)
    print("memory", read(pointer, len(data)), of_bytes(bytes([7]) * 256 + data[256:]))
    launch(device.short, driver.CU_STREAM_LEGACY)
    launch(device.short, driver.CU_STREAM_PER_THREAD)
    call("cuCtxSynchronize")
    call("cuMemFree", pointer)


def second_device(first):
    if call("cuDeviceGetCount") < 2:
        return
    second = Device(1)
    data = pattern(3 << 20, 5)
    there = call("cuMemAlloc", len(data))
    second_stream = call("cuStreamCreate", STREAM.CU_STREAM_NON_BLOCKING)
    first.make_current()
    here = call("cuMemAlloc", len(data))
    call("cuMemcpyHtoD", here, data, len(data))
    print("peer", call("cuDeviceCanAccessPeer", first.device, second.device))
    call("cuCtxEnablePeerAccess", second.context, 0)
    refused("cuCtxEnablePeerAccess", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", second.context, 0)
    stream = call("cuStreamCreate", STREAM.CU_STREAM_NON_BLOCKING)
    done = call("cuEventCreate", EVENT.CU_EVENT_DISABLE_TIMING)
    launch(first.middle, stream)
    call("cuMemcpyPeerAsync", there, second.context, here, first.context, len(data), stream)
    call("cuEventRecord", done, stream)
    second.make_current()
    call("cuStreamWaitEvent", second_stream, done, 0)
    for _ in range(3):
        launch(second.middle, second_stream)
    call("cuStreamSynchronize", second_stream)
    print("copied", read(there, len(data)) == of_bytes(data))
    call("cuMemFree", there)
    call("cuStreamDestroy", second_stream)
    second.close()
    first.make_current()
    call("cuStreamDestroy", stream)
    call("cuEventDestroy", done)
    call("cuMemFree", here)


def errors(device):
    refused("cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY", 1 << 50)
    refused("cuMemAlloc", "CUDA_ERROR_INVALID_VALUE", 0)
    refused("cuMemFree", "CUDA_ERROR_INVALID_VALUE", 4711)
    refused("cuLaunchKernel", "CUDA_ERROR_INVALID_VALUE", device.short, 0, 1, 1, 32, 1, 1, 0, 0, 0, 0)
    print(call("cuGetErrorName", driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY).decode())


SECTIONS = [devices, contexts, libraries, streams_and_events, default_stream, bindings_memory.copies, bindings_memory.pitched,
            bindings_memory.boxes, bindings_memory.batch, bindings_memory.host_memory, bindings_memory.managed, bindings_memory.pools,
            bindings_memory.virtual, bindings_graphs.explicit, bindings_graphs.captured, bindings_graphs.updated, bindings_graphs.nested,
            second_device, errors]


def main():
    names = [section.__name__ for section in SECTIONS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"only these of {', '.join(names)}")
    wanted = parser.parse_args().sections or names
    call("cuInit", 0)
    device = Device()
    for section in SECTIONS:
        if section.__name__ in wanted:
            print(f"-- {section.__name__}")
            section(device)
    device.close()


if __name__ == "__main__":
    main()
