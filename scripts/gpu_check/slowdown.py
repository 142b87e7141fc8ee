# SPDX-License-Identifier: BSD-2-Clause
"""What does recording cost, at each level, in each workload?

One process a level stays there and runs a block of steps when it is told to, one process at a time: without the recorder, with a level,
without, with the next, without … A pair is a level's block over the mean of the two beside it, so a drift that is steady for a
second falls out. A second process without the recorder ("none") is treated like a level: what it seems to cost is how far
processes differ by themselves. All processes are started anew several times, as often as time allows, twice at least (paired.py: groups).

One process a run instead would spend the time on imports: they take seconds, a block 0.25 s."""

import random
import time
from pathlib import Path

import paired
import part
from worker import WORKLOADS, Worker, WorkerError, recording, report, use_torch, worker_command

BASE = "base"
LEVELS = ("none", "host", "edges", "bursts", "cupti", "auto")
ONLY_AUTO = ("launch_bound", "transformer")  # where `auto` has its own figure
GROUPS_MAX = 6
BLOCK_SECONDS, QUICK_BLOCK_SECONDS = 0.25, 0.03
STEPS_MAX = 5000
STARTS = 0.5  # of the time that is left at most, for starting processes anew
PREPARE_SECONDS = 90
SAME_STEPS = 3
NO_MORE = 0.3  # of the time left: what is not prepared by then is left out, for the others need pairs


def levels_of(workload):
    return [level for level in LEVELS if level != "auto" or workload in ONLY_AUTO]


class Group:
    """A process for each level, each with every workload that works."""

    def __init__(self, args, number):
        self.args, self.number = args, number
        self.workers, self.failed = {}, {}
        self.steps = {}   # workload: in a block
        self.pairs = {}   # (workload, level): [(without, with)]
        self.equal = {}   # workload: {level: whether the same loss came out}

    def out(self, level):
        return Path(self.args.work) / f"slowdown-{self.number}-{level}"

    def start(self):
        for level in (BASE, *LEVELS):
            recorded = "" if level in (BASE, "none") else level
            self.workers[level] = Worker(worker_command(self.args), recording(self.args, recorded, self.out(level)),
                                         Path(self.args.work) / f"slowdown-{self.number}-{level}.err")
        for level in list(self.workers):
            self.guard(level, lambda worker: worker.answer(PREPARE_SECONDS))
        if BASE not in self.workers:
            raise WorkerError(self.failed[BASE])

    def guard(self, level, action):
        """What a process cannot do takes it out, not the others."""
        try:
            return action(self.workers[level])
        except WorkerError as error:
            self.failed[level] = str(error)
            self.workers.pop(level).kill()
            return None

    def prepare(self, workload, seconds):
        """The first one alone: what it compiles, the others find. False where it cannot be run."""
        try:
            self.workers[BASE].ask(f"prepare {workload}", seconds)
        except WorkerError as error:
            self.failed[workload] = str(error)
            return False
        others = [level for level in levels_of(workload) if level in self.workers]
        for level in others:
            self.workers[level].tell(f"prepare {workload}")
        for level in others:
            self.guard(level, lambda worker: worker.answer(seconds))
        return True

    def choose_steps(self, workload, block_seconds):
        steps = 1
        while steps < STEPS_MAX:
            ns = self.workers[BASE].ask(f"run {workload} {steps}")["ns"]
            if ns >= block_seconds * 1e9 / 2:
                steps = max(1, round(steps * block_seconds * 1e9 / ns))
                break
            steps *= 2
        self.steps[workload] = min(steps, STEPS_MAX)
        for level in levels_of(workload):  # all have done as many steps of it as the first
            if level in self.workers:
                self.block(level, workload)

    def block(self, level, workload):
        answer = self.guard(level, lambda worker: worker.ask(f"run {workload} {self.steps[workload]}"))
        return answer["ns"] if answer else None

    def round(self, workload, rng):
        """Each level once, between two blocks without the recorder."""
        levels = [level for level in levels_of(workload) if level in self.workers]
        rng.shuffle(levels)
        before = self.block(BASE, workload)
        for level in levels:
            ns = self.block(level, workload)
            if BASE not in self.workers:
                raise WorkerError(self.failed[BASE])
            after = self.block(BASE, workload)
            if ns and before and after:
                self.pairs.setdefault((workload, level), []).append(((before + after) / 2, ns))
            before = after

    def compare_results(self, workload):
        """The same steps from the same seed: does the same loss come out with the recorder, bit for bit? Where it does not without
        one either ("none"), the workload is none that repeats."""
        results = {}
        for level in (BASE, *levels_of(workload)):
            if level in self.workers:
                answer = self.guard(level, lambda worker: worker.ask(f"steps {workload} {SAME_STEPS}"))
                results[level] = answer and answer["result"]
        self.equal[workload] = {level: result == results[BASE] for level, result in results.items() if level != BASE and result}

    def end(self):
        for worker in self.workers.values():
            worker.end()

    def kill(self):
        for worker in self.workers.values():
            worker.kill()


def summarise(groups, result):
    workloads = {}
    for workload in WORKLOADS:
        levels = {}
        for level in levels_of(workload):
            figure = paired.slowdown([group.pairs.get((workload, level), []) for group in groups])
            if figure:
                levels[level] = figure
        base = [pair[0] for group in groups for level in LEVELS for pair in group.pairs.get((workload, level), [])]
        steps = next((group.steps[workload] for group in groups if workload in group.steps), None)
        if levels:
            equal = {level: all(group.equal.get(workload, {}).get(level, True) for group in groups) for level in levels}
            workloads[workload] = {"levels": levels, "steps_in_a_block": steps, "step_ns": part.spread([ns / steps for ns in base]),
                                   "results_equal": equal}
    result["workloads"] = workloads
    result["failed"] = {f"{group.number}: {what}": why for group in groups for what, why in group.failed.items()}
    result.save()


def recorded_facts(args, group):
    """Of each recorded process: which level it came to, what it lost, what it put in, what it says recording cost."""
    facts = {}
    for level in LEVELS:
        if level == "none" or level not in group.workers:
            continue
        try:
            summary = report(args.bin, group.out(level))
            facts[level] = {"device_timing": summary["run"]["device_timing"],
                            **{name: summary.get(name) for name in ("losses", "injected", "self")}}
        except (WorkerError, ValueError, KeyError) as error:
            facts[level] = {"error": str(error)}
    return facts


def seconds_anew(number, start_seconds):
    """What the first group compiles the others find."""
    return start_seconds / 2 if number == 0 else start_seconds


def share(number, left, start_seconds):
    """Of the seconds that are left, how many a group is to measure that took start_seconds to start: as many more follow as are worth their
    start, behind the first one at least one."""
    anew = seconds_anew(number, start_seconds)
    worth = int(STARTS * left / anew) if anew > 0 else GROUPS_MAX
    more = max(min(worth, GROUPS_MAX - 1 - number), 1 if number == 0 else 0)
    return max(0, left - more * anew) / (more + 1)


def is_worth_another(number, left, start_seconds):
    """Behind so many groups."""
    return number == 0 or (number < GROUPS_MAX and left > seconds_anew(number - 1, start_seconds) / (1 if number == 1 else STARTS))


def run_group(args, group, until, earlier, result):
    """Prepares what can be, then goes round for its share of the time. Returns how long its start took."""
    rng = random.Random(group.number)
    block_seconds = QUICK_BLOCK_SECONDS if args.quick else BLOCK_SECONDS
    begin, ready = time.monotonic(), []
    group.start()
    for workload in WORKLOADS:
        left = until - time.monotonic()
        if not args.quick and ready and left < NO_MORE * (until - begin):
            group.failed[workload] = "no time left to prepare it"
        elif group.prepare(workload, min(PREPARE_SECONDS, max(5, left / 2))):
            group.compare_results(workload)
            group.choose_steps(workload, block_seconds)
            ready.append(workload)
        elif BASE not in group.workers or group.workers[BASE].process.poll() is not None:
            raise WorkerError(group.failed[workload])
    started = time.monotonic()
    if not args.quick:
        until = started + share(group.number, until - started, started - begin)
    first = True
    while ready and (first or time.monotonic() < until):
        for workload in ready:
            if first or time.monotonic() < until:
                group.round(workload, rng)
        summarise([*earlier, group], result)
        first = False
    return started - begin


def measure(args, result):
    until = time.monotonic() + float(args.seconds or 200)
    groups, start_seconds = [], 0
    result.update(program="pytorch" if use_torch(args) else "driver", block_seconds=QUICK_BLOCK_SECONDS if args.quick else BLOCK_SECONDS)
    while is_worth_another(len(groups), until - time.monotonic(), start_seconds) and not (args.quick and groups):
        group = Group(args, len(groups))
        try:
            start_seconds = run_group(args, group, until, groups, result)
            group.end()
        except WorkerError as error:
            group.failed["processes"] = str(error)
        finally:
            group.kill()
        groups.append(group)
        summarise(groups, result)
        if "recorded" not in result:
            result["recorded"] = recorded_facts(args, group)
        result.save()
    if not result["workloads"]:
        raise RuntimeError(f"no workload ran: {result['failed']}")


if __name__ == "__main__":
    part.main(measure)
