#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""python_faults.py FAULT STEPS: what faults_linked.c and loader_linked.c are for C, for Python: a lock that is the interpreter's own, and
workers of multiprocessing. The truth is written as lab.h says, the lengths are the
seed's (lab_random.c).

    compute the main thread computes in Python after each step
    gil     another thread computes in Python without a pause: the main thread waits for the GIL in each step
    decode  a worker of multiprocessing computes; a thread takes its batches from a queue and hands them to the main thread
    read    … reads a file"""

import ctypes
import json
import multiprocessing
import os
import queue
import random
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "workloads"))

from train import Device  # noqa: E402

MS = 1_000_000
KERNEL = "step__2000us"


class Lengths:
    """As lab_random.c has them: stratified, log-uniform. Without a seed all are `fixed`."""

    def __init__(self, steps, fixed):
        self.fixed, self.steps = fixed, steps
        low, high = int(os.environ.get("LAB_SHORT", fixed)), int(os.environ.get("LAB_LONG", fixed))
        rng = random.Random(os.environ.get("SEED"))
        strata = rng.sample(range(steps), steps)
        self.ns = [int(low * (high / low) ** ((stratum + rng.random()) / steps)) for stratum in strata]
        page, rate = 4096, int(os.environ.get("LAB_RATE", 0))
        fixed_bytes = int(os.environ.get("LAB_BATCH", 0))
        self.bytes = [fixed_bytes or int(rate * ns / 1e9) // page * page + page for ns in self.ns]
        self.offsets = [sum(self.bytes[:step]) for step in range(steps)]


class Truth:
    """Every process appends whole lines; at once, or, where a write would disturb what is looked at, at the end."""

    def __init__(self):
        path = os.environ.get("LAB_TRUTH")
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666) if path else None
        self.kept = None

    def write(self, line):
        if self.kept is not None:
            self.kept.append(line)
        elif self.fd is not None:
            os.write(self.fd, json.dumps(line).encode() + b"\n")

    def write_kept(self):
        lines, self.kept = self.kept, None
        for line in lines:
            self.write(line)

    def span(self, cause, role, step, where=None):
        return Span(self, cause, role, step, where or {})


def schedstat():
    with open("/proc/thread-self/schedstat") as file:
        cpu, queued, _ = map(int, file.read().split())
    return cpu, queued


def others_queued():
    """Of this process's other threads, when called by its first."""
    tasks = (task.path for task in os.scandir("/proc/self/task") if task.name != str(os.getpid()))
    return sum(int(Path(task, "schedstat").read_text().split()[1]) for task in tasks)


class Span:
    def __init__(self, truth, cause, role, step, where):
        self.truth, self.cause, self.role, self.step, self.where = truth, cause, role, step, where

    def __enter__(self):
        self.begin = time.monotonic_ns()  # what follows may have to wait for the GIL: so it belongs to the span
        self.stat = schedstat()
        return self

    def __exit__(self, *_):
        stat = schedstat()
        end = time.monotonic_ns()
        line = {"cause": self.cause, "role": self.role, "step": self.step, "pid": os.getpid(), "tid": threading.get_native_id(),
                "begin": self.begin, "end": end, "cpu": stat[0] - self.stat[0], "queued": stat[1] - self.stat[1], "throttled": 0,
                **self.where}
        self.truth.write(line)


class Woken(Span):
    """Of what it waited for, only the end, in which it had been woken and was without a CPU."""

    def __exit__(self, *_):
        self.begin = time.monotonic_ns() - (schedstat()[1] - self.stat[1]) - 1
        super().__exit__()


def compute_cpu(ns):
    until = time.thread_time_ns() + ns
    while time.thread_time_ns() < until:
        sum(range(1000))  # asks now and then only: it is a system call


class Training:
    def __init__(self):
        self.truth, self.device = Truth(), Device()
        self.kernel = self.device.load([KERNEL])[KERNEL]

    def step(self):
        self.device.launch(self.kernel)
        self.device.synchronize()


# ---- compute -------------------------------------------------------------------------------------------------------------------------------

def compute(steps):
    """The interpreter's own code: what a user's Python between two launches is."""
    training, lengths = Training(), Lengths(steps, 8 * MS)
    training.truth.kept = []
    for step in range(steps):
        training.step()
        with training.truth.span("host-compute", "main", step):
            compute_cpu(lengths.ns[step])
    training.step()
    training.truth.write_kept()
    print("\n".join(f"step {step}" for step in range(steps)))


# ---- gil ----------------------------------------------------------------------------------------------------------------------------------

def compute_always(truth, over):
    """Pure Python: it gives the GIL away only when asked for, a switch interval later."""
    while not over.is_set():
        with truth.span("host-lock", "holder", 0):
            until = time.monotonic_ns() + 50 * MS
            while time.monotonic_ns() < until:
                sum(range(100))


def gil(steps):
    """Whoever wants the GIL waits for the interpreter's switch interval, 5 ms without a seed, after each call that gave it back: the launch, the one that
    waits for the device, and a look at the kernel's counts (schedstat)."""
    training, over = Training(), threading.Event()
    if "SEED" in os.environ:
        sys.setswitchinterval(0.0005 * 40 ** random.Random(os.environ["SEED"]).random())
    training.truth.kept = []
    other = threading.Thread(target=compute_always, args=(training.truth, over))
    other.start()
    for step in range(steps):
        with training.truth.span("host-lock", "main", step):
            training.device.launch(training.kernel)
            training.device.synchronize()
            os.sched_yield()
    training.step()
    over.set()
    other.join()
    training.truth.write_kept()
    print("\n".join(f"step {step}" for step in range(steps)))


# ---- workers: decode, read ----------------------------------------------------------------------------------------------------------------

class Decode:
    cause = "input-preprocess"

    def __init__(self, steps):
        self.lengths = Lengths(steps, 12 * MS)

    def work(self, truth, index):
        with truth.span(self.cause, "worker", index):
            compute_cpu(self.lengths.ns[index])
        return bytes(64)

    def where(self, _):
        return {}


class Read:
    """$LAB_BATCH bytes of $LAB_FILE, or $LAB_RATE a second, cold."""
    cause = "input-storage"

    def __init__(self, steps):
        self.path, self.lengths = os.environ["LAB_FILE"], Lengths(steps, 20 * MS)
        self.fd = os.open(self.path, os.O_RDONLY)

    def work(self, truth, index):
        offset, size = self.lengths.offsets[index], self.lengths.bytes[index]
        os.posix_fadvise(self.fd, offset, size, os.POSIX_FADV_DONTNEED)
        with truth.span(self.cause, "worker", index, self.where(index)):
            data = os.pread(self.fd, size, offset)
        return data[:64]

    def where(self, index):
        return {"path": self.path, "offset": self.lengths.offsets[index], "bytes": self.lengths.bytes[index]}


def worker(truth, job, ask, answer):
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    done = None  # (index, when it was handed on, what the others had been without a CPU by then)
    while True:
        with Woken(truth, job.cause, "asked", -1, {}) as woken:
            index = ask.get()
            woken.step = -1 if index is None else index
        if done:
            feeder_queued(truth, job.cause, answer, *done)
        if index is None:
            return
        data = job.work(truth, index)
        done = index, time.monotonic_ns(), others_queued()
        answer.put((index, data))


def feeder_queued(truth, cause, answer, index, at, before):
    """The thread that writes the answer into the pipe."""
    queued = others_queued() - before
    truth.write({"cause": cause, "role": "feeder", "step": index, "pid": os.getpid(), "tid": answer._thread.native_id, "begin": at,
                 "end": at + queued + 1, "cpu": 0, "queued": queued, "throttled": 0})


def pin(truth, cause, answers, ready):
    while True:
        with Woken(truth, cause, "pin", -1, {}) as woken:
            batch = answers.get()
            woken.step = batch[0] if batch else -1
        if batch is None:
            return
        ready.put(batch)


def load(steps, job):
    """One worker, a batch ahead."""
    training, context = Training(), multiprocessing.get_context("fork")
    ask, answers, ready = context.SimpleQueue(), context.Queue(), queue.Queue()
    process = context.Process(target=worker, args=(training.truth, job, ask, answers), daemon=True)
    process.start()
    thread = threading.Thread(target=pin, args=(training.truth, job.cause, answers, ready), name="pin")
    thread.start()
    ask.put(0)
    training.step()
    for step in range(steps):
        with training.truth.span(job.cause, "main", step, job.where(step)):
            ready.get()
        ask.put(step + 1 if step + 1 < steps else None)
        training.step()
        print(f"step {step}", flush=True)
    process.join()
    answers.put(None)
    thread.join()


def decode(steps):
    load(steps, Decode(steps))


def read(steps):
    load(steps, Read(steps))


if __name__ == "__main__":
    {"compute": compute, "gil": gil, "decode": decode, "read": read}[sys.argv[1]](int(sys.argv[2]))
