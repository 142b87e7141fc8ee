#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fits a curve with Dr.Jit, unmodified: a native library that traces arithmetic, makes kernels of its own in PTX, takes memory from
the driver's pools and calls the host from a stream. Its environment needs a HOME of its own: kernels are kept there from run to run.
On the simulated driver kernels compute nothing; the samples really go to the device and come back.
"""

import argparse
import random

import drjit as dr
from drjit.cuda.ad import Float

SAMPLES = 20_000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    rng = random.Random(args.seed)
    parameters = [Float(rng.random()) for _ in range(3)]
    for step in range(args.steps):
        at = [rng.random() for _ in range(SAMPLES)]
        x, target = Float(at), Float([value * value for value in at])
        dr.enable_grad(*parameters)
        a, b, c = parameters
        loss = dr.mean(dr.square((a * x + b) * x + c - target))
        dr.backward(loss)
        parameters = [Float(dr.detach(parameter) - 0.1 * dr.grad(parameter)) for parameter in parameters]
        dr.eval(loss, *parameters)
        print(f"step {step} loss {loss[0]:.6f}", flush=True)
        for number in (0, step, SAMPLES - 1):  # each is a copy from the device
            if abs(x[number] - at[number]) > 1e-6:
                raise SystemExit(f"sample {number} came back as {x[number]}, {at[number]} was sent")
    dr.sync_thread()


if __name__ == "__main__":
    main()
