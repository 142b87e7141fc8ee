# SPDX-License-Identifier: BSD-2-Clause
"""What a trace says of NVTX (GST_RANGE, GST_RANGE_DATA, GST_NVTX), read as shim/FORMAT.md describes it and by nobody else's code."""

import struct
from typing import NamedTuple

import gst

RANGE, RANGE_DATA, NVTX = 28, 29, 30
SPACE_NVTX = 28
PUSHED, STARTED, MARK = 1, 2, 3
NUMBERED = 1
OURS, TAKEN, OFF, ATTACHED, CATEGORY = 1, 2, 3, 4, 5
UNTRACKED = gst.COUNTERS + 28 * 8
PAYLOADS = {0: None, 1: "<Q", 2: "<q", 3: "<d", 4: "<I", 5: "<i", 6: "<f"}


class Range(NamedTuple):
    begin: int
    end: int  # 0: still open
    range: int
    tid: int
    writer: int  # thread whose record it is
    domain: str  # None: the default one
    name: str  # None: it has none
    category: int
    level: int
    kind: int
    payload: object


class Data(NamedTuple):
    range: int
    schema: str
    size: int
    kept: bytes


class Trace:
    """ranges: by number, each once, in the order of their begin; records: all there are."""

    def __init__(self, path):
        data = path.read_bytes()
        parts = gst.segments(data)
        self.texts = gst.names(data, parts, SPACE_NVTX)
        self.untracked, = struct.unpack_from("<Q", data, UNTRACKED)
        self.records, self.data, self.said = [], [], []
        for part in parts:
            for record in part.records:
                assert record.commit == gst.COMMIT
                if record.type == RANGE:
                    self.records.append(self.range(data, record, part.tid))
                elif record.type == RANGE_DATA:
                    number, schema, size, kept = struct.unpack_from("<4I", data, record.offset + 8)
                    self.data.append(Data(number, self.texts.get(schema), size, data[record.offset + 24:record.offset + 24 + kept]))
                elif record.type == NVTX:
                    _, what, domain, number, name = struct.unpack_from("<Q4I", data, record.offset + 8)
                    self.said.append((what, self.texts.get(domain), number, self.texts.get(name)))
        found = {}
        for one in self.records:
            if one.range not in found or one.end:
                assert one.range not in found or not found[one.range].end, "two ends"
                found[one.range] = one
        self.ranges = sorted(found.values())

    def range(self, data, record, writer):
        begin, end, payload, number, tid, domain, name, last, category, level, kind, sort, flags = struct.unpack_from(
            "<2Q8s6IH3B", data, record.offset + 8)
        assert record.size == 64 and number and (end == 0 or end >= begin)
        text = self.texts[name] + (str(last) if flags & NUMBERED else "") if name else None
        value = struct.unpack_from(PAYLOADS[sort], payload)[0] if sort else None
        return Range(begin, end, number, tid, writer, self.texts[domain] if domain else None, text, category, level, kind, value)

    def named(self, name):
        return [one for one in self.ranges if one.name == name]
