# SPDX-License-Identifier: BSD-2-Clause
"""Stacks as the trace has them (shim/FORMAT.md, GST_STACK), put together: frames with the names of their files and functions."""

import struct
from typing import NamedTuple

import gst

STACK, STACK_AT, OBJECT, CODE, COST = 32, 33, 34, 35, 36
ANCHOR = 5
STALL, SILENCE, SITE, SAMPLE, LOOK = 1, 2, 3, 4, 5
RETURN, EXACT, PYTHON = 1, 2, 3
REFUSED = 1 << 30
TRUNCATED, NATIVE, HAS_PYTHON, UNMERGED = 1, 2, 4, 8


class Object(NamedTuple):
    id: int
    flags: int
    bias: int
    begin: int
    end: int
    build_id: bytes
    path: str
    file_bytes: int


class Code(NamedTuple):
    id: int
    first_line: int
    file: str
    name: str
    version: int


class Frame(NamedTuple):
    kind: int
    at: int  # address, or line
    of: object  # Object, Code, or None

    def address(self):
        """In the file, of an instruction of the call itself."""
        return self.at - self.of.bias - (self.kind == RETURN)


class Stack(NamedTuple):
    id: int
    flags: int
    frames: tuple

    def python(self):
        """(function, line), innermost first."""
        return [(frame.of.name, frame.at) for frame in self.frames if frame.kind == PYTHON]

    def truncated(self):
        return bool(self.flags & TRUNCATED)


class At(NamedTuple):
    begin: int
    end: int
    stack: Stack
    tid: int
    why: int
    hook: str
    weight: int


class Cost(NamedTuple):
    ticks: int
    taken_ticks: int
    taken: int
    looks: int
    passed: int
    failed: int
    frames: int
    stacks: int
    untracked: int
    budget_ppm: int
    python: int


class Stacks:
    def __init__(self, data):
        parts = gst.segments(data)
        anchors = sorted(struct.unpack_from("<2Q", data, record.offset + 8) for record in gst.valid(data, parts) if record.type == ANCHOR)
        self.ticks_per_ns = (anchors[-1][0] - anchors[0][0]) / (anchors[-1][1] - anchors[0][1])
        found = {STACK: [], STACK_AT: [], OBJECT: [], CODE: []}
        for record in gst.valid(data, parts):
            if record.type in found:
                found[record.type].append(data[record.offset:record.offset + record.size])
        hooks = gst.names(data, parts, gst.SPACE_HOOK)
        self.objects = unique(map(read_object, found[OBJECT]))
        self.codes = unique(map(read_code, found[CODE]))
        self.stacks = unique(self.read_stack(record) for record in found[STACK])
        self.at = [self.read_at(record, hooks) for record in found[STACK_AT]]
        self.costs = read_costs(data, parts)

    def of(self, why):
        return [at for at in self.at if at.why == why]

    def read_stack(self, record):
        number, count, flags = struct.unpack_from("<IHH", record, 8)
        assert len(record) == 16 + 16 * count and count
        return Stack(number, flags, tuple(self.read_frame(record, 16 + 16 * i) for i in range(count)))

    def read_frame(self, record, offset):
        at, of, kind, zero = struct.unpack_from("<QIHH", record, offset)
        assert kind in (RETURN, EXACT, PYTHON) and not zero
        if kind == PYTHON:
            return Frame(kind, at, self.codes[of])
        return Frame(kind, at, self.objects[of] if of else None)

    def read_at(self, record, hooks):
        begin, end, stack, tid, why, hook, weight = struct.unpack_from("<2Q2I2HI", record, 8)
        return At(begin, end, self.stacks[stack], tid, why, hooks.get(hook), weight)


def read_costs(data, parts):
    return sorted(Cost(*struct.unpack_from("<7Q4I", data, record.offset + 8)) for record in gst.valid(data, parts) if record.type == COST)


def unique(things):
    found = {}
    for thing in things:
        assert thing.id not in found, f"{thing.id} is there twice"
        found[thing.id] = thing
    return found


def read_object(record):
    number, flags, path_bytes, bias, begin, end, file_bytes, _ = struct.unpack_from("<IHH5Q", record, 8)
    length = record[88]
    return Object(number, flags, bias, begin, end, record[56:56 + length], record[96:96 + path_bytes].decode(), file_bytes)


def read_code(record):
    number, first_line, file_bytes, name_bytes, version = struct.unpack_from("<2I3H", record, 8)
    text = record[24:24 + file_bytes + name_bytes]
    return Code(number, first_line, text[:file_bytes].decode(), text[file_bytes:].decode(), version)
