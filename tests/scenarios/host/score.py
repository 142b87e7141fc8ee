# SPDX-License-Identifier: BSD-2-Clause
"""How much of a device's true idle time a report gives to the right cause.

True idle time: all gaps of 1 ms and more of the loop, by the simulated driver's log. In the main thread's spans (lab.h) the cause is the
fault; between them it is the loop itself (LOOP). What a thread that had a part in the wait spent runnable without a CPU, by a trace of the
scheduler (run_queue.py), is no part of the fault, and what the report says of it is not looked at; but a report that names a missing CPU
anywhere else is wrong. Where a CPU is what the fault takes away, it is the fault, and the rest is computing.

    right  on the cause
    wrong  on another, which was not so
    rest   input-wait, unexplained, or in no gap of the report"""

import bisect
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import run_queue

MS = 1_000_000
GAP = 1 * MS
# What this is all about. The control may have next to nothing of them.
CAUSES = ("input-storage", "input-network", "input-preprocess", "host-lock", "host-sleep", "cpu-contention", "cpu-throttled", "memory-stall",
          "checkpoint", "output-io")
QUEUED = ("cpu-contention", "cpu-throttled")
REST = ("input-wait", "unexplained")
LOOP = ("sync-bubble", "host-compute", "launch-bound", "device-latency")  # from the kernel's end to the fault, from there to the next kernel
FILE_CAUSES = ("input-storage", "input-network", "checkpoint")


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
    """All ns. true = right + wrong + rest is all idle time of the loop that is scored; own: of that, the fault itself."""
    true: int = 0
    right: int = 0
    wrong: int = 0
    own: int = 0
    own_right: int = 0
    queued: int = 0         # not scored: without a CPU, which is not the fault
    span: int = 0
    claimed: Counter = field(default_factory=Counter)     # what the report says of the loop's idle time
    confidence: Counter = field(default_factory=Counter)  # of this causes
    named: int = 0          # on the fault's cause, where the truth names a file
    named_right: int = 0    # … and the report the same, and a place in it that the batch has
    named_else: list = field(default_factory=list)

    @property
    def rest(self):
        return self.true - self.right - self.wrong

    def share(self, what):
        return getattr(self, what) / self.true if self.true else 0.0

    def own_share(self):
        return self.own_right / self.own if self.own else 0.0

    def count(self, true, right, wrong):
        self.true += true
        self.right += right
        self.wrong += min(wrong, true - right)


def pieces(report_gaps, starts, begin, end):
    """(cause, begin, end) of what the report says of [begin, end)."""
    for gap in report_gaps[max(0, bisect.bisect_right(starts, begin) - 1):]:
        if gap["begin_ns"] >= end:
            break
        for cause in gap["causes"]:
            first, last = max(cause["begin_ns"], begin), min(cause["end_ns"], end)
            if first < last:
                yield cause, first, last


def batches_of(span, spans):
    """Whose file and place a report may name: the batch's; where several workers answer into one pipe, which wakes whoever waits for any, also
    that of another worker's."""
    readers = [other for other in spans if other.role == "worker" and other.path]
    alone = len({reader.tid for reader in readers}) < 2
    return [span] if alone else [span, *(reader for reader in readers if reader.tid != span.tid and reader.part(span.begin, span.end) > 0)]


def names_file(batches, chain):
    """The last file of a chain is where it ends. What is flushed is a whole file, and has no place in it."""
    links = [link for link in chain if link.get("file")]
    if not links:
        return False
    low, high = links[-1].get("offset", -1), links[-1].get("last_offset", links[-1].get("offset", -1))
    return any(links[-1]["file"] == batch.path and (batch.cause == "checkpoint" or batch.offset <= low <= high < batch.offset + batch.bytes)
               for batch in batches)


class Part:
    """A stretch of a gap, and what the report says of it: with a CPU for whom the device waited, and without."""

    def __init__(self, begin, end, waits, claims):
        self.begin, self.end = begin, end
        self.waits = run_queue.inside(waits, begin, end)
        self.queued = run_queue.length(self.waits)
        self.free = end - begin - self.queued
        self.claims = list(claims)
        self.said_free, self.said_queued = Counter(), Counter()
        for cause, first, last in self.claims:
            queued = run_queue.length(run_queue.inside(self.waits, first, last))
            self.said_queued[cause["id"]] += queued
            self.said_free[cause["id"]] += last - first - queued


def score_free(result, part, causes):
    """Where nobody was without a CPU. -> ns that are right"""
    right = sum(part.said_free[cause] for cause in causes)
    wrong = sum(ns for cause, ns in part.said_free.items() if cause not in causes and cause not in REST)
    result.count(part.free, right, wrong)
    return right


def score_queued(result, part, span):
    """… where a CPU is what the fault takes away: a quota, or other people's programs."""
    throttled = min(part.queued, int(span.throttled * span.part(part.begin, part.end)))
    want = {"cpu-throttled": throttled, "cpu-contention": part.queued - throttled}
    true, said = want[span.cause], part.said_queued
    right = min(true, said[span.cause])
    wrong = sum(max(0, ns - want.get(cause, 0)) for cause, ns in said.items() if cause not in REST)
    result.count(true, right, wrong)
    result.queued += part.queued - true
    result.own += true
    result.own_right += right


def score_span(result, part, span, spans):
    """The main thread waited, or worked, for the fault."""
    if span.cause in QUEUED:
        score_free(result, part, ("host-compute",))
        score_queued(result, part, span)
        return
    result.own += part.free
    result.own_right += score_free(result, part, (span.cause,))
    result.queued += part.queued
    batches = batches_of(span, spans)
    for cause, first, last in part.claims:
        if span.path and cause["id"] == span.cause in FILE_CAUSES:
            ns = last - first - run_queue.length(run_queue.inside(part.waits, first, last))
            good = names_file(batches, cause.get("chain", []))
            result.named += ns
            result.named_right += ns * good
            if not good:
                links = [(link.get("file"), link.get("offset")) for link in cause.get("chain", [])]
                result.named_else.append((span.path, span.offset, ns, links))


def stretches(main, begin, end):
    """(begin, end, span or None) of a gap: the main thread's spans, and what is between them."""
    for span in main:
        first, last = max(span.begin, begin), min(span.end, end)
        if first < last:
            if begin < first:
                yield begin, first, None
            yield first, last, span
            begin = last
    if begin < end:
        yield begin, end, None


def score(gaps_true, spans, report, waits=None):
    """gaps_true: of the device; spans: of the program; report: JSON with every gap; waits: of threads for a CPU (run_queue.py). All long gaps
    from the first of the main thread's spans to the last are scored."""
    result, (device,), waits = Score(), report["devices"], waits or {}
    gaps = device["gaps"]
    starts = [gap["begin_ns"] for gap in gaps]
    main = sorted((span for span in spans if span.role == "main"), key=lambda span: span.begin)
    result.span = device["span_ns"]
    for gap_begin, gap_end in gaps_true:
        if gap_end - gap_begin < GAP or not main or gap_end <= main[0].begin or gap_begin >= main[-1].end:
            continue
        for begin, end, span in stretches(main, gap_begin, gap_end):
            part = Part(begin, end, waits_of(span or main[0], spans, waits, span is None), pieces(gaps, starts, begin, end))
            if span:
                score_span(result, part, span, spans)
            else:
                score_free(result, part, LOOP)
                result.queued += part.queued
            told(result, part)
    return result


def told(result, part):
    for cause, first, last in part.claims:
        result.claimed[cause["id"]] += last - first
        if cause["id"] in CAUSES:
            result.confidence[cause["confidence"]] += last - first
    result.claimed["none"] += part.end - part.begin - sum(last - first for _, first, last in part.claims)


def waits_of(span, spans, waits, alone=False):
    """When those had no CPU who had a part in it: the thread itself; whoever had this batch in hand, or held the lock."""
    threads = {span.tid} | {other.tid for other in spans if not alone and (other.step == span.step or other.role == "holder")}
    return run_queue.union(wait for thread in threads for wait in waits.get(thread, []))


def machine_is_too_busy(result, fault, most=0.4):
    """Others had the CPUs for much of it. Where a CPU is the fault, that is no matter."""
    return fault not in QUEUED and result.queued > most * (result.true + result.queued)


def cause_of(spans):
    return next(span.cause for span in spans if span.role == "main")


def control_share(spans, report, waits):
    """Of the span, what this issue's causes have, less what the thread really was without a CPU, gap by gap (the probes add up short waits: how
    long they were is known, and not where in the gap)."""
    (device,), claimed = report["devices"], Counter()
    alone = run_queue.union(waits.get(next(span.tid for span in spans if span.role == "main"), []))
    for gap in device["gaps"]:
        excused = run_queue.length(run_queue.inside(alone, gap["begin_ns"], gap["end_ns"]))
        for cause in gap["causes"]:
            ns, known = cause["end_ns"] - cause["begin_ns"], min(excused, cause["end_ns"] - cause["begin_ns"]) * (cause["id"] in QUEUED)
            if cause["id"] in CAUSES:
                claimed[cause["id"]] += ns - known
                excused -= known
    return sum(claimed.values()) / device["span_ns"], claimed


def score_run(folder):
    """A folder with truth.json (simgpu), spans.jsonl (the program), report.json, and waits.json where the scheduler was traced."""
    folder = Path(folder)
    return score(true_gaps(folder / "truth.json"), read_spans(folder / "spans.jsonl"), json.loads((folder / "report.json").read_text()),
                 run_queue.read(folder / "waits.json"))
