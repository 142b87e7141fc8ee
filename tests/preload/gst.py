# SPDX-License-Identifier: BSD-2-Clause
"""A second, independent reader of the trace file (shim/FORMAT.md): only where the pieces lie, and which calls were recorded."""

import struct
from collections import Counter
from typing import NamedTuple

COUNTERS = 4096
DIRECTORY = 8192
SEGMENTS = 270336
SEGMENT_BYTES = 262144
SEGMENT_HEADER = 64
RECORD_HEADER = 8
COMMIT = 0xC3A5

CALL, NAME = 1, 2
SPACE_HOOK, SPACE_ENTRY = 1, 4
INJECTED = COUNTERS + 8 * 8 + 24 * 8  # counters before it, and their reserve


class Record(NamedTuple):
    offset: int  # in the file
    type: int
    size: int
    commit: int


class Segment(NamedTuple):
    index: int
    offset: int
    records: list

    def end(self):
        """Where the next record would be."""
        return self.records[-1].offset + self.records[-1].size if self.records else self.offset + SEGMENT_HEADER


def records(data, base):
    at, found = SEGMENT_HEADER, []
    while at + RECORD_HEADER <= SEGMENT_BYTES:
        kind, size, _, commit = struct.unpack_from("<4H", data, base + at)
        if kind == 0 and size == 0:
            break
        found.append(Record(base + at, kind, size, commit))
        at += size
    return found


def segments(data):
    """Those in use, of a whole and undamaged file."""
    used = [i for i, entry in enumerate(struct.unpack_from("<65536I", data, DIRECTORY)) if entry]
    return [Segment(i, SEGMENTS + i * SEGMENT_BYTES, records(data, SEGMENTS + i * SEGMENT_BYTES)) for i in used]


def names(data, parts, space):
    found = {}
    for part in parts:
        for record in part.records:
            if record.type == NAME:
                number, where, length = struct.unpack_from("<IHH", data, record.offset + RECORD_HEADER)
                if where == space:
                    found[number] = data[record.offset + 16:record.offset + 16 + length].decode()
    return found


def calls(data):
    """(name, result) of each call recorded; those of one thread in their order."""
    parts = segments(data)
    hooks = names(data, parts, SPACE_HOOK)
    for part in parts:
        for record in part.records:
            if record.type == CALL and record.commit == COMMIT:
                (hook,) = struct.unpack_from("<H", data, record.offset + 28)
                (result,) = struct.unpack_from("<i", data, record.offset + 32)
                yield hooks[hook], result


def call_counts(data):
    """{name: calls recorded}, {name: calls the shim made}."""
    parts = segments(data)
    hooks = names(data, parts, SPACE_HOOK)
    counts = Counter(name for name, _ in calls(data))
    injected = struct.unpack_from("<480Q", data, INJECTED)
    return dict(counts), {hooks[i]: count for i, count in enumerate(injected) if count}
