# SPDX-License-Identifier: BSD-2-Clause
"""Our idle time beside CUPTI's, of one and the same run: the shim records, and torch.profiler (Kineto) does, in one process a workload
and level, from before the first operation on. What the profiler itself costs is then in both. On the simulated driver its own log stands
for CUPTI.

CUPTI allows one subscriber: at level `cupti` the recorder is alone, and there its steps are set beside those that the profiler saw
in the other levels' runs (`apart`): how long the device is busy in a step is the program's own, how long it idles depends on who watches. On the
simulated driver the log is there all the same."""

import time
from pathlib import Path

import part
from compare import compare, idle_in_steps
from intervals import gaps, merged
from reference import find_marks, read_kineto, read_truth
from worker import WORKLOADS, Worker, WorkerError, recording, report, use_torch, worker_command

LEVELS = ("bursts", "edges", "cupti")
SECONDS = {"bursts": 2.0, "edges": 0.5, "cupti": 0.5}  # bursts are samples: an estimate needs some; a profile of launches is 100 MB a second
TRIED_STEPS, QUICK_STEPS, STEPS_MAX = 5, 10, 4000
START_SECONDS, PREPARE_SECONDS = 90, 90
AHEAD = 3  # processes that import while another is measured


class Watched:
    """One run: a workload recorded at a level, and watched by somebody who knows."""

    def __init__(self, args, workload, level):
        self.args, self.workload, self.level = args, workload, level
        self.name = f"{workload}-{level}"
        self.work = Path(args.work)
        self.profiled = use_torch(args) and level != "cupti"
        self.worker = None

    def start(self):
        env = recording(self.args, self.level, self.work / f"idle-{self.name}")
        env["SIMGPU_LOG"] = str(self.work / f"idle-{self.name}.truth")
        self.worker = Worker(worker_command(self.args), env, self.work / f"idle-{self.name}.err")

    def run(self):
        """Its marks."""
        self.worker.answer(START_SECONDS)
        if self.profiled:
            self.worker.ask("profile")
        self.worker.ask(f"prepare {self.workload}", PREPARE_SECONDS)
        marks = self.worker.ask(f"steps {self.workload} {self.choose_steps()}")["marks"]
        if self.profiled:
            self.worker.ask(f"export {self.kineto()}")
        self.worker.end()
        return marks

    def choose_steps(self):
        if self.args.quick:
            return QUICK_STEPS
        ns = self.worker.ask(f"run {self.workload} {TRIED_STEPS}")["ns"]
        return max(QUICK_STEPS, min(STEPS_MAX, round(SECONDS[self.level] * 1e9 * TRIED_STEPS / ns)))

    def kineto(self):
        return self.work / f"idle-{self.name}.json"

    def reference(self):
        """None where nobody else could watch."""
        if self.args.simulated:
            return read_truth(self.work / f"idle-{self.name}.truth")
        return read_kineto(self.kineto()) if self.profiled else None

    def measure(self):
        marks = self.run()
        summary, reference = report(self.args.bin, self.work / f"idle-{self.name}"), self.reference()
        if reference:
            return compare(summary, marks, reference), reference_steps(reference, marks)
        return {"device_timing": summary["run"]["device_timing"], "apart": our_steps(summary, marks), "losses": summary["losses"]}, None


def steps_of(idle, marks):
    """Of the idle time of each step: spreads of that and of the rest."""
    steps = [right - left for left, right in zip(marks, marks[1:])]
    return {"idle_ns": part.spread(idle), "busy_ns": part.spread([step - ns for step, ns in zip(steps, idle)]), "step_ns": part.spread(steps)}


def reference_steps(reference, marks):
    """What the reference saw, for runs that nobody watched."""
    theirs = marks if reference.same_clock else find_marks(reference.waits, marks)
    if not theirs or not reference.busy:
        return None
    return steps_of(idle_in_steps(gaps(reference.busy), theirs, reference.busy[0][0], reference.busy[-1][1]), theirs)


def our_steps(summary, marks):
    device = summary["devices"][0]
    idle = merged([gap["begin_ns"], gap["end_ns"]] for gap in device["gaps"])
    ours = steps_of(idle_in_steps(idle, marks, device["begin_ns"], device["end_ns"]), marks)
    return {"ours_ns": ours["idle_ns"], "ours_busy_ns": ours["busy_ns"], "step_ns": ours["step_ns"], "unresolved_ns": device["unresolved_ns"]}


def set_beside(apart, watched):
    """Beside a run that nobody watched, what was seen of the same workload in others."""
    if watched:
        apart.update(reference_ns=watched[0]["idle_ns"], reference_busy_ns=[steps["busy_ns"]["median"] for steps in watched])


def plan(args):
    """In order of worth, as the time may not do for all."""
    return [Watched(args, workload, level) for level in LEVELS for workload in WORKLOADS]


def measure(args, result):
    until = time.monotonic() + float(args.seconds or 150)
    result.update(program="pytorch" if use_torch(args) else "driver", reference="simgpu" if args.simulated else "kineto", runs={}, failed={})
    waiting, started, profiled = plan(args), [], {}
    try:
        while waiting or started:
            while waiting and len(started) < AHEAD and time.monotonic() < until:
                started.append(waiting.pop(0))
                started[-1].start()
            if not started:
                result["failed"].update({watched.name: "no time left" for watched in waiting})
                break
            watched = started.pop(0)
            try:
                figures, theirs = watched.measure()
                if theirs:
                    profiled.setdefault(watched.workload, []).append(theirs)
                if "apart" in figures:
                    set_beside(figures["apart"], profiled.get(watched.workload))
                result["runs"].setdefault(watched.workload, {})[watched.level] = figures
            except (WorkerError, OSError, ValueError, KeyError, IndexError) as error:
                result["failed"][watched.name] = f"{type(error).__name__}: {error}"
            finally:
                watched.worker.kill()
            result.save()
    finally:
        for watched in started:
            watched.worker.kill()
    if not result["runs"]:
        raise RuntimeError(f"nothing could be compared: {result['failed']}")


if __name__ == "__main__":
    part.main(measure)
