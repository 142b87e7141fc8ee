# SPDX-License-Identifier: BSD-2-Clause
"""bindings_driver.py's sections about graphs: built node by node, captured, updated, cloned, nested."""

import ctypes

from bindings_call import BLOCK, call, driver, host_function, launch, of_bytes, pattern, read, refused

KB = 1 << 10
STREAM = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
GLOBAL, RELAXED = (driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL,
                   driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
MEMORY = driver.CUmemorytype
SIZE = 256 * KB


def kernel_node(graph, after, function, blocks=1):
    return call("cuGraphAddKernelNode", graph, after, len(after), kernel_params(function, blocks))


def kernel_params(function, blocks=1):
    params = driver.CUDA_KERNEL_NODE_PARAMS()
    params.func = function
    params.gridDimX, params.gridDimY, params.gridDimZ = blocks, 1, 1
    params.blockDimX, params.blockDimY, params.blockDimZ = BLOCK
    return params


def copy_node(graph, after, to, source, context):
    copy = driver.CUDA_MEMCPY3D()
    copy.srcMemoryType, copy.srcDevice = MEMORY.CU_MEMORYTYPE_DEVICE, source
    copy.dstMemoryType, copy.dstDevice = MEMORY.CU_MEMORYTYPE_DEVICE, to
    copy.WidthInBytes, copy.Height, copy.Depth = SIZE, 1, 1
    return call("cuGraphAddMemcpyNode", graph, after, len(after), copy, context)


def set_node(graph, after, pointer, value, context):
    memset = driver.CUDA_MEMSET_NODE_PARAMS()
    memset.dst, memset.value, memset.elementSize, memset.width, memset.height = pointer, value, 1, SIZE, 1
    return call("cuGraphAddMemsetNode", graph, after, len(after), memset, context)


def host_node(graph, after, work):
    params = driver.CUDA_HOST_NODE_PARAMS()
    params.fn = host_function(work)
    return call("cuGraphAddHostNode", graph, after, len(after), params)


def describe(graph):
    """How many nodes of each type, and how many edges."""
    _, count = call("cuGraphGetNodes", graph)
    nodes, _ = call("cuGraphGetNodes", graph, count)
    types = sorted(call("cuGraphNodeGetType", node).name.removeprefix("CU_GRAPH_NODE_TYPE_") for node in nodes)
    edges = call("cuGraphGetEdges", graph)[-1]
    print(f"{count} nodes, {edges} edges: {' '.join(types)}")


def run(graph, stream, times):
    """Instantiates and launches it; returns the executable graph."""
    executable = call("cuGraphInstantiate", graph, 0)
    for _ in range(times):
        call("cuGraphLaunch", executable, stream)
    call("cuStreamSynchronize", stream)
    return executable


def explicit(device):
    """A diamond of kernels between a memset and a copy, with a host function at its end."""
    stream = call("cuStreamCreate", STREAM)
    source, to = call("cuMemAlloc", SIZE), call("cuMemAlloc", SIZE)
    called = []
    graph = call("cuGraphCreate", 0)
    first = set_node(graph, [], source, 6, device.context)
    sides = [kernel_node(graph, [first], function) for function in (device.middle, device.long)]
    last = copy_node(graph, sides, to, source, device.context)
    host_node(graph, [last], lambda: called.append("host node"))
    describe(graph)
    executable = run(graph, stream, 3)
    print("copied", read(to, SIZE) == of_bytes(bytes([6]) * SIZE), "called", len(called))
    clone = call("cuGraphClone", graph)
    describe(clone)
    call("cuGraphDestroy", graph)
    second = run(clone, stream, 1)
    print("called", len(called))
    call("cuGraphExecDestroy", executable)
    call("cuGraphExecDestroy", second)
    call("cuGraphDestroy", clone)
    call("cuMemFree", source)
    call("cuMemFree", to)
    call("cuStreamDestroy", stream)


def captured(device):
    """Two streams, forked and joined by events; and what a capture forbids."""
    stream, side = call("cuStreamCreate", STREAM), call("cuStreamCreate", STREAM)
    fork, join = (call("cuEventCreate", driver.CUevent_flags.CU_EVENT_DISABLE_TIMING) for _ in range(2))
    pointer = call("cuMemAlloc", SIZE)
    call("cuStreamBeginCapture", stream, GLOBAL)
    call("cuMemsetD8Async", pointer, 3, SIZE, stream)
    call("cuEventRecord", fork, stream)
    call("cuStreamWaitEvent", side, fork, 0)
    for _ in range(3):
        launch(device.short, stream)
        launch(device.middle, side)
    call("cuEventRecord", join, side)
    call("cuStreamWaitEvent", stream, join, 0)
    launch(device.short, stream)
    status = call("cuStreamIsCapturing", stream)
    print(status.name)
    graph = call("cuStreamEndCapture", stream)
    describe(graph)
    executable = run(graph, stream, 4)
    print("set", read(pointer, SIZE) == of_bytes(bytes([3]) * SIZE))
    call("cuGraphExecDestroy", executable)
    call("cuGraphDestroy", graph)

    call("cuStreamBeginCapture", stream, GLOBAL)
    launch(device.short, stream)
    refused("cuStreamSynchronize", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", stream)
    refused("cuStreamEndCapture", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", stream)
    refused("cuStreamEndCapture", "CUDA_ERROR_ILLEGAL_STATE", stream)
    call("cuStreamBeginCapture", stream, RELAXED)
    launch(device.short, stream)
    call("cuMemFree", pointer)  # relaxed: allowed
    graph = call("cuStreamEndCapture", stream)
    describe(graph)
    call("cuGraphDestroy", graph)
    for event in (fork, join):
        call("cuEventDestroy", event)
    for each in (stream, side):
        call("cuStreamDestroy", each)


def updated(device):
    """An executable graph gets another kernel, alone and with a whole graph."""
    stream = call("cuStreamCreate", STREAM)
    graphs = []
    for function in (device.short, device.long):
        graph = call("cuGraphCreate", 0)
        node = kernel_node(graph, [], device.short)
        last = kernel_node(graph, [node], function)
        graphs.append((graph, last))
    (graph, last), (other, _) = graphs
    executable = run(graph, stream, 2)
    call("cuGraphExecKernelNodeSetParams", executable, last, kernel_params(device.middle, 4))
    call("cuGraphLaunch", executable, stream)
    call("cuStreamSynchronize", stream)
    print("update", call("cuGraphExecUpdate", executable, other).result.name)
    call("cuGraphLaunch", executable, stream)
    call("cuStreamSynchronize", stream)
    kernel_node(other, [], device.short)
    code, info = driver.cuGraphExecUpdate(executable, other)
    print("another shape", code.name)
    call("cuGraphExecDestroy", executable)
    for graph, _ in graphs:
        call("cuGraphDestroy", graph)
    call("cuStreamDestroy", stream)


def nested(device):
    """A graph in a graph in a graph: each launch is 2 * (2 * 2 + 1) + 1 kernels."""
    stream = call("cuStreamCreate", STREAM)
    inner = call("cuGraphCreate", 0)
    kernel_node(inner, [kernel_node(inner, [], device.short)], device.middle)
    graphs = [inner]
    for _ in range(2):
        outer = call("cuGraphCreate", 0)
        first = call("cuGraphAddChildGraphNode", outer, [], 0, graphs[-1])
        second = call("cuGraphAddChildGraphNode", outer, [first], 1, graphs[-1])
        kernel_node(outer, [second], device.short)
        graphs.append(outer)
    for graph in graphs:
        describe(graph)
    executable = run(graphs[-1], stream, 2)
    call("cuGraphExecDestroy", executable)
    for graph in reversed(graphs):
        call("cuGraphDestroy", graph)
    call("cuStreamDestroy", stream)
