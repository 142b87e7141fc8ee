#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""import_reference_rows.py FILE…: row by row what a Kineto (Chrome JSON) or Nsight Systems (SQLite) file says, as a line of JSON for each row.

Beside import_reference, which says how long each device was busy: here is what it did, for whom, and what the host did. As slow, as exact, and
written without a look at the importers too. Where times come from, and what counts as an operation, is import_reference's.

A call inside another of its thread is that one's own doing: the outermost is the call, and asked for what either did. What asked for an
operation is the call of its number (correlation); of several the last that began before it. What is told of before time 0 is left out."""

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import import_reference as reference

UVM = {11: "copy-h2d", 12: "copy-d2h", 13: "copy-d2d"}  # what the driver moves by itself, in no stream


class Operation(NamedTuple):
    device: int  # None: several have one number
    stream: int
    kind: str
    name: str  # a kernel's
    begin: int
    end: int
    bytes: int  # of copies and memsets, by themselves or their call; 0: not told
    call: tuple  # (name, begin) of the call that asked for it


class Call(NamedTuple):
    pid: int  # None: the file has no number for it
    tid: int
    name: str
    begin: int
    end: int
    bytes: int = 0  # that it moves or sets; 0: not told


class Range(NamedTuple):
    pid: int
    tid: int
    name: str
    begin: int
    end: int


class Memory(NamedTuple):
    device: int
    peak_allocated: int
    peak_reserved: int
    allocated: int  # in the end
    reserved: int


class Step(NamedTuple):
    name: str
    begin: int
    end: int


class Rows(NamedTuple):
    operations: list
    calls: list
    ranges: list
    collectives: list  # as ranges
    memory: list
    steps: list  # of the program's own numbering; none where there is only one
    left_out: int  # None: some work is of a kind that nothing is known of here


# ---- either format -----------------------------------------------------------------------------------------------------------

CUT = 2000  # ns: two times, each cut to a microsecond


def is_within(call, number, outer, its_number):
    """A part that has its call's number may end behind it, or even begin there: then it has another name."""
    if call.begin < outer.end and call.end <= outer.end:
        return True
    same = number[1] and number == its_number and outer.begin < outer.end
    return same and call.end < outer.end + CUT and (call.begin < outer.end or call.name != outer.name)


def outermost(calls):
    """Of each call's index, that of the call that it is part of. What takes no time is over when another of its instant begins."""
    threads, outer = {}, {}
    for i, (call, _) in enumerate(calls):
        threads.setdefault((call.pid, call.tid), []).append((call.begin, call.begin < call.end, -call.end, i))
    for thread in threads.values():
        last = None
        for *_, i in sorted(thread):
            if last is None or not is_within(*calls[i], *calls[last]):
                last = i
            outer[i] = last
    return outer


def linked(operations, calls):
    """(the operations, each with its call; the calls that count). Both come with their number, (whose, correlation)."""
    outer, numbered = outermost(calls), {}
    for i, (_, number) in enumerate(calls):
        if number[1]:
            numbered.setdefault(number, []).append((calls[outer[i]][0].begin, outer[i]))
    out = []
    for op, number in operations:
        asked = numbered.get(number, ())
        before = [one for one in asked if one[0] <= op.begin]
        call = calls[(max(before) if before else min(asked))[1]][0] if asked else None
        size = (call.bytes if call else 0) if op.bytes == 0 else op.bytes
        out.append(op._replace(call=call and (call.name, call.begin), bytes=size))
    return out, [calls[i][0] for i in sorted(set(outer.values()))]


def split(rows):
    """(those from time 0 on, how many are not). A row, or one with its number."""
    kept = [row for row in rows if (row[0] if isinstance(row[0], tuple) else row).begin >= 0]
    return kept, len(rows) - len(kept)


def put_together(operations, calls, ranges, collectives=(), memory=(), foreign=False):
    kept = [split(list(rows)) for rows in (operations, calls, ranges, collectives)]
    (operations, _), (calls, _), (ranges, _), (collectives, _) = kept
    operations, calls = linked(operations, calls)
    left_out = None if foreign else sum(left for _, left in kept)
    return Rows(operations, calls, ranges, collectives, sorted(memory), steps_of(ranges), left_out)


def steps_of(ranges):
    """From one ProfilerStep's begin to the next one's; the last ends as it does itself."""
    marks = sorted((r.begin, r.end, r.name) for r in ranges if re.fullmatch("ProfilerStep#[0-9]+", r.name))
    ends = [begin for begin, _, _ in marks[1:]] + [end for _, end, _ in marks[-1:]]
    return [Step(name, begin, end) for (begin, _, name), end in zip(marks, ends)] if len(marks) > 1 else []


def host_kind(where, memory):
    return f"copy-{where}-{'pageable' if memory == 'Pageable' else 'pinned'}"


# ---- Kineto ------------------------------------------------------------------------------------------------------------------

COPY = re.compile(r"Memcpy (HtoD|DtoH|DtoD|PtoP|HtoH)(?: \((\w+) -> (\w+)\))?")
COPIES = {"DtoD": "copy-d2d", "PtoP": "copy-peer", "HtoH": "copy-h2h"}


def integer(text):
    return int(text) if isinstance(text, str) and re.fullmatch("-?[0-9]+", text) else None


def copy_kind(name):
    found = COPY.match(name)
    if not found:
        return "copy"
    where, source, target = found.groups()
    return COPIES.get(where) or host_kind(where.replace("to", "2").lower(), source if where == "HtoD" else target)


def kind_of(category, name):
    if reference.KINDS[category] is None:
        return "communication" if reference.is_communication(name) else "kernel"
    return copy_kind(name) if category.lower().endswith("memcpy") else "memset"


def is_range(category, name):
    """Old files tell annotations by no category of their own: PyTorch's own two are known by name."""
    return category == "user_annotation" or category == "Operator" and name.startswith(("ProfilerStep#", "Optimizer."))


def is_call(category):
    return category == "Runtime" or category.endswith(("_runtime", "_driver"))


def thread_of(event):
    """Old files have the lower half of a pthread_t, as a signed number."""
    tid = integer(event.get("tid"))
    return integer(event.get("pid")), None if tid is None else tid % 2 ** 32


def passing(events, memory):
    """All of them; what is about memory is kept as well."""
    for event in events:
        if event.get("name") == "[memory]":
            memory.append(event)
        yield event


def memory_of(events):
    """What the allocator says it has in all, of devices: kind 0 is the host. Before the first one it had what that took less."""
    by_device = {}
    for event in events:
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            continue
        kind, device, took, allocated, reserved = (integer(arguments.get(key)) for key in
                                                   ("Device Type", "Device Id", "Bytes", "Total Allocated", "Total Reserved"))
        if kind and allocated is not None:
            by_device.setdefault(device, []).append((reference.nanoseconds(event.get("ts")), took, allocated, reserved))
    for device, points in by_device.items():
        points.sort(key=lambda point: point[0])
        yield Memory(device, max([points[0][2] - points[0][1]] + [p[2] for p in points]), max(p[3] for p in points), *points[-1][2:])


def read_kineto(data):
    data, _ = reference.unpacked(data)
    operations, calls, ranges, collectives, memory, places, foreign = [], [], [], [], [], set(), False
    for begin, end, event in reference.complete(passing(reference.Events(data.decode("utf-8", "surrogateescape")), memory)):
        arguments = event.get("args") if isinstance(event.get("args"), dict) else {}
        category, name = (event.get(key) if isinstance(event.get(key), str) else "" for key in ("cat", "name"))
        number = None, integer(arguments.get("correlation"))
        if begin > end:
            continue
        if category in reference.KINDS:
            kind, place = kind_of(category, name), reference.device_and_place(event)
            places.add(place)
            kernel = kind in ("kernel", "communication")
            operations.append((Operation(place[0], integer(arguments.get("stream")), kind, name if kernel else None, begin, end,
                                         None if kernel else integer(arguments.get("bytes")) or 0, None), number))
        elif is_call(category):
            size = integer(arguments.get("bytes") or arguments.get("size"))
            calls.append((Call(*thread_of(event), name, begin, end, size or 0), number))
        elif is_range(category, name):
            ranges.append(Range(*thread_of(event), name, begin, end))
        elif category == "mtia_ccp_events":
            foreign = True
        elif name == "record_param_comms" and arguments.get("Collective name") not in (None, "wait"):
            collectives.append(Range(*thread_of(event), arguments["Collective name"], begin, end))
    if len({number for number, _ in places}) < len(places):
        operations = [(op._replace(device=None), number) for op, number in operations]
    return put_together(operations, calls, ranges, collectives, memory_of(memory), foreign)


# ---- Nsight Systems ----------------------------------------------------------------------------------------------------------

KERNELS, HOST_MEMORY = ("KERNEL", "CONCURRENT_KERNEL", "GRAPH_TRACE"), {0: "Pageable"}
CUPTI_COPIES = {8: "copy-d2d", 9: "copy-h2h", 10: "copy-peer", **UVM}
COLUMNS = ("start", "end", "deviceId", "globalPid", "streamId", "correlationId", "demangledName", "shortName",
           "bytes", "copyKind", "srcKind", "dstKind")
PUSH_POP, START_END = 59, 60
BACKTRACE = 67  # a call's second row, for its stack


def thread_in(number):
    return number >> 24 & 0xffffff, number & 0xffffff


def nsys_kind(table, name, copy, source, target):
    if table == "MEMSET":
        return "memset"
    if table != "MEMCPY":
        return "communication" if table != "GRAPH_TRACE" and reference.is_communication(name or "") else "kernel"
    if copy in (1, 2, 11, 12):
        return host_kind("h2d" if copy in (1, 11) else "d2h", HOST_MEMORY.get(source if copy in (1, 11) else target))
    return CUPTI_COPIES.get(copy, "copy")


def nsys_operations(tables, texts):
    physical = {(pid, cuda): gpu for pid, cuda, gpu in tables.rows("TARGET_INFO_CUDA_DEVICE", "pid", "cudaId", "gpuId") if gpu is not None}
    for table in KERNELS + ("MEMCPY", "MEMSET"):
        for begin, end, device, process, stream, number, demangled, short, size, *copy in tables.rows(reference.PREFIX + table, *COLUMNS):
            if not isinstance(begin, int) or not isinstance(end, int) or end < begin:
                continue
            pid, kernel = thread_in(process)[0] if isinstance(process, int) else 0, table in KERNELS
            name = (texts.get(demangled) or texts.get(short)) if kernel else None
            yield Operation(physical.get((pid, device or 0), device or 0), None if table == "MEMCPY" and copy[0] in UVM else stream,
                            nsys_kind(table, name, *copy), name, begin, end, None if kernel else size or 0, None), (pid, number)


def nsys_calls(tables, texts):
    columns = ("start", "end", "globalTid", "correlationId", "nameId", "eventClass")
    for begin, end, thread, number, name, kind in tables.rows(reference.PREFIX + "RUNTIME", *columns):
        if kind != BACKTRACE:
            pid, tid = thread_in(thread)
            yield Call(pid, tid, re.sub("_v[0-9]+$", "", texts.get(name, "")), begin, end), (pid, number)


def nsys_range(text):
    """The name of one whose text is no registered one; None: "aten::add, seq = 7, op_id = 12", an operator. PyTorch numbers the program's own
    alike, which have neither "seq" nor "::"."""
    name, *numbers = re.split(", (?=(?:seq|op_id|sizes) = )", text)
    if numbers and ("::" in name or name == "record_param_comms" or any(number.startswith("seq") for number in numbers)):
        return None
    return name


def nsys_ranges(tables, texts):
    for begin, end, kind, text, number, thread in tables.rows("NVTX_EVENTS", "start", "end", "eventType", "text", "textId", "globalTid"):
        name = nsys_range(text) if text is not None else texts.get(number, "")
        if kind in (PUSH_POP, START_END) and name is not None:
            yield Range(*thread_in(thread), name, begin, end)


def read_nsys(path):
    tables = reference.Tables(path)
    texts = dict(tables.rows("StringIds", "id", "value"))
    return put_together(nsys_operations(tables, texts), nsys_calls(tables, texts), nsys_ranges(tables, texts))


# ---- either ------------------------------------------------------------------------------------------------------------------

def read(path):
    data = Path(path).read_bytes()
    return read_nsys(path) if data.startswith(b"SQLite format 3\0") else read_kineto(data)


def main():
    for path in sys.argv[1:]:
        for kind, rows in read(path)._asdict().items():
            for row in rows if isinstance(rows, list) else ():
                print(json.dumps({"file": path, "what": kind, **row._asdict()}))


if __name__ == "__main__":
    main()
