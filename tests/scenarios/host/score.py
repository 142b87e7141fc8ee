# SPDX-License-Identifier: BSD-2-Clause
"""How much of a device's true idle time a report gives to the right cause.

True idle time: the gaps of 1 ms and more in the simulated driver's log, where the program says what its main thread waited for (lab.h). Of
that, what was spent runnable without a CPU (the kernel's schedstat, of every thread that had a part in it) is no part of the fault, and no
mistake where the report names it; where a CPU is what the fault takes away, it is the fault.

    right  on the fault's cause
    wrong  on another cause, which was not so
    rest   input-wait, unexplained, or in no gap of the report"""

import bisect
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

MS = 1_000_000
GAP = 1 * MS
# What this is all about. The control may have next to nothing of them.
CAUSES = ("input-storage", "input-network", "input-preprocess", "host-lock", "host-sleep", "cpu-contention", "cpu-throttled", "memory-stall",
          "checkpoint", "output-io")
QUEUED = ("cpu-contention", "cpu-throttled")
REST = ("input-wait", "unexplained", "none")


@dataclass
class Span:
    """A line of the program's truth."""
    cause: str
    role: str
    step: int
    pid: int
    tid: int
    begin: int
    end: int
    cpu: int
    queued: int
    throttled: int
    path: str = None
    offset: int = 0
    bytes: int = 0

    def part(self, begin, end):
        """How much of it is in there, of its length."""
        overlap = min(self.end, end) - max(self.begin, begin)
        return max(0, overlap) / max(1, self.end - self.begin)


def read_spans(path):
    if not Path(path).exists():
        return []
    return [Span(**json.loads(line)) for line in Path(path).read_text().splitlines()]


def true_gaps(log):
    """(begin, end) of each, of device 0, by the simulated driver's log."""
    ops, whole = [], False
    for line in Path(log).read_text().splitlines():
        entry = json.loads(line)
        if "calls" in entry:
            assert not entry.get("lost"), "the simulated driver lost part of the truth"
            whole = True
        elif entry["op"] != "hostfn" and entry["device"] == 0:
            ops.append((entry["start_ns"], entry["end_ns"]))
    assert whole, "the truth has no last line: the program did not end well"
    gaps, until = [], None
    for start, end in sorted(ops):
        if until is not None and start > until:
            gaps.append((until, start))
        until = max(until or 0, end)
    return gaps


@dataclass
class Score:
    true: int = 0           # ns of the fault's cause
    right: int = 0
    wrong: int = 0
    rest: int = 0
    queued: int = 0         # without a CPU meanwhile
    idle: int = 0           # all of the device's true gaps
    span: int = 0
    claimed: Counter = field(default_factory=Counter)  # what the report says, inside what is scored
    confidence: Counter = field(default_factory=Counter)  # ns of this causes
    files: int = 0          # gaps of which the truth names a file
    files_right: int = 0    # … and the report the same, and a place in it that the batch has
    files_said: list = field(default_factory=list)

    def share(self, what):
        return getattr(self, what) / self.true if self.true else 0.0


def pieces(report_gaps, starts, begin, end):
    """(gap, cause, ns) of what the report says of [begin, end)."""
    for gap in report_gaps[max(0, bisect.bisect_right(starts, begin) - 1):]:
        if gap["begin_ns"] >= end:
            break
        for cause in gap["causes"]:
            overlap = min(cause["end_ns"], end) - max(cause["begin_ns"], begin)
            if overlap > 0:
                yield gap, cause, overlap


def files_of(entry):
    """(path, lowest offset, highest) of every file in a cause's chain."""
    if isinstance(entry, dict):
        if entry.get("file"):
            low = entry.get("offset") if entry.get("offset") is not None else -1
            yield entry["file"], low, entry.get("last_offset") or low
        for value in entry.values():
            yield from files_of(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from files_of(value)


def names_file(span, others, claims):
    """What is flushed is a whole file, and has no place in it. Of several workers, which share a pipe, one may read the batch after."""
    read = [span, *(other for other in others if other.role == "worker" and other.path and other.part(span.begin, span.end) > 0)]
    return any(path == one.path and (span.cause == "checkpoint" or (low < one.offset + one.bytes and high >= one.offset))
               for _, cause, _ in claims for path, low, high in files_of(cause.get("chain", [])) for one in read)


def part_queued(span, others, begin, end):
    """How long they had no CPU who had a part in it: whoever had this batch in hand, or held the lock. No more than there is time."""
    mine = [span, *(other for other in others if other.step == span.step or other.role == "holder")]
    return min(int(sum(one.queued * one.part(begin, end) for one in mine)), end - begin)


def expected(fault, length, span, queued, begin, end):
    """What a perfect report says of it."""
    throttled = min(queued, int(span.throttled * span.part(begin, end)))
    if fault in QUEUED:
        return {"host-compute": length - queued, "cpu-throttled": throttled, "cpu-contention": queued - throttled}
    return {fault: length - queued, "cpu-throttled": throttled, "cpu-contention": queued - throttled}


def score(gaps_true, spans, report):
    """gaps_true: of the device; spans: of the program; report: JSON with every gap."""
    result, (device,) = Score(), report["devices"]
    gaps = device["gaps"]
    starts = [gap["begin_ns"] for gap in gaps]
    main = [span for span in spans if span.role == "main"]
    others = [span for span in spans if span.role not in ("main", "thread")]
    result.span = device["span_ns"]
    for gap_begin, gap_end in gaps_true:
        if gap_end - gap_begin < GAP:
            continue
        result.idle += gap_end - gap_begin
        for span in main:
            begin, end = max(span.begin, gap_begin), min(span.end, gap_end)
            if begin < end:
                score_piece(result, span, others, begin, end, list(pieces(gaps, starts, begin, end)))
    return result


def score_piece(result, span, others, begin, end, claims):
    length, queued = end - begin, part_queued(span, others, begin, end)
    said = Counter()
    for _, cause, ns in claims:
        said[cause["id"]] += ns
        if cause["id"] in CAUSES:
            result.confidence[cause["confidence"]] += ns
    said["none"] = length - sum(said.values())
    want = expected(span.cause, length, span, queued, begin, end)
    true = want[span.cause]
    right = min(true, said[span.cause])
    wrong = sum(max(0, ns - want.get(cause, 0)) for cause, ns in said.items() if cause not in REST and cause != span.cause)
    if span.cause in QUEUED:
        wrong += max(0, said[span.cause] - true)
    result.true += true
    result.queued += queued
    result.right += right
    result.wrong += min(wrong, true)
    result.rest += max(0, true - right - min(wrong, true))
    result.claimed.update(said)
    if span.path and said[span.cause] > GAP:
        result.files += 1
        good = names_file(span, others, claims)
        result.files_right += good
        if not good:
            result.files_said.append((span.path, span.offset, [file for _, cause, _ in claims for file in files_of(cause.get("chain", []))]))


def machine_is_too_busy(result, fault, most=0.4):
    """Others had the CPUs for much of it. Where a CPU is the fault, that is no matter."""
    return fault not in QUEUED and result.queued > most * (result.true + result.queued)


def cause_of(spans):
    return next(span.cause for span in spans if span.role == "main")


def control_share(spans, report):
    """Of the span, what this issue's causes have, less what was really spent waiting for a CPU."""
    (device,) = report["devices"]
    claimed = Counter({cause: device["causes"].get(cause, 0) for cause in CAUSES})
    queued = sum(span.queued for span in spans if span.role == "thread")
    for cause in QUEUED:
        excused = min(queued, claimed[cause])
        claimed[cause] -= excused
        queued -= excused
    return sum(claimed.values()) / device["span_ns"], claimed


def score_run(folder):
    """A folder with truth.json (simgpu), spans.jsonl (the program), report.json."""
    folder = Path(folder)
    return score(true_gaps(folder / "truth.json"), read_spans(folder / "spans.jsonl"), json.loads((folder / "report.json").read_text()))
