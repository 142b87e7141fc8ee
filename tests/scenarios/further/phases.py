# SPDX-License-Identifier: BSD-2-Clause
"""truth.h for programs in Python: what each thread does, written down by itself; draws from $SEED; work that notices when it has no CPU."""

import json
import math
import os
import random
import resource
import threading
import time

MS = 1_000_000
JUMP = 200_000  # ns between two readings of the clock, a few us apart, by a thread that computes: it did not run

READER = int(os.environ.get("FURTHER_READER", "0"))  # the thread that takes what is logged

now = time.monotonic_ns


def open_log():
    """What a program tells as it goes: to $FURTHER_LOG, a pipe with a reader that takes its time; else standard output."""
    path = os.environ.get("FURTHER_LOG")
    return os.open(path, os.O_WRONLY) if path else 1


def write(log, truth, text):
    data = text.encode()
    truth.phase("output-io", on=READER)
    os.write(log, data)
    truth.phase("host-compute", also=["sync-bubble", "launch-bound"])


class Draws(random.Random):
    """Of $SEED; another sequence for each lane."""

    def __init__(self, lane):
        super().__init__(int(os.environ.get("SEED", "1")) * 1_000_003 + lane)

    def ns(self, low_ms, high_ms):
        """Each decade as likely as the next."""
        return int(MS * math.exp(self.uniform(math.log(low_ms), math.log(high_ms))))


def throttled_ns():
    """How long this control group had no CPU for its quota, of $LAB_CPU_STAT; 0 where there is none."""
    if path := os.environ.get("LAB_CPU_STAT"):
        with open(path) as file:
            for line in file:
                name, value = line.split()
                if name == "throttled_time":
                    return int(value)
                if name == "throttled_usec":
                    return int(value) * 1000
    return 0


def major_faults():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_majflt


class Truth:
    """A thread's phases: each ends where the next begins, by the same reading of the clock. Kept until written()."""

    def __init__(self, role="main"):
        self.role, self.tid, self.pid = role, threading.get_native_id(), os.getpid()
        self.lines, self.cause, self.since, self.more = [], None, 0, {}

    def phase(self, cause, at=None, **more):
        """None: none. also=, on= are fields of the line."""
        at = at or now()
        if self.cause and at > self.since:
            self.lines.append((self.role, self.cause, self.since, at, self.more))
        self.cause, self.since, self.more = cause, at, more

    def span(self, role, cause, begin, end, **more):
        if end > begin:
            self.lines.append((role, cause, begin, end, more))

    def split(self, begin, end, parts, otherwise, **more):
        """[begin, end) by what somebody else did meanwhile: parts are (cause, begin, end, more), in order, apart from each other."""
        for cause, first, last, also in parts:
            first, last = max(first, begin), min(last, end)
            if first < last:
                self.span(self.role, otherwise, begin, first, **more)
                self.span(self.role, cause, first, last, **also)
                begin = last
        self.span(self.role, otherwise, begin, end, **more)

    def compute(self, ns):
        """So much work; what the clock jumps over meanwhile is a phase of its own: this thread did not run. Where its memory had to come
        back from swap meanwhile (others of its group took the room), that may be said of all of it."""
        cause, more, throttled, begun, faults = self.cause, self.more, throttled_ns(), len(self.lines), major_faults()
        last, value = now(), 0
        while ns > 0:
            for i in range(40):
                value = (value * 1664525 + i) & 0xffffffff
            at = now()
            if at - last > JUMP:
                before, throttled = throttled, throttled_ns()
                self.phase_without_cpu(last, at - last, throttled - before)
                self.phase(cause, at, **more)
                at = now()
            else:
                ns -= at - last
            last = at
        if major_faults() > faults:
            stalled = {"also": [*more.get("also", ()), "memory-stall"]}
            self.lines[begun:] = [(*line, {**own, **stalled}) if line[1] == cause else (*line, own) for *line, own in self.lines[begun:]]
            self.more = {**more, **stalled}

    def phase_without_cpu(self, at, ns, throttled):
        """What it was for the most part; where for both, when it was which is not known."""
        cause, other = ("cpu-throttled", "cpu-contention") if throttled > ns / 2 else ("cpu-contention", "cpu-throttled")
        self.phase(cause, at, **({"also": [other]} if ns / 50 < throttled < ns * 49 / 50 else {}))

    def write(self):
        self.phase(None)
        path = os.environ.get("LAB_TRUTH")
        if not path:
            return
        whose = {"step": 0, "pid": self.pid, "tid": self.tid, "cpu": 0, "queued": 0, "throttled": 0}
        text = "".join(json.dumps({"cause": cause, "role": role, "begin": begin, "end": end, **whose, **more}) + "\n"
                       for role, cause, begin, end, more in self.lines)
        with open(path, "a") as file:
            file.write(text)
        self.lines = []
