# SPDX-License-Identifier: BSD-2-Clause
"""What a program's own truth says of each moment in which a device was idle, and what a report says of it.

Idle time is the simulated driver's: all gaps of a device, however short, inside the loop of the thread that submitted the gap's end. Of a moment
the truth is, the first that there is:

    a span of the device, if what ended the gap had been submitted by then
    the submitting thread's phase
    none: a hole in the truth

Not looked at: moments in which that thread, or the one it waited for, was runnable and had no CPU by the scheduler's trace (host/run_queue.py),
unless the truth knows that itself; and where the truth says so and the trace does not (the hypervisor took the CPU).

    right  on the cause, or on another that CAUSES.md lets be said of it ("also")
    wrong  on another
    rest   unexplained, input-wait where probes show what is behind it, or in no gap of the report

Of launches in a row the report resolves no single gap; it estimates how much of that time was idle, and for what (unresolved_causes). What is true
in no gap is compared with that, as sums of a device (unresolved.py)."""

import bisect
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import run_queue
import unresolved

QUEUED = ("cpu-contention", "cpu-throttled")
INPUT = ("input-storage", "input-network", "input-preprocess")
HOLE, NONE = "hole", "none"


class Stretches:
    """(begin, end, what), apart from each other; found by time."""

    def __init__(self, stretches):
        self.all = sorted(stretches, key=lambda stretch: stretch[0])
        self.begins = [begin for begin, *_ in self.all]

    def within(self, begin, end):
        for first, last, what in self.all[max(0, bisect.bisect_right(self.begins, begin) - 1):]:
            if first >= end:
                return
            if last > begin:
                yield max(first, begin), min(last, end), what

    def overlaps(self):
        """Those that are not apart."""
        return [(one, other) for one, other in zip(self.all, self.all[1:]) if one[1] > other[0]]


def read_lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()] if Path(path).exists() else []


def read_log(path):
    ops = read_lines(path)
    assert ops and "calls" in ops[-1] and not ops[-1].get("lost"), f"{path} is not whole"
    return ops[:-1]


class Truth:
    """Of a run's folder: truth*.json by the simulated driver, spans.jsonl by the program, waits.json by the scheduler, tenant.json."""

    def __init__(self, folder):
        self.folder, lines = Path(folder), read_lines(Path(folder) / "spans.jsonl")
        by = defaultdict(list)
        for line in lines:
            by[line["role"]].append(line)
        self.phases, self.submits, self.devices = {}, {}, {}
        for role, into, key in (("main", self.phases, "tid"), ("submit", self.submits, "tid"), ("device", self.devices, "device")):
            groups = defaultdict(list)
            for line in by[role]:
                groups[line[key]].append((line["begin"], line["end"], line))
            into.update({name: Stretches(group) for name, group in groups.items()})
        self.loops = {line["tid"]: (line["begin"], line["end"]) for line in by["thread"]}
        self.threads = defaultdict(list)  # that submit, of a process
        self.submitters = {}              # by process, where there are several: by stream
        for line in by["thread"]:
            self.threads[line["pid"]].append(line["tid"])
        waits = run_queue.read(self.folder / "waits.json")
        self.traced = bool(waits)
        self.waits = {tid: Stretches((*wait, None) for wait in run_queue.union(of)) for tid, of in waits.items()}
        self.tenant = Stretches((*busy, None) for busy in run_queue.union(
            (op["start_ns"], op["end_ns"]) for op in (read_log(self.folder / "tenant.json") if (self.folder / "tenant.json").exists() else [])))

    def gaps(self):
        """(device, begin, end, the operation that ended it, the process)"""
        for path in sorted(self.folder.glob("truth*.json")):
            pid = int(found[1]) if (found := re.search(r"-(\d+)\.json", path.name)) else next(iter(self.threads))
            ops, by = [op for op in read_log(path) if op["op"] != "hostfn"], defaultdict(list)
            if len(self.threads[pid]) > 1:
                self.submitters[pid] = self.streams_of(pid, ops)
            for op in ops:
                by[op["device"]].append(op)
            for device, ops in by.items():
                until = None
                for op in sorted(ops, key=lambda one: one["start_ns"]):
                    if until is not None and op["start_ns"] > until:
                        yield device, until, op["start_ns"], op, pid
                    until = max(until or 0, op["end_ns"])

    def owner(self, op, pid):
        """The thread that submitted it; None where nobody says so. Of several, each has streams of its own."""
        threads = self.threads[pid]
        return threads[0] if len(threads) == 1 else self.submitters[pid].get((op["device"], op["stream"]))

    def submitter(self, op, pid):
        """The thread that had just begun to submit; another may be in a call that blocks, or have lost its CPU before its call."""
        at = op["submit_ns"]
        submitting = [(line["begin"], tid) for tid in self.threads[pid] if tid in self.submits
                      for *_, line in self.submits[tid].within(at, at + 1)]
        return max(submitting)[1] if submitting else None

    def streams_of(self, pid, ops):
        """{(device, stream): the thread that submits to it}: by most of its operations."""
        votes = defaultdict(Counter)
        for op in ops:
            if tid := self.submitter(op, pid):
                votes[op["device"], op["stream"]][tid] += 1
        return {stream: tids.most_common(1)[0][0] for stream, tids in votes.items()}

    def of_device(self, device, begin, end):
        yield from self.tenant_spans(begin, end)
        if device in self.devices:
            yield from self.devices[device].within(begin, end)

    def tenant_spans(self, begin, end):
        return ((first, last, {"cause": "device-contention"}) for first, last, _ in self.tenant.within(begin, end))

    def idle(self):
        """(device, owner, [(begin, end, line or None), …]) of each gap, as far as it is in a loop."""
        for device, begin, end, op, pid in self.gaps():
            owner = self.owner(op, pid)
            low, high = self.loops[owner] if owner else (min(self.loops.values())[0], max(high for _, high in self.loops.values()))
            begin, end = max(begin, low), min(end, high)
            if begin < end:
                yield device, owner, list(self.moments(device, owner, begin, end, min(max(op["submit_ns"], begin), end)))

    def moments(self, device, owner, begin, end, queued):
        yield from self.of_owner(owner, begin, queued)
        for first, last, line in filled(self.of_device(device, queued, end), queued, end):
            if line:
                yield first, last, line
            else:
                yield from self.of_owner(owner, first, last)

    def of_owner(self, owner, begin, end):
        for first, last, line in filled(self.phases[owner].within(begin, end) if owner in self.phases else (), begin, end):
            if line and line["cause"] == "comm-host" and line.get("on") in self.phases:
                yield from self.of_peer(line, first, last)
            else:
                yield first, last, line

    def of_peer(self, line, begin, end):
        """A rank that waits in communication for another waits for what that one does: a chain that is proven goes before the call."""
        for first, last, peer in filled(self.phases[line["on"]].within(begin, end), begin, end):
            more = [peer["cause"], *peer.get("also", ())] if peer else []
            yield first, last, {**line, "also": [*line.get("also", ()), *more]}

    def looked_at(self, owner, begin, end, line):
        """[(begin, end), …] of it, without what the scheduler did."""
        threads = {owner, line.get("on") or owner} if line else {owner}
        queued = [(first, last) for tid in threads if tid in self.waits for first, last, _ in self.waits[tid].within(begin, end)]
        if line and line["cause"] in QUEUED:
            return run_queue.union(queued) if self.traced else [(begin, end)]
        return [(first, last) for first, last, inside in filled(((*wait, True) for wait in run_queue.union(queued)), begin, end) if not inside]


def filled(stretches, begin, end):
    """What is between them too, as None. They may overlap: the first keeps what it has."""
    for first, last, what in stretches:
        first = max(first, begin)
        if first >= last:
            continue
        if begin < first:
            yield begin, first, None
        yield first, last, what
        begin = last
    if begin < end:
        yield begin, end, None


@dataclass
class Answer:
    """All ns. said[(true, said)]; worst: the longest stretches on which it differs."""
    idle: int = 0
    holes: int = 0
    excused: int = 0
    said: Counter = field(default_factory=Counter)
    right: Counter = field(default_factory=Counter)
    wrong: Counter = field(default_factory=Counter)
    differs: list = field(default_factory=list)

    def count(self, line, name, verdict, ns):
        """Another right name counts as the truth."""
        true = name if verdict == "right" and name in line.get("also", ()) else line["cause"]
        self.said[true, name] += ns
        if verdict != "rest":
            getattr(self, verdict)[true] += ns

    def estimated(self, names, estimate, probed):
        """names: {(true cause, its other right names): ns in no gap} of a device; estimate: {cause: ns} of what is resolved nowhere. Of each the
        lesser is right; what is estimated beyond that takes the place of what was found nowhere."""
        left, missing = Counter(estimate), Counter(names)
        for true, also in names:
            for name in (true, *also):
                found = min(left[name], missing[true, also])
                self.move({"cause": true, "also": also}, name, found, probed)
                left[name] -= found
                missing[true, also] -= found
        for name in left:
            for true, also in names:
                found = min(left[name], missing[true, also])
                self.move({"cause": true, "also": also}, name, found, probed)
                left[name] -= found
                missing[true, also] -= found

    def move(self, line, name, ns, probed):
        """Out of no gap."""
        if not ns:
            return
        self.said[line["cause"], NONE] -= ns
        self.count(line, name, judge(line, name, probed), ns)

    def covered(self):
        return 1 - self.holes / self.idle if self.idle else 1.0

    def scored(self):
        return sum(self.said.values())

    def of_cause(self):
        """{true cause: ns}"""
        total = Counter()
        for (true, _), ns in self.said.items():
            total[true] += ns
        return total


def reported(report):
    """{device's number: Stretches of (begin, end, (cause, gap's number, …))}"""
    devices, number = defaultdict(list), 0
    for device in report["devices"]:
        for gap in device["gaps"]:
            devices[device["device"]] += [(cause["begin_ns"], cause["end_ns"], (cause, number)) for cause in gap["causes"]]
            number += 1
    return {device: Stretches(causes) for device, causes in devices.items()}


def judge(line, said, probed):
    """Without probes nothing shows what a data worker did, or that it had no CPU: input-wait is right for that."""
    true, also = line["cause"], line.get("also", ())
    unseen = {true, *also} & set(INPUT) or (true in QUEUED and line.get("on") not in (None, line.get("tid")))
    if said == true or said in also or (said == "input-wait" and not probed and unseen):
        return "right"
    return "rest" if said in ("unexplained", NONE, "input-wait") else "wrong"


class Gap:
    """What is said of a gap's moments that are looked at, and how much of the rest is said to be the scheduler's."""

    def __init__(self, said):
        self.said, self.excused, self.looked_at = said, 0, []

    def add(self, line, begin, end, looked_at):
        for first, last, inside in filled(((*one, True) for one in looked_at), begin, end):
            for low, high, claim in filled(self.said.within(first, last), first, last):
                name = claim[0]["id"] if claim else NONE
                if inside:
                    self.looked_at.append((line, name, claim[1] if claim else None, low, high))
                elif name not in QUEUED:
                    self.excused += high - low

    def judged(self, probed):
        """(line, name, gap's number, begin, end, verdict). How long a thread was without a CPU is known from its own accounts, or from
        probes that add up short waits, and not when in the gap: what was missed where it was is found where it is said to be."""
        missed, wrong = [], []
        for line, name, number, low, high in self.looked_at:
            verdict = judge(line, name, probed)
            if verdict != "right" and line["cause"] in QUEUED:
                missed.append([line, name, number, low, high, verdict])
            elif verdict == "wrong" and name in QUEUED:
                wrong.append([line, name, number, low, high, verdict])
            else:
                yield line, name, number, low, high, verdict
        for claim in wrong:
            claim[3] += self.excuse(claim[4] - claim[3])
            for other in missed:
                found = min(claim[4] - claim[3], other[4] - other[3]) if claim[1] == other[0]["cause"] else 0
                claim[3] += found
                other[3] += found
                if found:
                    yield other[0], claim[1], claim[2], other[3] - found, other[3], "right"
        yield from (tuple(rest) for rest in missed + wrong if rest[3] < rest[4])

    def excuse(self, ns):
        taken = min(self.excused, ns)
        self.excused -= taken
        return taken


def compare(folder, report, probed):
    truth, said, answer, nowhere = Truth(folder), reported(report), Answer(), defaultdict(Counter)
    for device, owner, moments in truth.idle():
        gap = Gap(said.get(device, Stretches(())))
        for begin, end, line in moments:
            answer.idle += end - begin
            if line:
                gap.add(line, begin, end, truth.looked_at(owner, begin, end, line))
            else:
                answer.holes += end - begin
        for line, name, number, low, high, verdict in gap.judged(probed):
            answer.count(line, name, verdict, high - low)
            if name == NONE:
                nowhere[device][line["cause"], tuple(line.get("also", ()))] += high - low
            if verdict != "right":
                answer.differs.append((high - low, line["cause"], name, number, low, high, device))
    for device in report["devices"]:
        names = nowhere[device["device"]]
        answer.estimated(names, unresolved.causes(device, sum(names.values())), probed)
    answer.excused = answer.idle - answer.holes - answer.scored()
    answer.differs.sort(reverse=True, key=lambda one: one[0])
    return answer


def as_score(folder, report, probed):
    """For the laboratory of all causes: a score.Score."""
    import score  # here: what is above it needs none of the laboratory

    answer, made = compare(folder, report, probed), score.Score()
    made.true = made.own = answer.scored()
    made.right = made.own_right = sum(answer.right.values())
    made.wrong, made.queued = sum(answer.wrong.values()), answer.excused
    made.span = sum(device["span_ns"] for device in report["devices"])
    for (true, said), ns in answer.said.items():
        made.matrix[true, said] += ns
        made.claimed[said] += ns
    return made
