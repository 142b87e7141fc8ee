# SPDX-License-Identifier: BSD-2-Clause
"""bindings_driver.py's sections about memory: copies of every shape, pinned and managed memory, pools, virtual addresses."""

import ctypes

from bindings_call import call, driver, launch, of_bytes, pattern, read, refused

KB, MB = 1 << 10, 1 << 20
STREAM = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
MEMORY = driver.CUmemorytype
DEVICE = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE


def location(device):
    place = driver.CUmemLocation()
    place.type, place.id = DEVICE, int(device.device)
    return place


def copies(device):
    """Linear ones of several sizes, and memsets; a kernel stands before some, so that they queue."""
    stream = call("cuStreamCreate", STREAM)
    for size in (1, 4 * KB, 64 * KB + 1, 8 * MB):
        data = pattern(size, size & 255)
        first, second = call("cuMemAlloc", size), call("cuMemAlloc", size)
        call("cuMemcpyHtoD", first, data, size)
        launch(device.middle, stream)
        call("cuMemcpyDtoDAsync", second, first, size, stream)
        back = bytearray(size)
        call("cuMemcpyDtoHAsync", back, second, size, stream)
        call("cuStreamSynchronize", stream)
        print(size, "came back", back == data)
        call("cuMemsetD8", second, 9, size)
        print("set", read(second, size) == of_bytes(bytes([9]) * size))
        call("cuMemcpy", second, first, size)  # any direction, by the addresses
        print("copied", read(second, size) == of_bytes(data))
        call("cuMemFree", first)
        call("cuMemFree", second)
    call("cuStreamDestroy", stream)


def pitched(device):
    """Rows with room behind them: 2D copies and memsets."""
    width, height = 1000, 60
    data = pattern(width * height, 11)
    pointer, pitch = call("cuMemAllocPitch", width, height, 4)
    copy = driver.CUDA_MEMCPY2D()
    buffer = (ctypes.c_char * len(data)).from_buffer_copy(data)
    copy.srcMemoryType, copy.srcHost, copy.srcPitch = MEMORY.CU_MEMORYTYPE_HOST, ctypes.addressof(buffer), width
    copy.dstMemoryType, copy.dstDevice, copy.dstPitch = MEMORY.CU_MEMORYTYPE_DEVICE, pointer, pitch
    copy.WidthInBytes, copy.Height = width, height
    call("cuMemcpy2D", copy)
    call("cuMemsetD2D32", pointer, pitch, 0x01020304, 10, height)

    back = bytearray(len(data))
    buffer = (ctypes.c_char * len(back)).from_buffer(back)
    copy = driver.CUDA_MEMCPY2D()
    copy.srcMemoryType, copy.srcDevice, copy.srcPitch = MEMORY.CU_MEMORYTYPE_DEVICE, pointer, pitch
    copy.dstMemoryType, copy.dstHost, copy.dstPitch = MEMORY.CU_MEMORYTYPE_HOST, ctypes.addressof(buffer), width
    copy.WidthInBytes, copy.Height = width, height
    stream = call("cuStreamCreate", STREAM)
    call("cuMemcpy2DAsync", copy, stream)
    call("cuStreamSynchronize", stream)
    expected = b"".join(bytes([4, 3, 2, 1]) * 10 + data[row * width + 40:(row + 1) * width] for row in range(height))
    print("rows", pitch >= width, bytes(back) == expected)
    call("cuMemFree", pointer)
    call("cuStreamDestroy", stream)


def boxes(device):
    """3D copies, through an array that keeps its own layout."""
    width, height, depth = 64, 9, 5
    data = pattern(width * height * depth, 8)
    description = driver.CUDA_ARRAY3D_DESCRIPTOR()
    description.Width, description.Height, description.Depth = width, height, depth
    description.Format, description.NumChannels = driver.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT8, 1
    array = call("cuArray3DCreate", description)
    back = bytearray(len(data))
    buffer = (ctypes.c_char * len(data)).from_buffer(back)
    source = (ctypes.c_char * len(data)).from_buffer_copy(data)
    copy = driver.CUDA_MEMCPY3D()
    copy.srcMemoryType, copy.srcHost = MEMORY.CU_MEMORYTYPE_HOST, ctypes.addressof(source)
    copy.srcPitch, copy.srcHeight = width, height
    copy.dstMemoryType, copy.dstArray = MEMORY.CU_MEMORYTYPE_ARRAY, array
    copy.WidthInBytes, copy.Height, copy.Depth = width, height, depth
    call("cuMemcpy3D", copy)
    copy = driver.CUDA_MEMCPY3D()
    copy.srcMemoryType, copy.srcArray = MEMORY.CU_MEMORYTYPE_ARRAY, array
    copy.dstMemoryType, copy.dstHost = MEMORY.CU_MEMORYTYPE_HOST, ctypes.addressof(buffer)
    copy.dstPitch, copy.dstHeight = width, height
    copy.WidthInBytes, copy.Height, copy.Depth = width, height, depth
    call("cuMemcpy3D", copy)
    print("box", bytes(back) == data)
    call("cuArrayDestroy", array)


def batch(device):
    """Several copies in one call."""
    stream = call("cuStreamCreate", STREAM)
    size, count = 32 * KB, 4
    sources = [call("cuMemAlloc", size) for _ in range(count)]
    to = [call("cuMemAlloc", size) for _ in range(count)]
    for number, pointer in enumerate(sources):
        call("cuMemsetD8", pointer, number, size)
    attributes = driver.CUmemcpyAttributes()
    attributes.srcAccessOrder = driver.CUmemcpySrcAccessOrder.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
    launch(device.middle, stream)
    call("cuMemcpyBatchAsync", to, sources, [size] * count, count, [attributes], [0], 1, stream)
    call("cuStreamSynchronize", stream)
    print("batch", [read(pointer, size) == of_bytes(bytes([number]) * size) for number, pointer in enumerate(to)])
    for pointer in sources + to:
        call("cuMemFree", pointer)
    call("cuStreamDestroy", stream)


def host_memory(device):
    size = 2 * MB
    stream = call("cuStreamCreate", STREAM)
    pinned = call("cuMemHostAlloc", size, driver.CU_MEMHOSTALLOC_PORTABLE)
    ctypes.memmove(pinned, pattern(size, 1), size)
    own = ctypes.create_string_buffer(size)
    call("cuMemHostRegister", ctypes.addressof(own), size, 0)
    pointer = call("cuMemAlloc", size)
    launch(device.middle, stream)
    call("cuMemcpyHtoDAsync", pointer, pinned, size, stream)
    call("cuMemcpyDtoHAsync", ctypes.addressof(own), pointer, size, stream)
    call("cuStreamSynchronize", stream)
    print("pinned", of_bytes(own.raw) == of_bytes(pattern(size, 1)))
    kind = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    print("kinds", int(call("cuPointerGetAttribute", kind, pinned)), int(call("cuPointerGetAttribute", kind, pointer)))
    call("cuMemHostUnregister", ctypes.addressof(own))
    call("cuMemFreeHost", pinned)
    call("cuMemFree", pointer)
    call("cuStreamDestroy", stream)


def managed(device):
    size = 1 * MB
    stream = call("cuStreamCreate", STREAM)
    pointer = call("cuMemAllocManaged", size, driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL.value)
    ctypes.memmove(int(pointer), pattern(size, 2), size)
    call("cuMemAdvise", pointer, size, driver.CUmem_advise.CU_MEM_ADVISE_SET_PREFERRED_LOCATION, location(device))
    call("cuMemPrefetchAsync", pointer, size, location(device), 0, stream)
    launch(device.middle, stream)
    call("cuStreamSynchronize", stream)
    print("managed", read(pointer, size) == of_bytes(pattern(size, 2)))
    call("cuMemFree", pointer)
    call("cuStreamDestroy", stream)


def pools(device):
    stream = call("cuStreamCreate", STREAM)
    properties = driver.CUmemPoolProps()
    properties.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location = location(device)
    pool = call("cuMemPoolCreate", properties)
    attribute = driver.CUmemPool_attribute
    call("cuMemPoolSetAttribute", pool, attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, driver.cuuint64_t(64 * MB))
    print("threshold", int(call("cuMemPoolGetAttribute", pool, attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)))
    for size in (64 * KB, 3 * MB):
        pointer = call("cuMemAllocFromPoolAsync", size, pool, stream)
        call("cuMemsetD8Async", pointer, 5, size, stream)
        launch(device.middle, stream)
        back = bytearray(size)
        call("cuMemcpyDtoHAsync", back, pointer, size, stream)
        call("cuMemFreeAsync", pointer, stream)
        call("cuStreamSynchronize", stream)
        print("pool", bytes(back) == bytes([5]) * size)
    used = call("cuMemPoolGetAttribute", pool, attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    reserved = call("cuMemPoolGetAttribute", pool, attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
    print("used", int(used), "kept", int(reserved) > 0)
    call("cuMemPoolTrimTo", pool, 0)
    print("trimmed", int(call("cuMemPoolGetAttribute", pool, attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)))
    call("cuMemPoolDestroy", pool)

    pointer = call("cuMemAllocAsync", 1 * MB, stream)  # from the device's current pool
    launch(device.short, stream)
    call("cuMemFreeAsync", pointer, stream)
    call("cuStreamSynchronize", stream)
    call("cuStreamDestroy", stream)


def virtual(device):
    """Physical memory mapped twice into one reserved range."""
    properties = driver.CUmemAllocationProp()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location = location(device)
    minimum = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    size = call("cuMemGetAllocationGranularity", properties, minimum)
    print("granularity", size)
    address = call("cuMemAddressReserve", 2 * size, 0, 0, 0)
    second = driver.CUdeviceptr(int(address) + size)
    handle = call("cuMemCreate", size, properties, 0)
    refused("cuMemCreate", "CUDA_ERROR_INVALID_VALUE", size + 1, properties, 0)
    call("cuMemMap", address, size, 0, handle, 0)
    call("cuMemMap", second, size, 0, handle, 0)
    access = driver.CUmemAccessDesc()
    access.location = location(device)
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    call("cuMemSetAccess", address, 2 * size, [access], 1)
    print("access", int(call("cuMemGetAccess", location(device), address)))
    data = pattern(size, 4)
    call("cuMemcpyHtoD", address, data, size)
    launch(device.middle, 0)
    print("mapped twice", read(second, size) == of_bytes(data))
    call("cuMemUnmap", address, 2 * size)
    call("cuMemRelease", handle)
    call("cuMemAddressFree", address, 2 * size)
