# SPDX-License-Identifier: BSD-2-Clause
"""What a trace says of NCCL (GST_NCCL, GST_COMM), read as shim/FORMAT.md describes it and by nobody else's code."""

import struct
from typing import NamedTuple

import gst

STREAM, COMM, NCCL = 3, 20, 21
SPACE_KERNEL, SPACE_NCCL, SPACE_LIBRARY = 2, 20, 22
NONE = 0xffffffff
INNER, OURS = 1, 2
COLLECTIVES = range(1, 9)
SEND, RECV, GROUP_START, GROUP_END = 9, 10, 14, 15


class Comm(NamedTuple):
    number: int
    hash: int
    parent: int
    rank: int
    size: int
    library: str
    device: int


class Call(NamedTuple):
    begin: int
    end: int
    name: str
    kind: int
    inner: bool
    comm: Comm  # None: none
    result: int
    stream: int  # its handle; None: none
    group: int
    seq: int
    count: int
    peer: int
    op: int
    type: int

    def is_collective(self):
        return self.kind in COLLECTIVES

    def moves(self):
        return self.is_collective() or self.kind in (SEND, RECV)


class Launch(NamedTuple):
    begin: int
    end: int
    kernel: str
    stream: int


class Trace:
    """calls in the order of their begin; questions: what the recorder asked NCCL itself; launches: NCCL's kernels, as the driver was asked for them."""

    def __init__(self, path):
        data = path.read_bytes()
        parts = gst.segments(data)
        names, libraries = gst.names(data, parts, SPACE_NCCL), gst.names(data, parts, SPACE_LIBRARY)
        hooks, kernels = gst.names(data, parts, gst.SPACE_HOOK), gst.names(data, parts, SPACE_KERNEL)
        records = [record for part in parts for record in part.records if record.commit == gst.COMMIT]
        self.streams, self.comms, self.calls, self.questions, self.launches = {}, {}, [], [], []
        for record in records:
            if record.type == STREAM:
                number, _, _, handle = struct.unpack_from("<IHHQ", data, record.offset + 8)
                self.streams[number] = handle
            elif record.type == COMM:
                self.read_comm(data, record.offset, libraries)
        for record in records:
            if record.type == NCCL:
                self.read_call(data, record.offset, names)
            elif record.type == gst.CALL:
                begin, end, _, hook, _, _, _, stream, _, _, kernel = struct.unpack_from("<QQIHBBiIHHI", data, record.offset + 8)
                if hooks[hook].startswith("cuLaunch") and "ncclDevKernel" in kernels.get(kernel, ""):
                    self.launches.append(Launch(begin, end, kernels[kernel], self.streams.get(stream)))
        self.calls.sort()
        self.launches.sort()

    def read_comm(self, data, at, libraries):
        _, hash_, _, number, parent, rank, size, library, _, device = struct.unpack_from("<QQQIIIIIIH", data, at + 8)
        if number not in self.comms or rank != NONE:
            self.comms[number] = Comm(number, hash_, parent, rank, size, libraries.get(library), device)

    def read_call(self, data, at, names):
        begin, end, comm, hook, kind, flags, result, stream, group, seq, count, peer, op, type_ = struct.unpack_from("<QQIHBBiIIIQiHB", data, at + 8)
        calls = self.questions if flags & OURS else self.calls
        calls.append(Call(begin, end, names[hook], kind, bool(flags & INNER), self.comms.get(comm), result, self.streams.get(stream),
                               group, seq, count, peer, op, type_))

    def collectives(self):
        return [call for call in self.calls if call.is_collective()]
