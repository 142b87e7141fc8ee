#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""images.py: trains on images. One to four loader processes read a batch from a file and decode it; the loop copies it to the device, runs
forward, backward and an optimizer that launches a kernel for each parameter, looks at the loss now and then, at each layer's gradient less
often, measures on the host, saves, and says how far it is.

  input-storage     the worker that owes the batch is in read, by its own clock; O_DIRECT, so nothing of it is a copy out of the cache
  input-network     likewise, where the file lies on FUSE (statfs says so)
  input-preprocess  that worker decodes, or hands the batch over
  cpu-contention    that worker, or the loop while it measures, read a clock that jumped: it had no CPU
  launch-bound      the optimizer: kernels of 1 us by ctypes, each as long as the call takes
  sync-bubble       .item() and the copy that a checkpoint begins with, while the call has not returned (driver_calls.py)
  host-compute      the metrics; a few us of Python between two calls, which may as well be called the bubble's rest, or slow launches
  checkpoint        write and fsync
  output-io         a line for each step, to a pipe whose reader is slow

The loop's wait for a batch is cut by what its worker wrote down of the same time and sends along with the batch. What is left is the hand-over:
pickling there, waking up and unpickling here."""

import ctypes
import mmap
import multiprocessing
import os
import signal
import sys
import zlib

from driver_calls import GLUE, Device
from phases import Draws, Truth, now, open_log, write

FUSE = 0x65735546
PLACES = 2
BATCH_BYTES = 256 << 10
LAYERS = 12


def kind_of(path):
    """Of the file system."""
    words = (ctypes.c_long * 32)()  # struct statfs begins with the type
    ctypes.CDLL(None).statfs(os.fsencode(path), words)
    return "input-network" if words[0] == FUSE else "input-storage"


class Loader:
    """Worker k makes the batches k, k + workers, …"""

    def __init__(self, path, steps, workers, draws):
        context = multiprocessing.get_context("fork")
        self.path, self.cause = path, kind_of(path)
        size = os.path.getsize(path)
        self.reads = [int(2 ** draws.uniform(18, 24)) // 4096 * 4096 for _ in range(steps)]
        self.offsets = [draws.randrange((size - read) // 4096) * 4096 for read in self.reads]
        self.decodes = [draws.ns(0.05, 15) for _ in range(steps)]
        self.steps, self.workers = steps, []
        for first in range(workers):
            places = [multiprocessing.RawArray(ctypes.c_char, BATCH_BYTES) for _ in range(PLACES)]
            free, ready = context.SimpleQueue(), context.SimpleQueue()
            for place in range(PLACES):
                free.put(place)
            process = context.Process(target=self.work, args=(first, workers, places, free, ready), daemon=True)
            process.start()
            self.workers.append((process, places, free, ready))

    def work(self, first, workers, places, free, ready):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # with its parent
        truth = Truth("worker")
        direct = os.O_DIRECT if self.cause == "input-storage" else 0
        file, room = os.open(self.path, os.O_RDONLY | direct), mmap.mmap(-1, 16 << 20)
        room.write(bytes(len(room)))  # so that no page is missing while it reads
        for index in range(first, self.steps, workers):
            place, sent = free.get(), len(truth.lines)
            size, offset = self.reads[index], self.offsets[index]
            truth.phase(self.cause, on=truth.tid)
            done = os.preadv(file, [memoryview(room)[:size]], offset)
            truth.phase("input-preprocess", on=truth.tid)
            assert done == size
            truth.compute(self.decodes[index])
            places[place].raw = room[:4096] * (BATCH_BYTES // 4096)
            truth.phase(None)
            if not direct:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)  # the data set is larger than the memory
            ready.put((place, [(cause, begin, end, {"on": truth.tid}) for _, cause, begin, end, _ in truth.lines[sent:]], truth.tid))
        truth.write()

    def batches(self, truth):
        for index in range(self.steps):
            _, places, free, ready = self.workers[index % len(self.workers)]
            truth.phase(None)
            begin = now()
            place, parts, tid = ready.get()
            end = now()
            truth.split(begin, end, parts, "input-preprocess", also=["host-compute"], on=tid)
            yield places[place]
            free.put(place)

    def close(self):
        for process, *_ in self.workers:
            process.join()


class Training:
    def __init__(self, draws):
        self.draws, self.device, self.log = draws, Device(), open_log()
        self.parameters = draws.randint(30, 300)
        self.look_every, self.layers_every = draws.randint(1, 5), draws.randint(6, 12)
        self.measure_every, self.save_every = draws.randint(3, 8), draws.randint(12, 25)
        self.line = draws.randint(500, 4000)
        forward, backward, norm = draws.randint(20, 300), draws.randint(20, 400), draws.randint(10, 60)
        self.forward, self.backward, self.norm, self.adam = self.device.load(f"forward__{forward}us", f"backward__{backward}us",
                                                                             f"norm__{norm}us", "adam__1us")
        self.weight_bytes = draws.randint(1, 12) << 20
        self.weights, self.batch = self.device.alloc(self.weight_bytes), self.device.alloc(BATCH_BYTES)
        self.weights_here = ctypes.create_string_buffer(self.weight_bytes)
        self.checksum = 0

    def step(self, truth, index, batch):
        device = self.device
        truth.phase("host-compute", **GLUE)  # a few calls
        device.to_device(self.batch, batch, BATCH_BYTES)
        for kernel in (self.forward, self.backward):
            for _ in range(LAYERS):
                device.launch(kernel)
        truth.phase("launch-bound")
        for _ in range(self.parameters):
            device.launch(self.adam)
        if index % self.look_every == 0:
            self.checksum = self.checksum * 31 + device.item(self.batch) & 0xffffffff
        if index % self.layers_every == 2:
            self.look_at_layers()
        if index % self.measure_every == 1:
            truth.phase("host-compute")
            truth.compute(self.draws.ns(0.1, 25))
        write(self.log, truth, f"step {index} loss {self.checksum:08x} {'.' * self.line}\n")
        if index % self.save_every == self.save_every - 1:
            self.save(truth)
        truth.phase("host-compute", **GLUE)  # back to the loop

    def look_at_layers(self):
        for _ in range(3 * LAYERS):
            self.device.launch(self.norm)
            self.checksum = self.checksum * 31 + self.device.item(self.batch) & 0xffffffff

    def save(self, truth):
        self.device.to_host(self.weights_here, self.weights, self.weight_bytes)
        truth.phase("checkpoint")
        with open("weights.bin", "wb", buffering=0) as file:
            file.write(memoryview(self.weights_here))
            os.fsync(file.fileno())


def main():
    draws = Draws(1)
    steps, workers = draws.randint(50, 80), draws.randint(1, 3)
    loader = Loader(os.environ.get("FURTHER_DATA", "train.bin"), steps, workers, draws)  # forked before the driver starts its threads
    training, truth, begin = Training(draws), Truth(), 0
    training.device.truth = truth
    for index, batch in enumerate(loader.batches(truth)):
        training.step(truth, index, batch)
        if index == 0:
            training.device.synchronize()
            begin = now()
    truth.phase(None)
    truth.span("thread", "loop", begin, now())
    training.device.truth = None
    training.device.close()
    loader.close()
    print(f"{steps} steps, {workers} workers, weights {zlib.crc32(training.weights_here.raw):08x}")
    truth.write()


if __name__ == "__main__":
    sys.exit(main())
