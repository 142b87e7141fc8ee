# SPDX-License-Identifier: BSD-2-Clause
"""nccl_ctypes.py CASE --rank R --ranks N --id FILE: NCCL as vLLM uses it, by ctypes: a table of functions from one CDLL, the unique id
passed by value. The case is "vllm"."""

import argparse
import ctypes
import os
import time

FLOAT32, SUM = 7, 0
COUNT = 16


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


P, I, Z = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
FUNCTIONS = {
    "ncclGetErrorString": (ctypes.c_char_p, [I]),
    "ncclGetVersion": (I, [ctypes.POINTER(I)]),
    "ncclGetUniqueId": (I, [ctypes.POINTER(UniqueId)]),
    "ncclCommInitRank": (I, [ctypes.POINTER(P), I, UniqueId, I]),
    "ncclAllReduce": (I, [P, P, Z, I, I, P, P]),
    "ncclAllGather": (I, [P, P, Z, I, P, P]),
    "ncclReduceScatter": (I, [P, P, Z, I, I, P, P]),
    "ncclBroadcast": (I, [P, P, Z, I, I, P, P]),
    "ncclSend": (I, [P, Z, I, I, P, P]),
    "ncclRecv": (I, [P, Z, I, I, P, P]),
    "ncclGroupStart": (I, []),
    "ncclGroupEnd": (I, []),
    "ncclCommDestroy": (I, [P]),
}


class Library:
    def __init__(self):
        library = ctypes.CDLL("libnccl.so.2")
        self.functions = {}
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            self.functions[name] = function

    def __call__(self, name, *arguments):
        result = self.functions[name](*arguments)
        if result:
            raise RuntimeError(f"{name}: {self.functions['ncclGetErrorString'](result).decode()}")


def cuda(name, *arguments):
    result = getattr(cuda.library, name)(*arguments)
    if result:
        raise RuntimeError(f"{name}: {result}")


def exchange(nccl, options):
    unique = UniqueId()
    if options.rank == 0:
        nccl("ncclGetUniqueId", ctypes.byref(unique))
        with open(options.id + ".half", "wb") as file:
            file.write(bytes(unique))
        os.rename(options.id + ".half", options.id)
    while not os.path.exists(options.id):
        time.sleep(0.001)
    with open(options.id, "rb") as file:
        ctypes.memmove(ctypes.byref(unique), file.read(), 128)
    return unique


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--id")
    options = parser.parse_args()
    nccl, version, context, comm, stream = Library(), I(), P(), P(), P()
    nccl("ncclGetVersion", ctypes.byref(version))
    cuda.library = ctypes.CDLL("libcuda.so.1")
    cuda("cuInit", 0)
    cuda("cuDevicePrimaryCtxRetain", ctypes.byref(context), options.rank)
    cuda("cuCtxSetCurrent", context)
    cuda("cuStreamCreate", ctypes.byref(stream), 1)
    send, recv = P(), P()
    for pointer in (send, recv):
        cuda("cuMemAlloc_v2", ctypes.byref(pointer), Z(4 * COUNT * options.ranks))
    values = (ctypes.c_float * COUNT)(*[options.rank + i for i in range(COUNT)])
    cuda("cuMemcpyHtoD_v2", send, values, Z(4 * COUNT))
    nccl("ncclCommInitRank", ctypes.byref(comm), options.ranks, exchange(nccl, options), options.rank)
    nccl("ncclAllReduce", send, recv, COUNT, FLOAT32, SUM, comm, stream)
    nccl("ncclAllGather", send, recv, COUNT, FLOAT32, comm, stream)
    nccl("ncclGroupStart")
    nccl("ncclSend", send, COUNT, FLOAT32, (options.rank + 1) % options.ranks, comm, stream)
    nccl("ncclRecv", recv, COUNT, FLOAT32, (options.rank - 1) % options.ranks, comm, stream)
    nccl("ncclGroupEnd")
    nccl("ncclBroadcast", send, send, COUNT, FLOAT32, 1, comm, stream)
    cuda("cuMemcpyDtoHAsync_v2", values, recv, Z(4 * COUNT), stream)
    cuda("cuStreamSynchronize", stream)
    print(version.value, list(values))
    nccl("ncclCommDestroy", comm)


main()
