# SPDX-License-Identifier: BSD-2-Clause
"""nccl_one_rank.py LIBRARY CALLS: a communicator of one rank on device 0, and as many all-reduces in it. Prints what came out as JSON."""

import ctypes
import json
import sys

from driver import Driver

COUNT, FLOAT32, SUM = 1024, 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


def main():
    path, calls = sys.argv[1], int(sys.argv[2])
    driver = Driver()
    driver.open_context()
    stream = driver.stream()
    nccl = ctypes.CDLL(path)
    nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int]
    nccl.ncclAllReduce.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def call(name, *args):
        rc = getattr(nccl, name)(*args)
        if rc:
            raise SystemExit(f"{name} returned {rc}")

    version, unique, comm = ctypes.c_int(), UniqueId(), ctypes.c_void_p()
    call("ncclGetVersion", ctypes.byref(version))
    call("ncclGetUniqueId", ctypes.byref(unique))
    call("ncclCommInitRank", ctypes.byref(comm), 1, unique, 0)
    send, recv = ctypes.c_uint64(), ctypes.c_uint64()
    for pointer in (send, recv):
        driver.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(4 * COUNT))
    values = (ctypes.c_float * COUNT)(*range(COUNT))
    driver.call("cuMemcpyHtoD_v2", send, values, ctypes.c_size_t(4 * COUNT))
    for _ in range(calls):
        call("ncclAllReduce", send.value, recv.value, COUNT, FLOAT32, SUM, comm, stream)
    driver.call("cuStreamSynchronize", stream)
    got = (ctypes.c_float * COUNT)()
    driver.call("cuMemcpyDtoH_v2", got, recv, ctypes.c_size_t(4 * COUNT))
    call("ncclCommDestroy", comm)
    print(json.dumps({"version": version.value, "right": list(got) == list(values)}))


main()
