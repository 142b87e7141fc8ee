# SPDX-License-Identifier: BSD-2-Clause
"""How much of a device's true idle time a report gives to the right cause.

True idle time: all gaps of 1 ms and more of the loop, by the simulated driver's log. In the main thread's spans (lab.h) the cause is the
fault; between them it is the loop itself (LOOP). What a thread that had a part in the wait spent runnable without a CPU, by a trace of the
scheduler (run_queue.py), is no part of the fault, and what the report says of it is not looked at; but a report that names a missing CPU
anywhere else is wrong. Only what the probes add up of short waits may stand anywhere in the span: the sum is known there, not the place. Where a
CPU is what the fault takes away, it is the fault, and the rest is computing.

    right  on the cause
    wrong  on another, which was not so
    rest   input-wait, unexplained, or in no gap of the report

Without probes nothing shows what a data worker did: there input-wait is the right name for what a batch was waited for (CAUSES.md)."""

import bisect
import json
from collections import Counter
from dataclasses import dataclass, field, fields
from pathlib import Path

import run_queue
import score_until

MS = 1_000_000
GAP = 1 * MS
SUMMED_NS = 100_000  # the probes add short waits up until they come to twice that (STALL_NS)
# What this is all about. The control may have next to nothing of them.
CAUSES = ("input-storage", "input-network", "input-preprocess", "host-lock", "host-sleep", "cpu-contention", "cpu-throttled", "memory-stall",
          "checkpoint", "output-io")
QUEUED = ("cpu-contention", "cpu-throttled")
REST = ("input-wait", "unexplained")
LOOP = ("sync-bubble", "host-compute", "launch-bound", "device-latency")  # from the kernel's end to the fault, from there to the next kernel
FILE_CAUSES = ("input-storage", "input-network", "checkpoint")
INPUT = ("input-storage", "input-network", "input-preprocess")
BETWEEN = "loop"  # in the matrix, the true cause where the main thread is in no span
NONE = "none"     # … given, where the report has no gap


@dataclass
class Span:
    """A line of the program's truth. device: the one that is idle for it; None all. until: see score_until.py."""
    cause: str
    role: str
    begin: int
    end: int
    step: int = -1
    pid: int = 0
    tid: int = 0
    cpu: int = 0
    queued: int = 0
    throttled: int = 0
    path: str = None
    offset: int = 0
    bytes: int = 0
    device: int = None
    until: str = None

    def part(self, begin, end):
        """How much of it is in there, of its length."""
        overlap = min(self.end, end) - max(self.begin, begin)
        return max(0, overlap) / max(1, self.end - self.begin)


FIELDS = {own.name for own in fields(Span)}


def read_spans(path):
    if not Path(path).exists():
        return []
    lines = (json.loads(line) for line in Path(path).read_text().splitlines())
    return [Span(**{name: value for name, value in line.items() if name in FIELDS}) for line in lines]


def operations(*logs):
    """By the simulated driver's logs, of one process each."""
    ops = []
    for log in logs:
        whole = False
        for line in Path(log).read_text().splitlines():
            entry = json.loads(line)
            if "calls" in entry:
                assert not entry.get("lost"), "the simulated driver lost part of the truth"
                whole = True
            else:
                ops.append(entry)
        assert whole, "the truth has no last line: the program did not end well"
    return ops


def true_gaps(*logs, device=0):
    """(begin, end) of each, of one device."""
    return gaps_of(operations(*logs), device)


def gaps_of(ops, device):
    gaps, until = [], None
    for start, end in sorted((op["start_ns"], op["end_ns"]) for op in ops if op["op"] != "hostfn" and op["device"] == device):
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
    matrix: Counter = field(default_factory=Counter)   # (true, given): ns. Their sum is `true`
    decades: dict = field(default_factory=dict)        # of the fault itself, by its span's length: 10**n ns: [true, right]

    @property
    def rest(self):
        return self.true - self.right - self.wrong

    def share(self, what):
        return getattr(self, what) / self.true if self.true else 0.0

    def own_share(self):
        return self.own_right / self.own if self.own else 0.0

    def count(self, cause, true, right, said, fine):
        """said: what the report says of that time; it may be more or less than there is. fine: which of it is right."""
        self.true += true
        self.right += right
        left = true - right
        for given, ns in sorted(said.items(), key=lambda item: item[0] in REST):
            ns = min(ns, left) if given not in fine else 0
            self.matrix[cause, given] += ns
            self.wrong += ns * (given not in REST)
            left -= ns
        for given in fine:
            self.matrix[cause, given] += min(right, said.get(given, 0))
            right -= min(right, said.get(given, 0))
        self.matrix[cause, NONE] += left

    def count_own(self, span, true, right):
        self.own += true
        self.own_right += right
        decade = self.decades.setdefault(len(str(max(1, span.end - span.begin))) - 1, [0, 0])
        decade[0] += true
        decade[1] += right

    def add(self, other):
        for name in ("true", "right", "wrong", "own", "own_right", "queued", "span", "named", "named_right"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("claimed", "confidence", "matrix"):
            getattr(self, name).update(getattr(other, name))
        self.named_else += other.named_else
        for decade, (true, right) in other.decades.items():
            mine = self.decades.setdefault(decade, [0, 0])
            mine[:] = mine[0] + true, mine[1] + right


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

    def place_queued(self, shorter=None):
        """Accounts alone tell for how long a CPU was missing, and not when; nor do the probes of short waits, which they add up. What is said of
        it goes where it was so. shorter: only of claims below that."""
        for cause in QUEUED:
            loose = sum(last - first - run_queue.length(run_queue.inside(self.waits, first, last)) for claim, first, last in self.claims
                        if claim["id"] == cause and (shorter is None or last - first < shorter))
            moved = min(loose, sum(ns for other, ns in self.said_queued.items() if other not in QUEUED))
            self.said_free[cause] -= moved
            self.said_queued[cause] += moved
            for other in [other for other in self.said_queued if other not in QUEUED]:
                part = min(moved, self.said_queued[other])
                self.said_queued[other] -= part
                self.said_free[other] += part
                moved -= part


def score_free(result, part, cause, fine):
    """Where nobody was without a CPU. -> ns that are right"""
    right = sum(part.said_free[given] for given in fine)
    result.count(cause, part.free, right, part.said_free, fine)
    return right


def score_queued(result, part, span):
    """… where a CPU is what the fault takes away: a quota, or other people's programs."""
    throttled = min(part.queued, int(span.throttled * span.part(part.begin, part.end)))
    want = {"cpu-throttled": throttled, "cpu-contention": part.queued - throttled}
    true, said = want[span.cause], part.said_queued
    right = min(true, said[span.cause])
    beyond = Counter({cause: ns if cause in REST else max(0, ns - want.get(cause, 0)) for cause, ns in said.items()})
    result.count(span.cause, true, right, {**beyond, span.cause: said[span.cause]}, (span.cause,))
    result.queued += part.queued - true
    result.count_own(span, true, right)


def score_span(result, part, span, spans, probed=True):
    """The main thread waited, or worked, for the fault."""
    if span.cause in QUEUED:
        score_free(result, part, "host-compute", ("host-compute",))
        score_queued(result, part, span)
        return
    fine = (span.cause,) if probed or span.cause not in INPUT else (span.cause, "input-wait")
    result.count_own(span, part.free, score_free(result, part, span.cause, fine))
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


def score(gaps_true, spans, report, waits=None, *, of=0, shortest=GAP, probed=True):
    """gaps_true: of the device; spans: of the program; report: JSON with every gap; waits: of threads for a CPU (run_queue.py). All gaps of that
    length from the first of the main thread's spans to the last are scored."""
    result, waits = Score(), waits or {}
    (device,) = (device for device in report["devices"] if device["device"] == of)
    gaps = device["gaps"]
    starts = [gap["begin_ns"] for gap in gaps]
    main = sorted((span for span in spans if span.role == "main" and span.device in (None, of)), key=lambda span: span.begin)
    result.span = device["span_ns"]
    for gap_begin, gap_end in gaps_true:
        if gap_end - gap_begin < shortest or not main or gap_end <= main[0].begin or gap_begin >= main[-1].end:
            continue
        for begin, end, span in stretches(main, gap_begin, gap_end):
            claims = list(pieces(gaps, starts, begin, end))
            queued = waits_of(span or main[0], spans, waits, span is None)
            part = Part(begin, end, run_queue.union(queued + also_waited(span, spans, waits, claims)), claims)
            part.place_queued(SUMMED_NS if probed else None)
            if span:
                score_span(result, part, span, spans, probed)
            else:
                score_free(result, part, BETWEEN, LOOP)
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


def also_waited(span, spans, waits, claims):
    """Several workers answer into one pipe: where the report says that a CPU was missing, another worker than that of the batch may have been
    without one."""
    workers = {other.tid for other in spans if other.role == "worker"}
    if not span or len(workers) < 2:
        return []
    others = run_queue.union(wait for tid in workers for wait in waits.get(tid, []))
    return [piece for cause, first, last in claims if cause["id"] in QUEUED for piece in run_queue.inside(others, first, last)]


def machine_is_too_busy(result, fault, most=0.4):
    """Others had the CPUs for much of it. Where a CPU is the fault, that is no matter."""
    return fault not in QUEUED and result.queued > most * (result.true + result.queued)


def cause_of(spans):
    return next(span.cause for span in spans if span.role == "main")


def control_share(spans, report, waits, causes=CAUSES):
    """Of the span, what these causes have, less what the thread really was without a CPU, gap by gap (the probes add up short waits: how
    long they were is known, and not where in the gap)."""
    claimed = Counter()
    main = {span.tid for span in spans if span.role == "main"}
    alone = run_queue.union(wait for thread in main for wait in waits.get(thread, []))
    for gap in (gap for device in report["devices"] for gap in device["gaps"]):
        excused = run_queue.length(run_queue.inside(alone, gap["begin_ns"], gap["end_ns"]))
        for cause in gap["causes"]:
            ns, known = cause["end_ns"] - cause["begin_ns"], min(excused, cause["end_ns"] - cause["begin_ns"]) * (cause["id"] in QUEUED)
            if cause["id"] in causes:
                claimed[cause["id"]] += ns - known
                excused -= known
    return sum(claimed.values()) / sum(device["span_ns"] for device in report["devices"]), claimed


def score_run(folder, **how):
    """A folder with truth*.json (simgpu, one of each process), spans.jsonl (the program), report.json, and waits.json where the scheduler was
    traced. All devices together."""
    folder = Path(folder)
    ops, spans = operations(*sorted(folder.glob("truth*.json"))), read_spans(folder / "spans.jsonl")
    spans = score_until.resolve(spans, ops)
    report, waits = json.loads((folder / "report.json").read_text()), run_queue.read(folder / "waits.json")
    result = Score()
    for device in sorted({op["device"] for op in ops if op["op"] != "hostfn"}):
        result.add(score(gaps_of(ops, device), spans, report, waits, of=device, **how))
    return result
