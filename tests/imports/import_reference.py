#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""import_reference.py FILE…: what each device did by a Kineto (Chrome JSON) or Nsight Systems (SQLite) file, as a line of JSON for each device.

Slow, exact, and written without a look at the importers: tests hold `gpushim report` against it. No number of a file becomes a
floating-point one: a time is its text, and that text is nanoseconds. Where it is finer than these, a begin and an end are rounded once each: an
end is what begin and duration are together, so that what touches in the file still does.

What counts is what a device did: kernels, copies, memsets, and launches of graphs whose nodes were not recorded. An operation that ends
before it begins is none. One that takes no time is: the gap before it ends where it stands, and another begins.

    span = compute + comm_exposed + copy_exposed + idle

compute: some kernel that is no communication runs; comm_exposed: none of these, but one of communication; copy_exposed: neither, but a
copy or a memset; idle: nothing."""

import decimal
import json
import math
import re
import sqlite3
import sys
import zlib
from pathlib import Path
from typing import NamedTuple

COMM_ROWS = Path(__file__).resolve().parents[2] / "analyzer/trace/comm_kernels.def"
COMPUTE, COMM, COPY = "compute", "comm_exposed", "copy_exposed"


class Operation(NamedTuple):
    device: tuple  # its number, and what tells those of one number apart
    begin: int
    end: int
    kind: str


class Device(NamedTuple):
    device: int
    begin: int
    end: int
    compute: int
    comm_exposed: int
    copy_exposed: int
    idle: int
    gaps: list
    operations: int


class Trace(NamedTuple):
    source: str  # kineto, nsys
    devices: list
    truncated: bool  # what is there has no proper end


class NotATrace(Exception):
    pass


# ---- communication, by name --------------------------------------------------------------------------------------------------

def comm_rows():
    return re.findall(r'^COMM_KERNEL\((\w+), "([^"]+)"\)', COMM_ROWS.read_text(), re.M)


def mangled_words(name):
    """The identifiers of _Z3fooi or _ZN1a3barI…E…: up to the template's arguments or the parameters."""
    at, words = 2, []
    nested = name[at:at + 1] == "N"
    at = re.compile("[NLKVr]*").match(name, at).end()
    while True:
        if words and name[at:at + 1] == "L":  # of internal linkage
            at += 1
        length = re.compile("[0-9]+").match(name, at)
        if not length or not int(length[0]) or length.end() + int(length[0]) > len(name):
            return words
        at = length.end() + int(length[0])
        words.append(name[length.end():at])
        if not nested:
            return words


def plain_words(name):
    """The same of "void a::(anonymous namespace)::bar<…>(…)": what it returns, without a qualifier, is no word of the name itself."""
    name = name.replace("(anonymous namespace)", "")
    outside, depth = "", 0
    for char in name:
        if char == "(" and depth == 0:
            break
        depth += (char == "<") - (char == ">" and depth > 0)
        outside += char if depth == 0 and char != ">" else " " if char == "<" else ""
    found = list(re.finditer(r"[A-Za-z0-9_$]+", outside))
    spaces = [word[0] for word in found if outside[word.end():word.end() + 1] == ":"]
    return [word for word in spaces if not found or word is not found[-1][0]] + [word[0] for word in found[-1:]]


def is_communication(name, rows=comm_rows()):
    words = mangled_words(name) if name.startswith("_Z") else plain_words(name)
    if not words:
        return False
    function = words[-1]
    fits = {"FUNCTION": lambda text: function == text,
            "BEGINS": lambda text: function.startswith(text),
            "LIBRARY": lambda text: function.startswith(text) and "A" <= function[len(text):len(text) + 1] <= "Z",
            "SPACE": lambda text: text in words[:-1]}
    return any(fits[how](text) for how, text in rows)


# ---- a device's time ---------------------------------------------------------------------------------------------------------

def union(intervals):
    """Sorted and disjoint; what touches is one, a point is one of its own."""
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def length(merged):
    return sum(end - begin for begin, end in merged)


def device_of(number, operations):
    """By inclusion: what a kind adds to the union of those before it is exposed."""
    seen, lengths = [], {}
    for kind in (COMPUTE, COMM, COPY):
        before = length(union(seen))
        seen += [(op.begin, op.end) for op in operations if op.kind == kind]
        lengths[kind] = length(union(seen)) - before
    busy = union(seen)
    gaps = [(left[1], right[0]) for left, right in zip(busy, busy[1:])]
    return Device(number, busy[0][0], busy[-1][1], lengths[COMPUTE], lengths[COMM], lengths[COPY],
                  sum(end - begin for begin, end in gaps), gaps, len(operations))


def devices_of(operations):
    by_device = {}
    for op in operations:
        by_device.setdefault(op.device, []).append(op)
    return sorted(device_of(number, operations) for (number, _), operations in by_device.items())


# ---- Kineto ------------------------------------------------------------------------------------------------------------------

KINDS = {"kernel": None, "gpu_memcpy": COPY, "gpu_memset": COPY, "Kernel": None, "Memcpy": COPY, "Memset": COPY}
DECODER = json.JSONDecoder(strict=False, parse_float=str, parse_int=str, parse_constant=lambda text: None)
BLANK = re.compile(r"[ \t\r\n]*")
ARITHMETIC = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
RANGE_NS = 1 << 63


def exactly(microseconds):
    """A number's text, in nanoseconds, with what is finer than these; None: it is none."""
    if not isinstance(microseconds, str):
        return None
    try:
        exact = ARITHMETIC.create_decimal(microseconds)
    except decimal.InvalidOperation:
        return None
    return ARITHMETIC.scaleb(exact, 3) if exact.is_finite() and exact.adjusted() <= 18 else None


def rounded(exact):
    """The nearest nanosecond, of two that are as near the later one; None: out of range."""
    ns = None if exact is None else math.floor(ARITHMETIC.add(exact, decimal.Decimal("0.5")))
    return ns if ns is not None and -RANGE_NS <= ns < RANGE_NS else None


def nanoseconds(microseconds):
    return rounded(exactly(microseconds))


def unpacked(data):
    """(bytes, is its end there?)"""
    whole, parts = True, []
    while data[:2] == b"\x1f\x8b":
        member = zlib.decompressobj(31)
        try:
            parts.append(member.decompress(data))
        except zlib.error:
            return b"".join(parts + [partly(data)]), False
        whole, data = member.eof, member.unused_data.lstrip(b"\0")
    return (b"".join(parts), whole) if parts else (data, True)


def partly(data):
    """What a damaged gzip member gives before the damage."""
    member, out = zlib.decompressobj(31), b""
    for at in range(0, len(data), 64):
        try:
            out += member.decompress(data[at:at + 64])
        except zlib.error:
            break
    return out


class Events:
    """Chrome's file, an object with "traceEvents" or the array itself. Iterated: each element that is an object, as far as there is
    proper JSON; then truncated says whether it ended as it should."""

    def __init__(self, text):
        self.text, self.at, self.truncated = text, 0, True

    def skip(self, *expected):
        """The character that is next, behind blanks; it is passed if it is expected."""
        self.at = BLANK.match(self.text, self.at).end()
        char = self.text[self.at:self.at + 1]
        self.at += bool(char) and char in expected
        return char

    def value(self):
        self.skip()
        value, self.at = DECODER.raw_decode(self.text, self.at)
        return value

    def array(self):
        if self.skip("]") == "]":
            return
        while True:
            value = self.value()
            if isinstance(value, dict):
                yield value
            char = self.skip(",", "]")
            if char == "]":
                return
            if char != ",":
                raise ValueError("no comma")
            if self.skip("]") == "]":  # Chrome allows a comma behind the last one
                return

    def members(self):
        if self.skip("}") == "}":
            return
        while True:
            name = self.value()
            if self.skip(":") != ":":
                raise ValueError("no colon")
            if name == "traceEvents" and self.skip("[") == "[":
                yield from self.array()
            else:
                self.value()
            char = self.skip(",", "}")
            if char == "}":
                return
            if char != ",":
                raise ValueError("no comma")

    def __iter__(self):
        try:
            first = self.skip("{", "[")
            if first == "{":
                yield from self.members()
            elif first == "[":
                yield from self.array()
            else:
                raise NotATrace
            self.truncated = False
        except (ValueError, RecursionError):
            pass


def nested(halves):
    """Each E of (time, phase, event) with the last B that is open."""
    open_ones, pairs = [], []
    for half in halves:
        if half[1] == "B":
            open_ones.append(half)
        elif open_ones:
            pairs.append((open_ones.pop(), half))
    return pairs


def in_time(halves, pairs):
    """At one time what ends, then what takes none by the order of the file, then what begins."""
    instant = {id(half) for begin, end in pairs if begin[0] == end[0] for half in (begin, end)}
    return sorted(halves, key=lambda half: (half[0], 1 if id(half) in instant else 2 * (half[1] == "B")))


def fit(pair):
    return pair[0][0] <= pair[1][0]


def halves_of(pairs):
    return {id(half) for pair in pairs for half in pair}


def leftovers(halves, pairs):
    """Of the halves that fit no other in the file, in the order of time: (all pairs, those that count). Where an event ends before it begins in the
    file and only one half of it finds another, its time is wrong."""
    wrong = [pair for pair in pairs if not fit(pair)]
    own = {id(half): id(other) for begin, end in wrong for half, other in ((begin, end), (end, begin))}
    taken = halves_of(filter(fit, pairs))
    found = nested(in_time([half for half in halves if id(half) not in taken], []))
    settled = halves_of(found)
    return found, [pair for pair in found if all(own.get(id(half), id(half)) in settled for half in pair)]


def better(by_time, good, found):
    """Pairs more; or as many in less time, where some were found by time anyway."""
    took = [sum(end[0] - begin[0] for begin, end in pairs) for pairs in (by_time, good + found)]
    return len(by_time) > len(good + found) or (found and len(by_time) == len(good + found) and took[0] < took[1])


def paired(halves):
    """A thread's, as they stand in the file, which says that kernels of one stream overlap; then what that leaves. All in the order of time where
    that is better and undoes few: four for each end that the file leaves alone or before its begin, and half of them, and one for each alone."""
    pairs = nested(halves)
    good = list(filter(fit, pairs))
    ends = sum(half[1] == "E" for half in halves)
    found, counted = leftovers(halves, pairs)
    by_time = nested(in_time(halves, good))
    kept = {(id(begin), id(end)) for begin, end in by_time}
    undone = sum((id(begin), id(end)) not in kept for begin, end in good + counted)
    few = undone <= 4 * (ends - len(good)) and 2 * undone <= len(good + found) + 2 * (ends - len(pairs))
    return by_time if ends > len(good) and few and better(by_time, good, found) else good + counted


def complete(events):
    """Each complete event as (begin, end, event): X as it stands, B with its thread's E that closes it."""
    threads = {}
    for event in events:
        phase, at = event.get("ph"), exactly(event.get("ts"))
        begin = rounded(at)
        if begin is None:
            continue
        if phase == "X":
            took = exactly(event.get("dur"))
            end = None if took is None else rounded(ARITHMETIC.add(at, took))
            if end is not None:
                yield begin, end, event
        elif phase in ("B", "E"):
            threads.setdefault((str(event.get("pid")), str(event.get("tid"))), []).append((begin, phase, event))
    for halves in threads.values():
        yield from ((begin[0], end[0], begin[2]) for begin, end in paired(halves))


def device_and_place(event):
    """args.device, or the process, which for a device's events is the device. In files that were put together, several processes each have
    their device 0, drawn in a place of its own."""
    arguments, place = event.get("args"), str(event.get("pid"))
    for value in (arguments.get("device") if isinstance(arguments, dict) else None, place):
        if isinstance(value, str) and re.fullmatch("[0-9]+", value):
            return int(value), place
    return 0, place


def read_kineto(data):
    data, whole = unpacked(data)
    events = Events(data.decode("utf-8", "surrogateescape"))
    operations = []
    for begin, end, event in complete(events):
        category = event.get("cat")
        if isinstance(category, str) and category in KINDS and begin <= end:
            name = event.get("name")
            kind = KINDS[category] or (COMM if is_communication(name if isinstance(name, str) else "") else COMPUTE)
            operations.append(Operation(device_and_place(event), begin, end, kind))
    return Trace("kineto", devices_of(operations), events.truncated or not whole)


# ---- Nsight Systems ----------------------------------------------------------------------------------------------------------

PREFIX = "CUPTI_ACTIVITY_KIND_"


class Tables:
    def __init__(self, path):
        self.base = sqlite3.connect(f"file:{Path(path).resolve()}?mode=ro&immutable=1", uri=True)
        self.base.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        self.names = {name for (name,) in self.base.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}

    def rows(self, table, *columns):
        """Of what has them: a column that is missing is None in each row. Rows in the order of the file."""
        if table not in self.names:
            return []
        has = {column[1] for column in self.base.execute(f"PRAGMA table_info({table})")}
        return self.base.execute(f"SELECT {', '.join(c if c in has else 'NULL' for c in columns)} FROM {table}").fetchall()


def read_nsys(path):
    tables = Tables(path)
    texts = dict(tables.rows("StringIds", "id", "value"))
    physical = {(pid, cuda): gpu for pid, cuda, gpu in tables.rows("TARGET_INFO_CUDA_DEVICE", "pid", "cudaId", "gpuId") if gpu is not None}
    operations = []
    for table, kind in (("KERNEL", None), ("CONCURRENT_KERNEL", None), ("MEMCPY", COPY), ("MEMSET", COPY), ("GRAPH_TRACE", COMPUTE)):
        columns = ("start", "end", "deviceId", "globalPid", "demangledName", "shortName")
        for start, end, device, process, demangled, short in tables.rows(PREFIX + table, *columns):
            if not isinstance(start, int) or not isinstance(end, int) or end < start:
                continue
            device = device if isinstance(device, int) else 0
            pid = process >> 24 & 0xffffff if isinstance(process, int) else 0
            name = texts.get(demangled) or texts.get(short) or ""
            operations.append(Operation((physical.get((pid, device), device), None), start, end, kind or (COMM if is_communication(name) else COMPUTE)))
    return Trace("nsys", devices_of(operations), False)


# ---- either ------------------------------------------------------------------------------------------------------------------

def read(path):
    data = Path(path).read_bytes()
    if data.startswith(b"SQLite format 3\0"):
        return read_nsys(path)
    if data[:2] == b"\x1f\x8b" or data.lstrip(b" \t\r\n\xef\xbb\xbf")[:1] in (b"{", b"["):
        return read_kineto(data)
    raise NotATrace(path)


def main():
    for path in sys.argv[1:]:
        trace = read(path)
        for device in trace.devices:
            print(json.dumps({"file": path, "truncated": trace.truncated, **device._asdict()}))


if __name__ == "__main__":
    main()
