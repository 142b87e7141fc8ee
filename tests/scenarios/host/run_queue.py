# SPDX-License-Identifier: BSD-2-Clause
"""When threads were runnable and had no CPU, by a trace of the kernel's scheduler that has nothing to do with the probes under test: an
instance of tracefs. Of the whole machine: a filter by process hides the switches from another's to its own. Times are CLOCK_MONOTONIC, exact
to the microsecond."""

import json
import os
import re
import subprocess
from collections import defaultdict

from rig import Missing, need_root

EVENTS = ("sched_switch", "sched_waking", "sched_wakeup_new", "sched_stat_runtime")
BUFFER_KB = 16384  # of each CPU
SHORT_NS = 20_000  # accounts of less are left out: there are many
LATE_NS = 50_000   # a wake may come just before the thread has gone to sleep; an older one was for nothing

LINE = re.compile(r"\s(\d+)\.(\d{6}): (sched_\w+): (.*)$")
SWITCH = re.compile(r"prev_comm=.* prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> next_comm=.* next_pid=(\d+) next_prio=\d+$")
RAN = re.compile(r"comm=.* pid=(\d+) runtime=(\d+) \[ns\]")
WOKEN = re.compile(r"comm=.* pid=(\d+) prio=\d+ target_cpu=\d+$")


class Holes(Exception):
    """The trace is not whole: the machine was too busy."""


class RunQueue:
    """Traces from now on until it is written. The janitor takes it away."""

    def __init__(self, janitor, folder):
        need_root("trace the scheduler")
        mount = folder / "tracefs"
        mount.mkdir()
        janitor.later("umount", mount)
        done = subprocess.run(["mount", "-t", "tracefs", "tracefs", str(mount)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Missing(f"needs tracefs: {done.stderr.strip()}")
        self.path = mount / "instances" / f"gpushim-lab-{os.getpid()}-{folder.name}"
        janitor.later("rmdir", self.path)
        try:
            self.path.mkdir()
            accounts = "events/sched/sched_stat_runtime/filter", f"runtime > {SHORT_NS}"
            enabled = [(f"events/sched/{event}/enable", 1) for event in EVENTS]
            for name, value in (("trace_clock", "mono"), ("buffer_size_kb", BUFFER_KB), accounts, *enabled):
                (self.path / name).write_text(str(value))
        except OSError as error:
            raise Missing(f"needs to trace the scheduler: {error}") from error

    def write(self, path):
        """The end of it. Holes."""
        (self.path / "tracing_on").write_text("0")
        whole = all(re.search(r"^overrun: 0$", stats.read_text(), re.M) for stats in self.path.glob("per_cpu/*/stats"))
        if not whole:
            raise Holes("others switched more than the scheduler's trace has room for")
        path.write_text(json.dumps(waits_of((self.path / "trace").read_text(errors="replace").splitlines())))


def events_of(lines):
    """(ns, thread, what) in order; what: "in", "out" (preempted: runnable still), "asleep", "woken". "ran": it is on a CPU, since then; some
    kernels do not trace the switch from an idle CPU to a thread."""
    for line in lines:
        if not (at := LINE.search(line)):
            continue
        ns, name, text = int(at[1]) * 10**9 + int(at[2]) * 1000, at[3], at[4]
        if name == "sched_switch" and (switch := SWITCH.search(text)):
            yield ns, int(switch[1]), "out" if switch[2].startswith("R") else "asleep"
            yield ns, int(switch[3]), "in"
        elif ran := RAN.match(text):
            yield ns - int(ran[2]), int(ran[1]), "ran"
        elif woken := WOKEN.search(text):
            yield ns, int(woken[1]), "woken"


def waits_of(lines):
    """{thread: [(begin, end), …]}"""
    waits, since, state, early = defaultdict(list), {}, {}, {}
    for ns, thread, what in events_of(lines):
        if what != "woken":  # it has, or had just now, a CPU
            begin = since.pop(thread, ns)
            if begin < ns:
                waits[thread].append((begin, ns))
        if what == "out" or (what == "asleep" and ns - early.pop(thread, ns - LATE_NS) < LATE_NS):
            since[thread] = ns
        elif what == "woken" and state.get(thread) != "in":
            since.setdefault(thread, ns)
        elif what == "woken":
            early[thread] = ns
            continue
        state[thread] = "in" if what == "ran" else "out" if thread in since else what
    return dict(waits)


def read(path):
    """{} where nothing was traced: then nothing is excused."""
    return {int(thread): waits for thread, waits in json.loads(path.read_text()).items()} if path.exists() else {}


# ---- stretches of time: sorted lists of (begin, end), apart from each other -------------------------------------------------------------------

def union(stretches):
    merged = []
    for begin, end in sorted(stretches):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def inside(stretches, begin, end):
    return [(max(b, begin), min(e, end)) for b, e in stretches if b < end and e > begin]


def length(stretches):
    return sum(end - begin for begin, end in stretches)
