#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A small training script that talks to the CUDA driver directly: standard library only, no framework.

It has what a training run has: shards of compressed data on disk, loader worker processes that decompress and augment, a step
loop that copies a batch to the device, launches forward, backward and optimizer, reads the loss back, and saves a checkpoint now
and then. The kernels only take time (their names say how much), so the printed "loss" is a checksum of data that has been on
the device: the same in every run with the same seed.

The options after --slow-loader each add one well-known mistake, so that a profiler's answer can be compared with the truth.
"""

import argparse
import ctypes
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import zlib
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

SAMPLE_BYTES = 3 * 32 * 32  # an RGB image of 32 x 32 pixels
BATCH = 64
BATCH_BYTES = BATCH * SAMPLE_BYTES
LABEL_BYTES = BATCH * 4
SHARDS = 8
WEIGHT_BYTES = 2 << 20
LOSS_BYTES = 256
LAYERS = 12

FORWARD = ["norm__100us", "gemm__1900us"]  # each layer
BACKWARD = ["gemm_backward__3700us", "norm_backward__200us"]
LOSS = "cross_entropy__400us"
OPTIMIZER = "adam__1500us"
EVALUATION = "accuracy__800us"
# Other kernels of a library for other shapes of a batch; what it tries out first; what logging takes.
WIDE = {"gemm__1900us": "gemm_wide__1700us", "gemm_backward__3700us": "gemm_wide_backward__3300us"}
TRIALS = ["gemm_trial_a__100us", "gemm_trial_b__100us", "gemm_trial_c__100us"]
MEAN = "mean__50us"


# ---- data: files on disk, worker processes that turn them into batches -----------------------------------------------------

def write_shards(folder, seed):
    """A data set: compressed images, a batch to a file."""
    rng = random.Random(seed)
    for index in range(SHARDS):
        noise = rng.randbytes(BATCH_BYTES // 8)
        with open(os.path.join(folder, f"shard-{index}.z"), "wb") as file:
            file.write(zlib.compress(noise * 8, 1))


def augment(images, rng):
    """Random brightness, and every other image upside down."""
    brightness = bytes(min(255, value * rng.randrange(80, 121) // 100) for value in range(256))
    images = images.translate(brightness)
    samples = (images[at:at + SAMPLE_BYTES] for at in range(0, BATCH_BYTES, SAMPLE_BYTES))
    return b"".join(sample[::-1] if rng.random() < 0.5 else sample for sample in samples)


def load_batch(folder, index, args):
    with open(os.path.join(folder, f"shard-{index % SHARDS}.z"), "rb") as file:
        images = zlib.decompress(file.read())
    if args.slow_loader:
        time.sleep(args.slow_loader / 1000)
    rng = random.Random(args.seed * 100003 + index)
    labels = b"".join(rng.randrange(1000).to_bytes(4, "little") for _ in range(BATCH))
    return augment(images, rng) + labels


class Loader:
    """Workers make batches ahead of time, worker k the batches k, k + workers, …; each has two places in shared memory."""

    PLACES = 2

    def __init__(self, folder, args):
        context = multiprocessing.get_context("fork")
        self.args = args
        self.workers = []
        for first in range(args.workers):
            places = [multiprocessing.RawArray(ctypes.c_char, BATCH_BYTES + LABEL_BYTES) for _ in range(self.PLACES)]
            free, ready = context.SimpleQueue(), context.SimpleQueue()
            for place in range(self.PLACES):
                free.put(place)
            process = context.Process(target=self.work, args=(folder, first, places, free, ready), daemon=True)
            process.start()
            self.workers.append((process, places, free, ready))

    def work(self, folder, first, places, free, ready):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: else one whose parent is killed waits for ever
        for index in range(first, self.args.steps, self.args.workers):
            place = free.get()
            places[place].raw = load_batch(folder, index, self.args)
            ready.put(place)

    def batches(self):
        """Yields each batch in order; it is valid until the next is asked for."""
        for index in range(self.args.steps):
            _, places, free, ready = self.workers[index % self.args.workers]
            place = ready.get()
            yield places[place]
            free.put(place)

    def close(self):
        for process, *_ in self.workers:
            process.join()


# ---- the device ------------------------------------------------------------------------------------------------------------

def kernel_source(name):
    """PTX for a kernel that is busy for as long as its name says."""
    ns = int(name.rsplit("__", 1)[1].removesuffix("us")) * 1000
    return f"""
.visible .entry {name}()
{{
    .reg .u64 %now, %end;
    .reg .pred %more;
    mov.u64 %end, %globaltimer;
    add.u64 %end, %end, {ns};
again:
    mov.u64 %now, %globaltimer;
    setp.lt.u64 %more, %now, %end;
    @%more bra again;
    ret;
}}
"""


class Device:
    """The driver calls a training script needs, on one stream of device 0."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        device, context = c_int(), c_void_p()
        self.call("cuInit", c_uint(0))
        self.call("cuDeviceGet", byref(device), c_int(0))
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.stream = c_void_p()
        self.call("cuStreamCreate", byref(self.stream), c_uint(0))
        self.device = device
        # Launches are the one call made often: types declared once are quicker than wrapping each argument.
        self.launch_function = self.lib.cuLaunchKernel
        self.launch_function.argtypes = [c_void_p] + 7 * [c_uint] + [c_void_p] * 3

    def call(self, name, *args):
        result = getattr(self.lib, name)(*args)
        if result != 0:
            raise RuntimeError(f"{name} returned {result}")

    def load(self, names):
        """Loads a module with these kernels; returns them."""
        source = ".version 7.0\n.target sm_70\n.address_size 64\n" + "".join(kernel_source(name) for name in sorted(set(names)))
        module = c_void_p()
        self.call("cuModuleLoadData", byref(module), c_char_p(source.encode()))
        functions = {}
        for name in names:
            functions[name] = c_void_p()
            self.call("cuModuleGetFunction", byref(functions[name]), module, c_char_p(name.encode()))
        return functions

    def launch(self, function):
        result = self.launch_function(function, 1, 1, 1, 32, 1, 1, 0, self.stream, None, None)
        if result != 0:
            raise RuntimeError(f"cuLaunchKernel returned {result}")

    def alloc(self, size):
        pointer = c_uint64()
        self.call("cuMemAlloc_v2", byref(pointer), c_size_t(size))
        return pointer

    def free(self, pointer):
        self.call("cuMemFree_v2", pointer)

    def alloc_pinned(self, size):
        pointer = c_void_p()
        self.call("cuMemAllocHost_v2", byref(pointer), c_size_t(size))
        return (ctypes.c_char * size).from_address(pointer.value)

    def to_device(self, pointer, data, size):
        self.call("cuMemcpyHtoDAsync_v2", pointer, data, c_size_t(size), self.stream)

    def to_host(self, buffer, pointer):
        """Blocks until the stream has got here and the data is in the (pageable) buffer."""
        self.call("cuMemcpyDtoHAsync_v2", buffer, pointer, c_size_t(len(buffer)), self.stream)

    def on_device(self, to, pointer, size):
        self.call("cuMemcpyDtoDAsync_v2", to, pointer, c_size_t(size), self.stream)

    def synchronize(self):
        self.call("cuStreamSynchronize", self.stream)

    def captured(self, launches):
        """An executable graph of what that function launches."""
        graph, executable = c_void_p(), c_void_p()
        self.call("cuStreamBeginCapture_v2", self.stream, c_int(0))
        launches()
        self.call("cuStreamEndCapture", self.stream, byref(graph))
        self.call("cuGraphInstantiateWithFlags", byref(executable), graph, c_uint64(0))
        return executable

    def launch_graph(self, executable):
        self.call("cuGraphLaunch", executable, self.stream)

    def close(self):
        self.call("cuStreamDestroy_v2", self.stream)
        self.call("cuDevicePrimaryCtxRelease_v2", self.device)


# ---- training --------------------------------------------------------------------------------------------------------------

class Trainer:
    def __init__(self, device, args):
        self.device = device
        self.args = args
        self.kernels = device.load([*FORWARD, *BACKWARD, LOSS, OPTIMIZER, *WIDE.values(), *TRIALS, MEAN])
        self.evaluation = self.graph = None
        self.batch = device.alloc(BATCH_BYTES + LABEL_BYTES)
        self.weights = device.alloc(WEIGHT_BYTES)
        self.loss = device.alloc(LOSS_BYTES)
        self.staging = device.alloc_pinned(BATCH_BYTES + LABEL_BYTES) if args.pinned else None
        self.loss_on_host = ctypes.create_string_buffer(LOSS_BYTES)
        device.to_device(self.weights, random.Random(args.seed).randbytes(WEIGHT_BYTES), WEIGHT_BYTES)

    def launch(self, name):
        self.device.launch(self.kernels[name])

    def step(self, index, batch):
        """Copies, forward, backward, optimizer: all queued back to back; then waits for the loss."""
        if self.staging is not None:
            ctypes.memmove(self.staging, batch, len(batch))
            batch = self.staging
        self.device.to_device(self.batch, batch, len(batch))
        if self.args.graph:
            self.graph = self.graph or self.device.captured(lambda: self.compute(index))
            self.device.launch_graph(self.graph)
        else:
            self.compute(index)
        if index % self.args.accumulate != self.args.accumulate - 1:
            return 0
        if not self.args.graph:
            self.launch(OPTIMIZER)
        self.device.on_device(self.weights, self.batch, LOSS_BYTES)
        self.device.on_device(self.loss, c_uint64(self.batch.value + index % BATCH * SAMPLE_BYTES), LOSS_BYTES)
        loss = self.read_loss()
        if self.args.log_every and index % self.args.log_every == self.args.log_every - 1:
            self.launch(MEAN)
            self.read_loss()
        return loss

    def compute(self, index):
        """Forward and backward, and with --graph the optimizer."""
        wide = WIDE if self.args.shapes and index * 2654435761 >> 7 & 1 else {}
        for _ in range(LAYERS):
            for name in FORWARD:
                if index == 0 and self.args.warm_up:
                    for trial in TRIALS:
                        self.launch(trial)
                self.launch(wide.get(name, name))
            if self.args.item_each_layer:
                self.read_loss()  # a print, an assert, an .item(): the device runs dry while the host looks
        self.launch(LOSS)
        for _ in range(LAYERS):
            for name in BACKWARD:
                self.launch(wide.get(name, name))
        if self.args.graph:
            self.launch(OPTIMIZER)

    def read_loss(self):
        self.device.to_host(self.loss_on_host, self.loss)
        return zlib.crc32(self.loss_on_host.raw)

    def evaluate(self):
        """Its kernels are loaded when they are first needed."""
        if self.evaluation is None:
            self.evaluation = self.device.load([EVALUATION])[EVALUATION]
        self.device.launch(self.evaluation)
        self.device.synchronize()

    def validate(self, batches):
        """Forward alone, of so many batches."""
        for _ in range(batches):
            self.device.to_device(self.batch, bytes(BATCH_BYTES + LABEL_BYTES), BATCH_BYTES + LABEL_BYTES)
            for _ in range(LAYERS):
                for name in FORWARD:
                    self.launch(name)
            self.evaluate()
            self.read_loss()

    def save(self, path):
        weights = ctypes.create_string_buffer(WEIGHT_BYTES)
        self.device.to_host(weights, self.weights)
        with open(path, "wb") as file:
            file.write(weights.raw)
            file.flush()
            os.fsync(file.fileno())
        return zlib.crc32(weights.raw)

    def mistakes(self):
        """What the options ask for, between two steps."""
        args = self.args
        if args.sleep_ms:
            time.sleep(args.sleep_ms / 1000)
        if args.compute_ms:
            until = time.monotonic() + args.compute_ms / 1000
            while time.monotonic() < until:
                pass
        for _ in range(args.allocs):
            self.device.free(self.device.alloc(8 << 20))
        for _ in range(args.module_loads):
            self.device.load([EVALUATION])

    def workspace(self):
        """A buffer that is needed now and then."""
        self.device.free(self.device.alloc(4 << 20))


def train(folder, args):
    loader = Loader(folder, args)  # forked before the driver starts its threads
    device = Device()
    trainer = Trainer(device, args)
    step_log = open(args.step_log, "w") if args.step_log else None
    for index, batch in enumerate(loader.batches()):
        if step_log and index % args.accumulate == 0:
            print(time.clock_gettime_ns(time.CLOCK_MONOTONIC), file=step_log, flush=True)
        loss = trainer.step(index, batch)
        print(f"step {index} loss {loss:08x}", flush=True)
        if index % 10 == 6:
            trainer.workspace()
        if index % 20 == 12:
            trainer.evaluate()
        if args.checkpoint_every and index % args.checkpoint_every == args.checkpoint_every - 1:
            print(f"checkpoint {trainer.save(os.path.join(folder, 'checkpoint')):08x}", flush=True)
        if args.epoch and index % args.epoch == args.epoch - 1:
            trainer.validate(args.validate)
        trainer.mistakes()
    device.close()
    loader.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pinned", action="store_true", help="copy batches from pinned memory")
    parser.add_argument("--checkpoint-every", type=int, default=16, metavar="STEPS", help="0: never")
    parser.add_argument("--slow-loader", type=float, default=0, metavar="MS", help="the storage takes so much longer for a batch")
    parser.add_argument("--sleep-ms", type=float, default=0, metavar="MS", help="sleep between steps")
    parser.add_argument("--compute-ms", type=float, default=0, metavar="MS", help="compute on the host between steps")
    parser.add_argument("--item-each-layer", action="store_true", help="read a value back after each layer")
    parser.add_argument("--allocs", type=int, default=0, metavar="N", help="allocate and free device memory N times between steps")
    parser.add_argument("--module-loads", type=int, default=0, metavar="N", help="load N modules between steps")
    parser.add_argument("--step-log", metavar="FILE", help="write down when each step begins, CLOCK_MONOTONIC in ns")
    parser.add_argument("--warm-up", action="store_true", help="the first step tries kernels out")
    parser.add_argument("--shapes", action="store_true", help="batches have two shapes, for which kernels differ")
    parser.add_argument("--log-every", type=int, default=0, metavar="STEPS", help="look at one more value")
    parser.add_argument("--accumulate", type=int, default=1, metavar="N", help="a step is N batches")
    parser.add_argument("--graph", action="store_true", help="replay a graph in each step")
    parser.add_argument("--epoch", type=int, default=0, metavar="STEPS", help="validate after so many")
    parser.add_argument("--validate", type=int, default=5, metavar="BATCHES", help="… with so many batches")
    args = parser.parse_args()
    if args.steps < 0 or min(args.workers, args.accumulate) < 1:
        parser.error("--steps needs 0 or more, --workers and --accumulate 1 or more")
    folder = tempfile.mkdtemp(prefix="train-")
    try:
        write_shards(folder, args.seed)
        train(folder, args)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
