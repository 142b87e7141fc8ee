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

CALL, NAME, STREAM, ANCHOR, EDGE, KEPT, BURST, ACTIVITY, LEVEL = 1, 2, 3, 5, 6, 15, 16, 17, 18
BURST_BEFORE, BURST_AFTER, BURST_NULL = 6, 7, 8  # kinds of edge
SPACE_HOOK, SPACE_KERNEL, SPACE_ENTRY = 1, 2, 4
SUBMISSION = 1
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
    tid: int
    thread_seq: int
    recycles: int
    kept: bool  # copies out of segments that were given up
    name: str  # of the thread

    def end(self):
        """Where the next record would be."""
        return self.records[-1].offset + self.records[-1].size if self.records else self.offset + SEGMENT_HEADER


def records(data, base):
    at, found = SEGMENT_HEADER, []
    while at + RECORD_HEADER <= SEGMENT_BYTES:
        kind, size, _, commit = struct.unpack_from("<4H", data, base + at)
        if kind == 0 and size == 0:  # room that a thread left in the middle of an append, or the end
            rest = data[base + at:base + SEGMENT_BYTES]
            empty = len(rest) - len(rest.lstrip(b"\0"))
            if empty == len(rest):
                break
            at += empty // 8 * 8
            continue
        found.append(Record(base + at, kind, size, commit))
        at += size
    return found


def segments(data):
    """Those in use, of a whole and undamaged file."""
    used = [i for i, entry in enumerate(struct.unpack_from("<65536I", data, DIRECTORY)) if entry]
    return [segment(data, i) for i in used]


def segment(data, index):
    at = SEGMENTS + index * SEGMENT_BYTES
    magic, place, _, tid, _, thread_seq, _, name, recycles, _, flags = struct.unpack_from("<4IQ2I16s3I", data, at)
    assert magic == 0x47455347 and place == index
    return Segment(index, at, records(data, at), tid, thread_seq, recycles, bool(flags & 1), name.rstrip(b"\0").decode())


def valid(data, parts):
    """Every finished record that counts: without copies of what is still there itself."""
    there = {(part.index, part.recycles) for part in parts}
    for part in parts:
        copied = False
        for record in part.records:
            if record.type == KEPT:
                copied = struct.unpack_from("<2I", data, record.offset + 8) in there
            elif record.commit == COMMIT and not copied:
                yield record


def names(data, parts, space):
    """{id: text}; each is there once."""
    found = {}
    for record in valid(data, parts):
        if record.type == NAME:
            number, where, length = struct.unpack_from("<IHH", data, record.offset + RECORD_HEADER)
            if where == space:
                assert number not in found, f"name {number} of space {space} is there twice"
                found[number] = data[record.offset + 16:record.offset + 16 + length].decode(errors="replace")
    return found


class Counters(NamedTuple):
    records_dropped: int
    segments_recycled: int
    records_recycled: int
    calls_recycled: int
    recycled_until: int
    definitions_lost: int


def counters(data):
    dropped, = struct.unpack_from("<Q", data, COUNTERS)
    return Counters(dropped, *struct.unpack_from("<5Q", data, COUNTERS + 10 * 8))


class Call(NamedTuple):
    begin: int
    end: int
    seq: int
    hook: int
    family: int
    flags: int
    result: int
    stream: int
    name: int


class Edge(NamedTuple):
    edge: int
    base: int
    stream: int
    covers: int
    begin: int
    end: int
    done: int
    elapsed_ms: float
    device: int
    kind: int
    tid: int
    burst: int


def edges(data):
    """In the order they were recorded."""
    return sorted(Edge(*struct.unpack_from("<4I3Qf2H2I", data, record.offset + 8))
                  for record in valid(data, segments(data)) if record.type == EDGE)


class Burst(NamedTuple):
    begin: int
    end: int
    burst: int
    submissions: int
    edges: int
    passed: int
    cost_ticks: int


def bursts(data):
    found = [Burst(*struct.unpack_from("<2Q4IQ", data, record.offset + 8))
             for record in valid(data, segments(data)) if record.type == BURST]
    return sorted(found, key=lambda burst: burst.burst)


def recorded(data, parts):
    """Those that the file has, kept ones, which say something of a graph alone, aside."""
    own = [part for part in parts if not part.kept]
    for record in valid(data, own):
        if record.type == CALL:
            begin, end, seq, hook, family, flags, result, stream, name = struct.unpack_from("<2QIH2BiI4xI", data, record.offset + 8)
            yield Call(begin, end, seq, hook, family, flags, result, stream, name)


def calls(data):
    """(name, result) of each call recorded; those of one thread in their order."""
    parts = segments(data)
    hooks = names(data, parts, SPACE_HOOK)
    for call in recorded(data, parts):
        yield hooks[call.hook], call.result


def call_counts(data):
    """{name: calls recorded}, {name: calls the shim made}."""
    parts = segments(data)
    hooks = names(data, parts, SPACE_HOOK)
    counts = Counter(name for name, _ in calls(data))
    injected = struct.unpack_from("<480Q", data, INJECTED)
    return dict(counts), {hooks[i]: count for i, count in enumerate(injected) if count}
