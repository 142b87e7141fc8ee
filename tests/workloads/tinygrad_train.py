#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trains a small convolutional network with tinygrad, unmodified: what a framework does with the driver, where train.py shows what
a program can do. Its environment chooses the device and how steps run: DEV=CUDA:PTX makes kernels without any of NVIDIA's
compilers; JIT=0 launches each kernel as Python comes to it, JIT=2 replays the launches of a step, JIT=1 makes graphs of them.

On the simulated driver kernels compute nothing, so the loss is whatever the memory holds. The checksums printed beside it are of
what came back from the device: of a batch now and then, which must be what was sent, and in the end of all parameters.
"""

import argparse
import array
import random
import sys
import time
import zlib

from tinygrad import Device, Tensor, TinyJit, dtypes, nn
from tinygrad.helpers import Context

BATCH = 16
SIDE = 14  # an image has this many pixels a side, one channel
CLASSES = 10
CHECK_EVERY = 5  # steps


class Network:
    """Two convolutions and a classifier. Its parameters come from the host, so that they are known without any kernel."""

    def __init__(self, rng):
        self.first = nn.Conv2d(1, 4, 3)
        self.second = nn.Conv2d(4, 8, 3)
        self.classifier = nn.Linear(8 * 2 * 2, CLASSES)
        for parameter in nn.state.get_parameters(self):
            values = floats(rng.gauss(0, 0.1) for _ in range(parameter.numel()))
            parameter.replace(Tensor(values, dtype=dtypes.float32).reshape(parameter.shape).realize()).is_param_()

    def __call__(self, images):
        images = self.first(images).relu().max_pool2d()
        images = self.second(images).relu().max_pool2d()
        return self.classifier(images.flatten(1))


def floats(values):
    return array.array("f", values).tobytes()


def make_batch(rng):
    """Images and labels, as the host has them."""
    images = floats(rng.random() for _ in range(BATCH * SIDE * SIDE))
    labels = array.array("i", (rng.randrange(CLASSES) for _ in range(BATCH)))
    return images, labels.tobytes()


def to_devices(batch, devices):
    """Each device gets its part."""
    images = Tensor(batch[0], dtype=dtypes.float32).reshape(BATCH, 1, SIDE, SIDE)
    return [tensor.shard(devices, axis=0).realize() for tensor in (images, Tensor(batch[1], dtype=dtypes.int32))]


def checksum(buffers):
    total = 0
    for buffer in buffers:
        total = zlib.crc32(buffer, total)
    return f"{total:08x}"


def checksum_on_device(tensors):
    return checksum(tensor.data() for tensor in tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--optimizer", choices=("sgd", "adam"), default="sgd")
    parser.add_argument("--devices", type=int, default=1, help="share each batch among so many")
    parser.add_argument("--step-log", metavar="FILE", help="write down when each step begins, CLOCK_MONOTONIC in ns")
    args = parser.parse_args()

    step_log = open(args.step_log, "w") if args.step_log else None
    rng = random.Random(args.seed)
    devices = tuple(f"{Device.DEFAULT}:{number}" for number in range(args.devices))
    network = Network(rng)
    parameters = nn.state.get_parameters(network)
    for parameter in parameters:
        parameter.shard_(devices).realize()
    optimizer = nn.optim.Adam(parameters, lr=0.01) if args.optimizer == "adam" else nn.optim.SGD(parameters, lr=0.1, momentum=0.9)

    @TinyJit
    def train_step(images, labels):
        with Context(TRAINING=1):
            optimizer.zero_grad()
            loss = network(images).sparse_categorical_crossentropy(labels).backward()
            return loss.realize(*optimizer.schedule_step())

    for step in range(args.steps):
        batch = make_batch(rng)
        if step_log:
            print(time.clock_gettime_ns(time.CLOCK_MONOTONIC), file=step_log, flush=True)
        on_device = to_devices(batch, devices)
        loss = train_step(*on_device).item()
        line = f"step {step} loss {loss:.6f}"
        if step % CHECK_EVERY == 0:
            came_back = checksum_on_device(on_device)
            line += f" batch {came_back}"
            if came_back != checksum(batch) and args.devices == 1:  # putting parts together takes a kernel
                sys.exit(f"{line}, but {checksum(batch)} was sent")
        print(line, flush=True)
    print(f"parameters {checksum_on_device(parameters)}")


if __name__ == "__main__":
    main()
