# SPDX-License-Identifier: BSD-2-Clause
"""Makes of a recording what the same process would have left on a host with a clock of its own. The records' times are ticks of a counter; what
CLOCK_MONOTONIC said is in the header, the anchors, and the times that CUPTI gave. Nothing else of the file changes."""

import struct

import gst

CHECK, CLOCK, START_MONO, PROCESS_START, HOST = 12, 28, 56, 72, 144  # offsets in the file header
ON_MONOTONIC = 2


class Skew:
    """A clock that said `base` + `offset` when ours said `base`, and gains `ppm`."""

    def __init__(self, base, offset, ppm):
        self.base, self.offset, self.ppm = base, offset, ppm

    def of(self, ns):
        return ns + self.offset + round((ns - self.base) * self.ppm * 1e-6)

    def back(self, ns):
        """Our time at which it says ns; a float."""
        return self.base + (ns - self.offset - self.base) / (1 + self.ppm * 1e-6)


def is_counter(data):
    """Otherwise every tick is CLOCK_MONOTONIC's."""
    return struct.unpack_from("<I", data, CLOCK)[0] != ON_MONOTONIC


def header_check(header):
    value = 0x811c9dc5
    for index, byte in enumerate(header):
        value = ((value ^ (0 if CHECK <= index < CHECK + 4 else byte)) * 0x01000193) & 0xffffffff
    return value


def start_ns(path):
    return struct.unpack_from("<Q", path.read_bytes(), START_MONO)[0]


def skewed(data, host, skew):
    """The file as that host would have written it."""
    data = bytearray(data)
    assert is_counter(data)

    def move(at):
        (ns,) = struct.unpack_from("<Q", data, at)
        if ns:
            struct.pack_into("<Q", data, at, skew.of(ns))

    for segment in gst.segments(bytes(data)):
        for record in segment.records:
            if record.type == gst.ANCHOR:
                move(record.offset + 16)
            elif record.type == gst.ACTIVITY:
                move(record.offset + 8)
                move(record.offset + 16)
    move(START_MONO)
    move(PROCESS_START)
    struct.pack_into("<64s", data, HOST, host.encode())
    struct.pack_into("<I", data, CHECK, header_check(data[:4096]))
    return bytes(data)
