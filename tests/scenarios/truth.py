# SPDX-License-Identifier: BSD-2-Clause
"""What really happened, by the simulated driver's own log, and whether a report agrees with it.

All times are integer nanoseconds of CLOCK_MONOTONIC. Two kinds of check: *sound* ones (nothing false is claimed) must hold in
every run; *width* ones (the bounds are narrow) return a list of complaints, since a machine that takes the CPU away for a while
can widen a bound in one run.
"""

import bisect
import json
from collections import Counter
from typing import NamedTuple

import conservation
from conservation import each_time
from machine import once_in
from recording import hooked_names

US, MS = 1_000, 1_000_000
LONG_GAP = 1 * MS
END_AFTER_BLOCKING = 50 * US  # the widest bound on an end of such a gap
END_AFTER_SILENCE = 500 * US
ERROR_AFTER_BLOCKING = 100 * US  # both ends of a gap together
ERROR_AFTER_SILENCE = 550 * US
SILENCE_FOUND_AFTER = 700 * US  # the recorder looks after 200 us, and its look is at most END_AFTER_SILENCE late
DEFAULT_STREAM = 0  # its number in the log
LAST_CALL = 30 * US  # a stretch ends where its last submission returns; the log has its entry


class Op(NamedTuple):
    submit: int
    start: int
    end: int
    device: int
    op: str
    kind: str
    stream: int


class Call(NamedTuple):
    begin: int
    end: int
    waits: bool
    symbol: str

    def own_work(self):
        """A copy's own operation is among what it waits for."""
        return self.symbol.startswith("cuMemcpy")


class Gap(NamedTuple):
    begin: int
    end: int


class Truth:
    """The logs of a run's processes as one: what their devices did. `blocking`: the calls that wait for the device; `all_calls`: every
    call, or None if unknown."""

    def __init__(self, run):
        self.copies_untold = False
        self.ops, self.host_functions, self.counts = [], [], Counter()
        for log in run.truths:
            self.read_log(log)
        self.all_calls = self.read_calls(run.calls) if run.calls.exists() else None
        self.blocking = self.find_blocking()

    def read_log(self, path):
        whole = False
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if "calls" in entry:
                self.counts.update(entry["calls"])
                assert not entry.get("lost"), "the simulated driver lost part of the truth"
                whole = True
                continue
            op = Op(entry["submit_ns"], entry["start_ns"], entry["end_ns"], entry["device"], entry["op"], entry["kind"],
                    entry["stream"])
            (self.host_functions if op.op == "hostfn" else self.ops).append(op)
        assert whole, "the truth has no last line: the program did not end well"

    @staticmethod
    def read_calls(path):
        calls = []
        for line in path.read_text().splitlines():
            begin, end, symbol, _, result, waits = line.split()
            calls.append(Call(int(begin), int(end), waits == "1" and result == "0", symbol))
        return sorted(calls)

    def find_blocking(self):
        """A program without a log of its calls: a copy to pageable memory waits by nature, until just after its end."""
        if self.all_calls is not None:
            return [call for call in self.all_calls if call.waits]
        return sorted(Call(op.submit, op.end, True, "cuMemcpyDtoHAsync_v2") for op in self.ops if op.kind == "d2h-pageable")

    def devices(self):
        return sorted({op.device for op in self.ops})

    def busy(self, device):
        """Where at least one operation runs: sorted, disjoint [start, end]."""
        merged = []
        for op in sorted((op for op in self.ops if op.device == device), key=lambda op: op.start):
            if merged and op.start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], op.end)
            else:
                merged.append([op.start, op.end])
        return merged

    def gaps(self, device):
        busy = self.busy(device)
        return [Gap(left[1], right[0]) for left, right in zip(busy, busy[1:])]

    def idle(self, device):
        return sum(gap.end - gap.begin for gap in self.gaps(device))

    def waited(self, device):
        """(gap, ns): of each gap the part in which the work that ends it was queued already. What is before that, the host was late with."""
        next_submit = {op.start: op.submit for op in self.ops if op.device == device}
        return [(gap, max(0, gap.end - max(gap.begin, next_submit[gap.end]))) for gap in self.gaps(device)]

    def asleep(self, call):
        """How much wider a bound may be behind it. In a copy the simulated driver sleeps until earlier work is over: where no edge tells
        when that was (self.copies_untold), the call's length proves nothing: its work may have ended anywhere in it, and where in it the
        report puts the end follows from how long the host copied, which is the machine's memory."""
        return call.end - call.begin if self.copies_untold and call.own_work() else 0

    def silences(self):
        """Where no thread is in a driver call: sorted, disjoint. Empty where the calls are unknown."""
        silent, last_end = [], None
        for call in self.all_calls or []:
            if last_end is not None and call.begin > last_end:
                silent.append(Gap(last_end, call.begin))
            last_end = max(last_end or 0, call.end)
        return silent

    def submissions(self):
        return sorted(self.ops + self.host_functions)


def covering(intervals, at):
    """The interval of a sorted, disjoint list that holds this instant, or None."""
    i = bisect.bisect_right(intervals, at, key=lambda interval: interval[0]) - 1
    return intervals[i] if i >= 0 and intervals[i][1] >= at else None


# ---- sound ------------------------------------------------------------------------------------------------------------------

@each_time
def check_calls(report, truth):
    """Every call of a kind we record is in the report, less those we made ourselves. Returns the names we do not record."""
    hooked, wrong = hooked_names(), []
    for name in sorted(set(truth.counts) | set(report["calls"])):
        expected = truth.counts.get(name, 0) - report["injected"].get(name, 0)
        if name in hooked and report["calls"].get(name, 0) != expected:
            wrong.append(f"{name}: {report['calls'].get(name, 0)} recorded, {truth.counts.get(name, 0)} made, "
                         f"{report['injected'].get(name, 0)} of them ours")
        if name not in hooked and report["calls"].get(name, 0):
            wrong.append(f"{name}: recorded, but hooks.def has no row for it")
    assert not wrong, "\n".join(wrong)
    return [name for name in sorted(truth.counts) if name not in hooked]


def check_losses(report):
    assert not any(report["losses"].values()), report["losses"]


@each_time
def check_idle(device, truth):
    true = truth.idle(device["device"])
    low = device["idle_ns"] - device["idle_error_ns"]
    high = device["idle_ns"] + device["idle_error_ns"] + device["unresolved_ns"]
    assert low <= true <= high, f"true idle {true} is not in [{low}, {high}] (idle {device['idle_ns']})"


def wrong_claims(device, truth):
    """(ns, where) of each piece of true busy time inside a claimed gap. The errors of its ends are taken off: what they cover is not
    claimed."""
    busy = truth.busy(device["device"])
    starts = [start for start, _ in busy]
    for gap in device["gaps"]:
        begin, end = gap["begin_ns"] + gap["begin_error_ns"], gap["end_ns"] - gap["end_error_ns"]
        for start, stop in busy[max(0, bisect.bisect_right(starts, begin) - 1):]:
            if start >= end:
                break
            overlap = min(stop, end) - max(start, begin)
            if overlap > 0:
                yield overlap, f"busy time [{start}, {stop}] in the gap [{begin}, {end}], errors taken off: {gap}"


@each_time
def check_claims(report, truth):
    wrong = [where for device in report["devices"] for _, where in wrong_claims(device, truth)]
    assert not wrong, "\n".join(wrong)


@each_time
def check_operations(report, truth):
    assert [device["device"] for device in report["devices"]] == truth.devices()
    for device in report["devices"]:
        assert device["operations"] == sum(op.device == device["device"] for op in truth.ops)


def check_sound(report, truth):
    """All that may never be wrong. Returns the calls that were made and are not recorded."""
    conservation.check(report)
    check_losses(report)
    uncovered = check_calls(report, truth)
    check_operations(report, truth)
    check_claims(report, truth)
    for device in report["devices"]:
        check_idle(device, truth)
    return uncovered


# ---- width ------------------------------------------------------------------------------------------------------------------

def follows_blocking(gap, truth, submits):
    """The call that waits inside which it begins, if all work so far was queued before that call and the next after it."""
    for call in truth.blocking:
        if call.begin > gap.begin:
            return None
        if call.end >= gap.begin:
            meanwhile = bisect.bisect_right(submits, gap.begin) - bisect.bisect_left(submits, call.begin)
            if meanwhile <= call.own_work() and gap.end >= call.end:
                return call
    return None


def ends_default_stream(gap, truth):
    """The work before it was the default stream's. Recording an event there orders all other streams, so the recorder does that
    only when this stream is waited for, and otherwise looks, as in a silence."""
    return any(op.end == gap.begin and op.stream == DEFAULT_STREAM for op in truth.ops)


def follows_silence(gap, silences):
    silence = covering(silences, gap.begin)
    return silence is not None and min(silence.end, gap.end) - gap.begin >= LONG_GAP


def long_gaps(device, truth):
    """(true gap, widest bound allowed, why) for each that must be found."""
    silences = truth.silences()
    submits = [op.submit for op in truth.submissions()]
    next_submit = {op.start: op.submit for op in truth.ops if op.device == device}
    for gap in truth.gaps(device):
        if gap.end - gap.begin < LONG_GAP or next_submit[gap.end] < gap.begin:
            continue  # short, or it follows neither: the next work was there and waited for a host function
        call = follows_blocking(gap, truth, submits)
        if call and call.symbol != "cuCtxSynchronize" and ends_default_stream(gap, truth):
            yield gap, END_AFTER_SILENCE + truth.asleep(call), f"{call.symbol} of another stream than the default one, whose work ended last"
        elif call:
            yield gap, END_AFTER_BLOCKING + truth.asleep(call), call.symbol
        elif follows_silence(gap, silences):
            yield gap, END_AFTER_SILENCE, "host silence"


def complain_gaps(device, truth):
    """A true gap that must be found, and is not, or only a part of it, or with wide ends."""
    found = [Gap(gap["begin_ns"], gap["end_ns"]) for gap in device["gaps"]]
    for gap, widest, why in long_gaps(device["device"], truth):
        what = f"{gap}, {gap.end - gap.begin} ns after {why}"
        own = max(found, key=lambda claimed: min(claimed.end, gap.end) - max(claimed.begin, gap.begin), default=None)
        if own is None or own.end <= gap.begin or gap.end <= own.begin:
            yield f"{what}: not found"
            continue
        entry = device["gaps"][found.index(own)]
        errors = entry["begin_error_ns"], entry["end_error_ns"]
        off = own.begin - gap.begin, own.end - gap.end
        if max(errors) > widest:
            yield f"{what}: its ends have the errors {errors}, more than {widest}"
        if abs(off[0]) > errors[0] or abs(off[1]) > errors[1]:
            yield f"{what}: its ends are off by {off}, stated {errors}"


def complain_idle_error(device, truth):
    allowed = 0
    for gap in device["gaps"]:
        near = [call for call in truth.blocking if call.begin <= gap["begin_ns"] <= call.end + gap["begin_error_ns"]]
        allowed += ERROR_AFTER_BLOCKING + max(truth.asleep(call) for call in near) if near else ERROR_AFTER_SILENCE
    if device["idle_error_ns"] > allowed:
        yield f"idle_error_ns {device['idle_error_ns']}, more than {allowed} for {len(device['gaps'])} gaps"


def stretches(truth):
    """Where this timing level may be blind: from the first submission after the device was known empty to the last before it is
    known empty again. Known: a blocking call, or a silence long enough to look, with nothing left to do at its end."""
    submissions, silences = truth.submissions(), truth.silences()
    proofs = sorted([call.end for call in truth.blocking] +
                    [gap.end for gap in silences if gap.end - gap.begin > SILENCE_FOUND_AFTER])
    groups, busy_until = [], 0
    for op in submissions:
        proof = bisect.bisect_left(proofs, op.submit) - 1
        if not groups or (proof >= 0 and groups[-1][-1].submit <= proofs[proof] and busy_until <= proofs[proof]):
            groups.append([])
        groups[-1].append(op)
        busy_until = max(busy_until, op.end)
    return [Gap(group[0].submit, group[-1].submit) for group in groups]


def complain_unresolved(device, truth):
    allowed = sum(stretch.end - stretch.begin + LAST_CALL for stretch in stretches(truth))
    if device["unresolved_ns"] > allowed:
        yield f"unresolved_ns {device['unresolved_ns']}, unsynchronised stretches {allowed}"


def complaints(report, truth):
    """Every bound that is wider than promised."""
    wrong = []
    for device in report["devices"]:
        wrong += complain_gaps(device, truth)
        wrong += complain_idle_error(device, truth)
        wrong += complain_unresolved(device, truth)
    return wrong


# ---- runs -------------------------------------------------------------------------------------------------------------------

ATTEMPTS = 3


def agree(make_run, more_complaints=lambda report: [], excused=0.0, copies_untold=False):
    """Records a run and compares it with the truth; again, a bounded number of times, while only a bound is too wide. excused: the
    share of its long gaps whose bounds may be wide. copies_untold: it copies where no edge can stand in front."""
    def check():
        run = make_run()
        if run.status != 0:
            raise conservation.Unsound(f"status {run.status}: {run.stderr}")
        report, truth = run.report(), Truth(run)
        truth.copies_untold = copies_untold
        check_sound(report, truth)
        wrong, whole = complaints(report, truth), list(more_complaints(report))
        long = sum(1 for device in truth.devices() for _ in long_gaps(device, truth))
        assert not whole and len(wrong) <= excused * long, "\n  ".join([f"{run.folder}: bounds too wide:", *wrong, *whole])
        return run
    return once_in(ATTEMPTS, check)
