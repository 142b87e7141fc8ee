#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The rules behind scripts/new-hook.sh: from a prototype in NVIDIA's headers to its row in shim/hooks.def.

usage: hook_rows.py CUDA_INCLUDE_DIR cuFoo [cuBar …]

The row is a start to review: the rules below know which calls put work into a stream, wait, allocate or load code;
what they do not know becomes a plain HOOK of family OTHER."""
import re
import subprocess
import sys


def prototypes(include_dir):
    source = "#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <cudaProfiler.h>\n"
    text = subprocess.run(["gcc", "-E", "-P", "-I", include_dir, "-x", "c", "-"], input=source, text=True,
                          capture_output=True, check=True).stdout
    found = {}
    for name, params in re.findall(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(([^;]*?)\)\s*;", text):
        found[name] = re.sub(r"\s+", " ", params).strip()
    return found


def split_params(params):
    if params in ("", "void"):
        return []
    names = []
    for p in params.split(","):
        m = re.search(r"\(\s*\*\s*(\w+)\s*\)|(\w+)\s*(?:\[\w*\])?$", p.strip())
        names.append(m.group(1) or m.group(2))
    return names


def find(args, *wanted):
    for w in wanted:
        for a in args:
            if a.lower() == w.lower():
                return a
    return None


def rule(name, args):
    """-> (family, before, after)"""
    base = re.sub(r"_pt[sd][sz]$", "", name)
    base = re.sub(r"_v\d+$", "", base)
    per_thread = name.endswith(("_ptsz", "_ptds"))
    s = find(args, "hStream", "stream", "hstream")
    stream = (f"per_thread({s})" if per_thread else s) if s else ("PER_THREAD" if per_thread else "LEGACY")
    mode = "WAITS" if s is None else "ASYNC"
    size = find(args, "ByteCount", "bytesize", "N", "size", "bytes")

    if base in ("cuLaunchKernel", "cuLaunchCooperativeKernel"):
        return "LAUNCH", (f"launch_kernel(&c, {stream}, f, gridDimX, gridDimY, gridDimZ, "
                          "blockDimX * blockDimY * blockDimZ)"), ""
    if base == "cuLaunchKernelEx":
        return "LAUNCH", f"launch_config(&c, config, f, {'true' if per_thread else 'false'})", ""
    if base in ("cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync"):
        grid = "grid_width, grid_height" if "Grid" in base else "1, 1"
        return "LAUNCH", f"launch_kernel(&c, {stream}, f, {grid}, 1, 0)", ""
    if base in ("cuLaunchHostFunc", "cuStreamAddCallback"):
        return "HOSTFN", f"launch_host_function(&c, {stream}, (void *){args[1]})", ""
    if base == "cuGraphLaunch":
        return "GRAPH_LAUNCH", f"launch_graph(&c, {stream}, {args[0]})", ""
    m = re.match(r"cuMemcpy(HtoD|DtoH|DtoD|Peer|)(Async)?$", base)
    if m:
        kind = {"HtoD": "COPY_H2D", "DtoH": "COPY_D2H", "DtoD": "COPY_D2D", "Peer": "COPY_PEER", "": "COPY_ANY"}[m.group(1)]
        dst, src = args[0], args[2] if m.group(1) == "Peer" else args[1]
        return "COPY", f"copy(&c, {stream}, {kind}, (uintptr_t){dst}, (uintptr_t){src}, {size}, {mode})", ""
    m = re.match(r"cuMemcpy(2D|3D)(Unaligned)?(Async)?$", base)
    if m:
        old = "_v" not in name
        if old:
            return "COPY", f"copy(&c, {stream}, COPY_OTHER, 0, 0, 0, {mode})", ""
        return "COPY", f"copy_{m.group(1).lower()}(&c, {stream}, {args[0]}, {mode})", ""
    if base.startswith("cuMemcpy3DPeer"):
        return "COPY", f"copy_3d_peer(&c, {stream}, {args[0]}, {mode})", ""
    if base == "cuMemcpyBatchAsync":
        return "COPY", f"copy_batch(&c, {stream})", "copied_batch(&c, rc, dsts, srcs, sizes, count)"
    if base == "cuMemcpy3DBatchAsync":
        return "COPY", f"copy_batch(&c, {stream})", "copied_batch_3d(&c, rc, opList, numOps)"
    if re.match(r"cuMemcpy(AtoA|AtoD|AtoH|DtoA|HtoA)", base):
        return "COPY", f"copy(&c, {stream}, COPY_OTHER, 0, 0, {size or 0}, {mode})", ""
    m = re.match(r"cuMemset(D2)?D(8|16|32)(Async)?$", base)
    if m:
        width = int(m.group(2)) // 8
        count = "Width * Height" if m.group(1) else "N"
        factor = f"{width} * (size_t)" if width > 1 else ""
        count = f"((size_t){count})" if m.group(1) else count
        return "MEMSET", f"memset_work(&c, {stream}, {args[0]}, {factor}{count})", ""
    table = {
        "cuStreamSynchronize": ("SYNC_STREAM", f"sync_stream(&c, {stream})", ""),
        "cuStreamQuery": ("QUERY_STREAM", f"query_stream(&c, {stream})", ""),
        "cuCtxSynchronize": ("SYNC_CONTEXT", f"sync_context(&c, {args[0] if args and args[0] != 'void' else 'NULL'})", ""),
        "cuEventSynchronize": ("SYNC_EVENT", "sync_event(&c, hEvent)", ""),
        "cuEventQuery": ("QUERY_EVENT", "name_event(&c, hEvent)", ""),
        "cuEventRecord": ("EVENT_RECORD", f"record_event(&c, {stream}, hEvent)", ""),
        "cuEventRecordWithFlags": ("EVENT_RECORD", f"record_event(&c, {stream}, hEvent)", ""),
        "cuStreamWaitEvent": ("STREAM_WAIT", f"wait_event(&c, {stream}, hEvent)", "wait_began(&c, rc)"),
        "cuStreamBeginCapture": ("CAPTURE", "capture_begin(&c)", f"capture_began(&c, rc, {stream})"),
        "cuStreamBeginCaptureToGraph": ("CAPTURE", "capture_begin(&c)", f"capture_began(&c, rc, {stream})"),
        "cuStreamEndCapture": ("CAPTURE", "", f"capture_ended(&c, rc, {stream})"),
        "cuDevicePrimaryCtxRetain": ("CONTEXT", "", "primary_retained(&c, rc, pctx, dev)"),
        "cuStreamDestroy": ("STREAM", "stream_destroy(&c, hStream)", "stream_destroyed(&c, rc)"),
        "cuCtxDestroy": ("CONTEXT", "context_destroy(&c, ctx)", "context_destroyed(&c, rc)"),
        "cuGreenCtxDestroy": ("CONTEXT", "green_context_destroy(&c, hCtx)", "context_destroyed(&c, rc)"),
        "cuDevicePrimaryCtxReset": ("CONTEXT", "context_release(&c, dev)", "context_released(&c, rc, dev)"),
        "cuDevicePrimaryCtxRelease": ("CONTEXT", "context_release(&c, dev)", "context_released(&c, rc, dev)"),
        "cuModuleGetFunction": ("MODULE", "", "function_named(&c, rc, hfunc, name)"),
        "cuLibraryGetKernel": ("MODULE", "", "function_named(&c, rc, pKernel, name)"),
        "cuKernelGetFunction": ("MODULE", "", "function_alias(&c, rc, pFunc, kernel)"),
        "cuGetProcAddress": ("LOOKUP", "", "entry_point_found(&c, rc, symbol, pfn, cudaVersion, flags)"),
        "cuInit": ("CONTEXT", "", ""),
        "cuCtxWaitEvent": ("MEMOP", "put_in_all(&c)", ""),
        "cuGreenCtxWaitEvent": ("MEMOP", "put_in_all(&c)", ""),
        "cuLaunchCooperativeKernelMultiDevice": ("OTHER", "", "put_in_each(&c, rc, launchParamsList, numDevices)"),
        "cuGraphInstantiate": ("GRAPH", "", "graph_instantiated(&c, rc, phGraphExec, hGraph, 0)"),
        "cuGraphInstantiateWithFlags": ("GRAPH", "", "graph_instantiated(&c, rc, phGraphExec, hGraph, flags)"),
        "cuGraphInstantiateWithParams": ("GRAPH", "", "graph_instantiated(&c, rc, phGraphExec, hGraph, "
                                         "instantiateParams ? instantiateParams->flags : 0)"),
        "cuGraphExecUpdate": ("GRAPH", "", "graph_updated(&c, rc, hGraphExec, hGraph)"),
        "cuGraphExecDestroy": ("GRAPH", "graph_exec_destroy(&c, hGraphExec)", "graph_exec_destroyed(&c, rc, hGraphExec)"),
        "cuMemAllocAsync": ("POOL", f"pool_allocating(&c, {size}, NULL, {stream})", "pool_allocated(&c, rc, dptr)"),
        "cuMemAllocFromPoolAsync": ("POOL", f"pool_allocating(&c, {size}, pool, {stream})", "pool_allocated(&c, rc, dptr)"),
        "cuMemFreeAsync": ("POOL", f"pool_freeing(&c, dptr, {stream})", ""),
        "cuMemPoolCreate": ("POOL", "", "pool_created(&c, rc, pool, poolProps)"),
        "cuMemPoolDestroy": ("POOL", "pool_destroy(&c, pool)", "pool_destroyed(&c)"),
        "cuMemPoolTrimTo": ("POOL", "", "pool_trimmed(&c, pool, minBytesToKeep)"),
        "cuMemPoolSetAttribute": ("POOL", "", "pool_attribute_set(&c, rc, pool, attr, value)"),
        "cuDeviceSetMemPool": ("POOL", "", "pool_of_device_set(&c, rc, dev, pool)"),
        "cuMemSetMemPool": ("POOL", "", "pool_of_location_set(&c, pool)"),
        "cuDeviceGetDefaultMemPool": ("POOL", "", "pool_of_device_found(&c, rc, dev)"),
        "cuDeviceGetMemPool": ("POOL", "", "pool_of_device_found(&c, rc, dev)"),
        "cuMemGetDefaultMemPool": ("POOL", "", "pool_of_location_found(&c, rc, location)"),
        "cuMemGetMemPool": ("POOL", "", "pool_of_location_found(&c, rc, location)"),
        "cuMemPoolImportPointer": ("POOL", "", "memory_of_another(&c, rc, ptr_out)"),
        "cuMemImportFromShareableHandle": ("IPC", "", "memory_imported(&c, rc)"),
        "cuIpcOpenMemHandle": ("IPC", "", "memory_of_another(&c, rc, pdptr)"),
        "cuIpcCloseMemHandle": ("IPC", "", "memory_changed(&c)"),
        "cuExternalMemoryGetMappedBuffer": ("IPC", "", "memory_changed(&c)"),
        "cuDestroyExternalMemory": ("IPC", "", "memory_changed(&c)"),
        "cuImportExternalSemaphore": ("IPC", "", "semaphore_imported(&c, rc, extSem_out, semHandleDesc)"),
        "cuDestroyExternalSemaphore": ("IPC", "semaphore_destroy(&c, extSem)", ""),
        "cuMemAddressReserve": ("VMM", "", "range_reserved(&c, rc, ptr, size)"),
        "cuMemAddressFree": ("VMM", "range_named(&c, ptr, size)", "memory_changed(&c)"),
        "cuMemCreate": ("VMM", "", "memory_created(&c, rc, handle, size, prop)"),
        "cuMemRelease": ("VMM", "memory_named(&c, handle)", ""),
        "cuMemRetainAllocationHandle": ("VMM", "", "memory_found(&c, rc, handle)"),
        "cuMemMap": ("VMM", "", "memory_mapped(&c, rc, ptr, size, offset, handle)"),
        "cuMemUnmap": ("VMM", "range_named(&c, ptr, size)", "memory_changed(&c)"),
        "cuMemSetAccess": ("VMM", "range_named(&c, ptr, size)", ""),
        "cuGraphExecChildGraphNodeSetParams": ("GRAPH", "", "changed_child(&c, rc, hGraphExec)"),
    }
    if base in table:
        return table[base]
    m = re.match(r"cuGraph(?:Exec)?(\w*?)Node(SetParams|SetEvent|SetEnabled)$", base)
    if m and args[0] == "hGraphExec":
        kind = {"Kernel": "kernel" if name.endswith("_v2") else "kernel_v1", "Memcpy": "copy", "Memset": "memset", "": "any"}
        change = {"SetEvent": "event", "SetEnabled": "enabled"}.get(m.group(2)) or kind.get(m.group(1))
        if change:
            return "GRAPH_CHANGE", f"change_{change}(&c, hGraphExec, hNode, {args[2]})", ""
    if re.match(r"cuMemAlloc(Managed|Pitch)?$", base):
        if "_v" not in name and "Managed" not in base:
            return "ALLOC", "", ""
        if "Pitch" in base:
            return "ALLOC", "", "allocated_pitch(&c, rc, (uintptr_t *)dptr, pPitch, WidthInBytes, Height)"
        return "ALLOC", "", f"allocated(&c, rc, (uintptr_t *)dptr, {size})"
    if base == "cuMemFree":
        return "FREE", "freeing(&c, dptr)", "memory_changed(&c)"
    if base in ("cuMemAllocHost", "cuMemHostAlloc"):
        return "HOST_ALLOC", "", f"host_memory_allocated(&c, rc, pp, {size})"
    if base == "cuMemHostRegister":
        return "HOST_ALLOC", "", f"host_memory_changed(&c, rc, p, {size})"
    if base in ("cuMemFreeHost", "cuMemHostUnregister"):
        return "HOST_FREE", "", "host_memory_changed(&c, rc, p, 0)"
    patterns = [
        (r"cu(Array|Mipmapped)", "ALLOC"), (r"cuMem(Alloc|Free)", "POOL"), (r"cu.*MemPool", "POOL"), (r"cuMemPool", "POOL"),
        (r"cuIpc|cuImport|cuDestroyExternal|cuExternalMemory|cuMem(Export|Import|GetHandle)", "IPC"),
        (r"cuMulticast|cuMem(Address|Create|Map|Release|Retain|SetAccess|Unmap)", "VMM"),
        (r"cuModule|cuLibrary|cuLink|cuKernel|cuFunc", "MODULE"),
        (r"cu(Stream|Ctx|GreenCtx)?Wait|cuStreamBatch|cuGraphics(Map|Unmap)Resources", "MEMOP"),
        (r"cuStream.*Capture|cuThreadExchange", "CAPTURE"), (r"cuGraph|cuDevice.*Graph", "GRAPH"),
        (r"cuEvent|cuCtxRecordEvent|cuGreenCtxRecordEvent", "EVENT"), (r"cuStream|cuGreenCtxStream", "STREAM"),
        (r"cuCtx|cuDevicePrimaryCtx|cuGreenCtx", "CONTEXT"), (r"cuGetExportTable", "LOOKUP"),
    ]
    family = next((f for p, f in patterns if re.match(p, base)), "OTHER")
    after = ""
    value = re.match(r"cuStream(Wait|Write)Value(\d+)$", base)
    if value and value[1] == "Wait":
        return family, f"wait_memory(&c, {stream}, addr, value, flags, {value[2]})", ""
    if value:
        return "WRITE_VALUE", f"write_memory(&c, {stream}, addr, value, {value[2]})", ""
    if base == "cuStreamBatchMemOp":
        return family, f"memory_batch(&c, {stream}, paramArray, count, flags)", ""
    if base == "cuWaitExternalSemaphoresAsync":
        return family, f"wait_semaphores(&c, {stream})", "awaited_semaphores(&c, rc, extSemArray, paramsArray, numExtSems)"
    if base == "cuSignalExternalSemaphoresAsync":
        return "WRITE_VALUE", f"in_stream_order(&c, {stream})", "signalled_semaphores(&c, rc, extSemArray, paramsArray, numExtSems)"
    if family == "MEMOP" and s:
        return family, f"in_stream_order(&c, {stream})", ""
    if s and re.match(r"cu(\w+Async|GraphUpload)$", base):
        return family, f"put_in(&c, {stream})", ""
    if re.match(r"cuCtx(Create|PushCurrent|PopCurrent|SetCurrent|Attach|Detach)$", base):
        after = "context_changed(&c)"
    return family, "", after


def row(name, params):
    args = split_params(params)
    family, before, after = rule(name, args)
    tail = "".join(f", {a}" for a in args)
    if before or after:
        return (f"HOOKX({name}, {family}, {before or 'NOTHING'}, {after or 'NOTHING'},\n"
                f"      ({params or 'void'}){tail})")
    return f"HOOK({name}, {family}, ({params or 'void'}){tail})"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    known = prototypes(sys.argv[1])
    for name in sys.argv[2:]:
        if name not in known:
            sys.exit(f"new-hook.sh: the headers have no {name}")
        print(row(name, known[name]))


if __name__ == "__main__":
    main()
