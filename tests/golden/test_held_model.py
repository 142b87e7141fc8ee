# SPDX-License-Identifier: BSD-2-Clause
"""Which stack stands for which instant: random traces, held against what the rules say of each instant by itself (analyzer/ARCHITECTURE.md,
"Which code held the thread")."""

import json
import random
import subprocess

import pytest

EPOCH_NS = 1_000_000_000  # tests/support/gst_text.h
REACH_US = 25_000
FROM_US, UNTIL_US = 4_010, 90_000  # the silence: from the wait's return to the next launch


class Trace:
    """A gap of 86 ms with driver calls, samples, looks at some of them, and stacks of some calls and silences. Times in microseconds."""

    def __init__(self, rng):
        self.rng, self.stacks, self.lines = rng, 0, []
        cuts = sorted(rng.sample(range(FROM_US + 100, UNTIL_US - 2000, 100), 2 * rng.randrange(5)))
        self.calls = [(1005, FROM_US), *zip(cuts[::2], cuts[1::2]), (UNTIL_US, UNTIL_US + 2)]
        self.silences = [(a[1], b[0]) for a, b in zip(self.calls, self.calls[1:])]
        self.call_stack = {call: self.stack() for call in self.calls[:-1] if rng.random() < 0.5}
        self.silence_stack = {silence: self.stack() for silence in self.silences if rng.random() < 0.5}
        self.site = self.stack() if rng.random() < 0.5 else None
        self.samples, self.looks = [], []  # (time, system call), (time, stack, the silence's begin)
        for begin, end in self.silences:
            for at in sorted(rng.sample(range(begin + 2, end, 2), min(rng.choice([0, 1, 3, 12]), (end - begin) // 2 - 2))):
                self.samples.append((at, rng.choice([230, 230, 230, -1, 0])))
                if rng.random() < 0.5:
                    self.looks.append((at, self.stack(), begin))

    def stack(self):
        """Each its own line of train.py; the number is line and id."""
        self.stacks += 1
        return self.stacks

    def text(self):
        take = "taken {} t={}us..{}us stack={}".format
        yield from ("process 100 exited=1 end=100ms", "thread 100 main", "device 0", "stream 1", "code 1 file=/srv/me/train.py name=train")
        yield from (f"stack {n} frames=python:1:{n}" for n in range(1, self.stacks + 1))
        yield "launch t=1000us..1002us stream=1 seq=1 kernel=step"
        if self.site:
            yield take("site", 1000, 1002, self.site)
        yield "edge 1 t=1003us..1004us stream=1 covers=1 fired=4000us done=4010us"
        yield f"sync-stream t=1005us..{FROM_US}us stream=1 seq=1"
        for begin, end in self.calls[1:-1]:
            yield f"other t={begin}us..{end}us"
        for (begin, end), stack in self.call_stack.items():
            yield take("stall", begin, end, stack)
        for (begin, end), stack in self.silence_stack.items():
            yield take("silence", begin, end, stack)
        for at, call in self.samples:
            yield f"sample t={at}us syscall={call}"
        for at, stack, begin in self.looks:
            yield take("look", begin, at, stack)
        yield f"launch t={UNTIL_US}us..{UNTIL_US + 2}us stream=1 seq=2 kernel=step"
        yield f"edge 2 base=1 t={UNTIL_US + 3}us..{UNTIL_US + 4}us stream=1 covers=2 fired=94000us done=94010us"
        yield f"sync-stream t={UNTIL_US + 5}us..94010us stream=1 seq=2"

    def look_at(self, t, begin, end):
        """Of the silence [begin, end)."""
        looks = [look for look in self.looks if look[2] == begin]
        found = dict(self.samples)
        inside = [at for at, _ in self.samples if begin <= at < end]
        for at, stack, _ in looks:
            forward = t >= at
            others = [look[0] for look in looks if (look[0] > at if forward else look[0] < at)]
            other = (min(others) if forward else max(others)) if others else None
            way = sorted((s for s in inside if (s > at if forward else s < at)), reverse=not forward)
            stop, last = None, at
            for s in way:
                if s == other or abs(s - at) > REACH_US:
                    break
                if found[s] != found[at]:
                    stop = (last + s) / 2
                    break
                last = s
            if stop is None:
                stop = (at + other) / 2 if other is not None else at + (REACH_US if forward else -REACH_US)
            if (t < stop if forward else t >= stop) and at - REACH_US <= t < at + REACH_US:
                return stack
        return None

    def at(self, t):
        """The stack, and by what, at an instant."""
        for (begin, end), stack in self.call_stack.items():
            if begin <= t < end:
                return "call", stack
        for begin, end in self.silences:
            if begin <= t < end:
                stack = self.look_at(t, begin, end)
                if stack:
                    return "look", stack
                if (begin, end) in self.silence_stack:
                    stack = self.silence_stack[begin, end]
                    known = any(call[1] == begin and before < stack for call, before in self.call_stack.items())  # it went forward
                    return ("between" if known else "next-call"), stack
        return ("launch-site", self.site) if self.site else ("none", None)


@pytest.mark.parametrize("seed", range(40))
def test_each_instant(seed, build, gpushim, tmp_path):
    trace = Trace(random.Random(seed))
    (tmp_path / "trace.txt").write_text("\n".join(trace.text()) + "\n")
    subprocess.run([build / "tools/gst_write", tmp_path / "trace.txt", tmp_path / "run"], check=True)
    done = subprocess.run([gpushim, "report", "--json", tmp_path / "run"], capture_output=True, text=True, check=True)
    gap, = json.loads(done.stdout)["devices"][0]["gaps"]
    for cause in gap["causes"]:
        at = cause["begin_ns"]
        for part in cause.get("held", []):
            assert part["begin_ns"] == at < part["end_ns"]
            at = part["end_ns"]
            for ns in (part["begin_ns"], (part["begin_ns"] + part["end_ns"]) // 2, part["end_ns"] - 1):
                t = (ns - EPOCH_NS) / 1000
                assert (part["by"], part.get("line")) == trace.at(t), f"at {t} us"
        assert at == cause["end_ns"] or not cause.get("held")
