#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rl.py: reinforcement learning. The loop asks the policy for actions, steps its environment, sends others to worker processes and collects
what they found, keeps to a rate, grows its buffers, looks back into its replay memory, gets kernels compiled and loaded when it meets new
shapes; a thread turns the metrics into text meanwhile. In a container that may have one CPU, or a quota.

  host-compute      the environment's steps, by a loop that reads the clock all the while
  cpu-contention    where that clock jumps: the workers have the CPU, or other people's programs; in a worker that the loop waits for, likewise
  cpu-throttled     likewise, and the group's cpu.stat grew by most of the jump ($LAB_CPU_STAT); where by a part, the other may be said too
  input-preprocess  a worker that the loop waits for computes, by its own clock
  host-sleep        time.sleep, to keep to the rate
  allocator         cuMemAlloc and cuMemFree
  module-load       cuModuleLoadData, cuModuleGetFunction; the C compiler, as a child, that builds a launcher: where it had no CPU for a
                    twentieth of the time, that may be said too; cpu.stat says which of the two it was
  host-lock         the thread that writes metrics is in json.dumps, a single call that keeps the GIL; the loop is back from cuStreamSynchronize
                    and may not go on: the part of the call that overlaps json.dumps, both by the clock (the device's own end limits it further);
                    likewise while it looks whether the text is made, between sleeps
  memory-stall      the replay memory, put away while the device was busy (or a little longer), comes back from swap page by page: where at least
                    half of the pages that were asked for were major faults of this thread
  sync-bubble       reading the actions back, until the call returns (driver_calls.py)
  output-io         metrics, to a pipe whose reader is slow"""

import contextlib
import ctypes
import json
import mmap
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time

from driver_calls import GLUE, Device
from phases import Draws, Truth, now, open_log, throttled_ns, write

REPLAY = 8 << 20
PAGE = 4096
MADV_PAGEOUT = 21
SLACK = 512 << 10  # for who allocates at that moment
REST = 8  # kernels of 4 ms, during which it happens
STUB = b"int launcher(int grid) { return grid * 3; }\n"


def children_ns():
    """That ended: how long they were on a CPU."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)


def missing_cpu(without, throttled, ns):
    """What may be said of a child's time as well, where it had none for much of it: not when that was, but why."""
    amounts = {"cpu-throttled": throttled, "cpu-contention": without - throttled}
    return [cause for cause, amount in amounts.items() if amount > ns / 20]


class Environments:
    """Worker processes; each computes for as long as it is told, and sends what it wrote down."""

    def __init__(self, count):
        context = multiprocessing.get_context("fork")
        self.pipes = []
        for _ in range(count):
            here, there = context.Pipe()
            context.Process(target=self.work, args=(there,), daemon=True).start()
            self.pipes.append(here)

    @staticmethod
    def work(pipe):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        truth = Truth("worker")
        while ns := pipe.recv():
            sent = len(truth.lines)
            truth.phase("input-preprocess")
            truth.compute(ns)
            truth.phase(None)
            pipe.send(([(cause, begin, end, {**more, "on": truth.tid}) for _, cause, begin, end, more in truth.lines[sent:]], truth.tid))
        truth.write()
        pipe.send(None)

    def begin(self, draws):
        for pipe in self.pipes:
            pipe.send(draws.ns(0.2, 15))

    def collect(self, truth):
        truth.phase(None)
        for pipe in self.pipes:
            begin = now()
            parts, tid = pipe.recv()
            truth.split(begin, now(), parts, "input-preprocess", also=["host-compute", "cpu-contention"], on=tid)

    def close(self):
        for pipe in self.pipes:
            pipe.send(0)
            pipe.recv()


class Metrics(threading.Thread):
    """Turns what it is given into text. json.dumps is one call, which does not let go of the GIL."""

    def __init__(self):
        super().__init__(daemon=True)
        self.asked, self.values, self.held, self.truth = threading.Event(), None, [], None
        self.start()

    def run(self):
        self.truth = Truth("holder")
        while True:
            self.asked.wait()
            self.asked.clear()
            if self.values is None:
                return
            begin = now()
            json.dumps(self.values)
            end = now()
            self.held.append(("host-lock", begin, end, {"on": self.truth.tid}))
            self.truth.span("holder", "host-lock", begin, end)

    def close(self):
        self.values = None
        self.asked.set()
        self.join()
        self.truth.write()


class Replay:
    """Memory that the system puts away: it is short of it, in this program's group ($LAB_MEMORY)."""

    def __init__(self, draws):
        self.libc = ctypes.CDLL(None)
        self.memory = mmap.mmap(-1, REPLAY, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.memory.write(draws.randbytes(REPLAY))
        self.address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(self.memory)))
        self.group = os.environ.get("LAB_MEMORY")

    def put_away(self, truth):
        """Written to the swap; then the group has room for all but these pages, for a moment: reclaim, by this thread."""
        if not self.group:
            return
        truth.phase("memory-stall", also=["host-compute"])
        self.libc.madvise(self.address, ctypes.c_size_t(REPLAY), MADV_PAGEOUT)
        truth.phase("host-sleep")
        time.sleep(0.005)
        truth.phase("memory-stall", also=["host-compute", "output-io"])
        there = ctypes.create_string_buffer(REPLAY // PAGE)  # by page: written to the swap, and not let go of yet
        self.libc.mincore(self.address, ctypes.c_size_t(REPLAY), there)
        with open(f"{self.group}/memory.usage_in_bytes") as file:
            room = int(file.read()) - sum(byte & 1 for byte in there.raw) * PAGE + SLACK
        for limit in (room, -1):
            with contextlib.suppress(OSError), open(f"{self.group}/memory.limit_in_bytes", "w") as file:
                file.write(str(limit))

    def sample(self, truth, pages):
        """-> their sum"""
        truth.phase(None)
        faults, begin = resource.getrusage(resource.RUSAGE_THREAD).ru_majflt, now()
        total = sum(self.memory[page * PAGE] for page in pages)
        faults = resource.getrusage(resource.RUSAGE_THREAD).ru_majflt - faults
        truth.span("main", "memory-stall" if faults >= len(pages) / 2 else "host-compute", begin, now())
        return total


class Agent:
    def __init__(self, draws, environments):
        self.draws, self.device, self.environments = draws, Device(), environments
        self.log = open_log()
        self.metrics, self.replay = Metrics(), Replay(draws)
        self.policy, self.learn, self.rest = self.device.load(f"policy__{draws.randint(50, 500)}us", f"learn__{draws.randint(200, 3000)}us",
                                                              "target__4000us")
        self.actions = self.device.alloc(1 << 16)
        self.buffer_bytes, self.line = draws.randint(1, 16) << 20, draws.randint(1000, 8000)
        self.values = [draws.random() for _ in range(60000)]
        self.total = 0

    def act(self, truth):
        truth.phase("host-compute", **GLUE)
        self.device.launch(self.policy)
        self.total += self.device.item(self.actions)

    def grow(self):
        buffers = [self.device.alloc(self.buffer_bytes) for _ in range(self.draws.randint(2, 40))]
        for buffer in buffers:
            self.device.free(buffer)

    def compile(self, truth):
        truth.phase(None)
        begin, ran, throttled = now(), children_ns(), throttled_ns()
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", "launcher.so"], input=STUB, check=True)
        end, without = now(), now() - begin - (children_ns() - ran)
        truth.span("main", "module-load", begin, end, also=missing_cpu(without, throttled_ns() - throttled, end - begin))

    def load(self, modules):
        for number in range(modules):
            self.device.load(f"shape{number}__20us")

    def learn_with_metrics(self, truth):
        """The text is made while the device computes, and for longer."""
        self.metrics.values, asked = self.values[:int(2 ** self.draws.uniform(8, 15.8))], len(self.metrics.held)
        truth.phase("host-compute", **GLUE)
        self.device.launch(self.learn)
        self.metrics.asked.set()
        truth.phase(None)
        begin = now()
        self.device.call("cuStreamSynchronize", self.device.stream)
        end = now()
        while len(self.metrics.held) == asked:
            time.sleep(0.0002)
        truth.split(begin, end, self.metrics.held[asked:], "sync-bubble")
        truth.split(end, now(), self.metrics.held[asked:], "host-sleep", also=["host-compute"])

    def remember(self, truth):
        truth.phase("host-compute", **GLUE)
        for _ in range(REST):
            self.device.launch(self.rest)
        self.replay.put_away(truth)
        self.device.synchronize()
        self.total += self.replay.sample(truth, self.draws.sample(range(REPLAY // PAGE), int(2 ** self.draws.uniform(2, 9))))

    def collect(self, truth):
        truth.phase("host-compute", also=["output-io"])
        self.environments.begin(self.draws)
        truth.phase("host-compute")
        truth.compute(self.draws.ns(0.1, 10))
        self.environments.collect(truth)

    def episode(self, truth, number):
        draws = self.draws
        self.act(truth)
        truth.phase("host-compute")
        truth.compute(draws.ns(0.05, 20))
        self.act(truth)
        what = number % 6
        if what == 1:
            truth.phase("host-sleep")
            time.sleep(draws.ns(0.1, 40) / 1e9)
        elif what == 2:
            self.collect(truth)
        elif what == 3:
            self.learn_with_metrics(truth)
        elif what == 4:
            self.grow()
        elif what == 5:
            self.remember(truth)
        elif number % 12 == 6:
            self.load(draws.randint(1, 40))
        if number == 12:
            self.compile(truth)
        if number % 3 == 2:
            write(self.log, truth, f"episode {number} return {self.total} {'.' * self.line}\n")
        truth.phase("host-compute", **GLUE)

    def close(self):
        self.metrics.close()
        self.device.close()


def main():
    draws = Draws(4)
    if draws.random() < 0.6:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    episodes, environments = draws.randint(60, 90), Environments(draws.randint(1, 3))
    agent, truth = Agent(draws, environments), Truth()
    agent.act(truth)
    agent.device.truth = truth
    begin = now()
    for number in range(episodes):
        agent.episode(truth, number)
    truth.phase(None)
    truth.span("thread", "loop", begin, now())
    agent.device.truth = None
    environments.close()
    agent.close()
    print(f"{episodes} episodes, return {agent.total}")
    truth.write()


if __name__ == "__main__":
    sys.exit(main())
