# SPDX-License-Identifier: BSD-2-Clause
"""What the device really did, by somebody who knows: CUPTI, through the file that torch.profiler exports, or the simulated driver's
own log. Both come as Reference; times are integer nanoseconds of one clock, which need not be ours.

Kineto writes decimal microseconds with three digits: they are taken as decimals, never as floats, which lose nanoseconds of a time
since 1970."""

import gzip
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from intervals import gaps, merged

DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
HOST_CALLS = ("cuda_runtime", "cuda_driver")
WAITS = ("cudaDeviceSynchronize", "cuCtxSynchronize")


class Reference(NamedTuple):
    busy: list        # [begin, end] of the device's busy time, sorted, disjoint
    operations: int
    kinds: dict       # how many of each kind
    waits: list       # sorted ends of the calls that wait for the whole device; empty where the clock is ours anyway
    same_clock: bool  # whether it is CLOCK_MONOTONIC, as ours

    def idle_ns(self):
        return sum(end - begin for begin, end in gaps(self.busy))

    def span_ns(self):
        return self.busy[-1][1] - self.busy[0][0] if self.busy else 0


def nanoseconds(event):
    begin = int(Decimal(event["ts"]) * 1000)
    return [begin, begin + int(Decimal(event.get("dur", 0)) * 1000)]


def device_of(event):
    return int((event.get("args") or {}).get("device", 0))


def read_kineto(path, device=0):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt") as file:
        trace = json.load(file, parse_float=Decimal)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    complete = [event for event in events if event.get("ph") == "X"]
    work = [event for event in complete if event.get("cat") in DEVICE_WORK and device_of(event) == device]
    waits = sorted(nanoseconds(event)[1] for event in complete if event.get("cat") in HOST_CALLS and event.get("name") in WAITS)
    return Reference(merged(nanoseconds(event) for event in work), len(work), dict(Counter(event["cat"] for event in work)), waits, False)


def read_truth(path, device=0):
    """The simulated driver's log. Raises where its last line is missing: the program did not end well."""
    work, whole = [], False
    for line in Path(path).read_text().splitlines():
        entry = json.loads(line)
        if "calls" in entry:
            whole = not entry.get("lost")
        elif entry["op"] != "hostfn" and entry["device"] == device:
            work.append(entry)
    if not whole:
        raise ValueError(f"{path}: not whole")
    busy = merged([entry["start_ns"], entry["end_ns"]] for entry in work)
    return Reference(busy, len(work), dict(Counter(entry["op"] for entry in work)), [], True)


def find_marks(waits, marks):
    """Which of the sorted `waits` (another clock) are `marks` (ours)? A run of as many in a row whose distances fit best; None where
    there are too few. The k-th step ends where the k-th of them ends."""
    wanted = [right - left for left, right in zip(marks, marks[1:])]
    distances = [right - left for left, right in zip(waits, waits[1:])]
    best, best_error = None, None
    for first in range(len(distances) - len(wanted) + 1):
        error = sum(abs(a - b) for a, b in zip(distances[first:], wanted))
        if best_error is None or error < best_error:
            best, best_error = first, error
    return None if best is None or not wanted else waits[best:best + len(marks)]
