#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fits a curve with Dr.Jit, unmodified: a native program that traces arithmetic, writes PTX of its own, takes memory from the
driver's pools, and waits in one thread for what another submitted. On the simulated driver kernels compute nothing; what is
printed of the data has been on the device and back.
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
        if list(x) != list(Float(at)) or abs(x[7] - at[7]) > 1e-6:
            raise SystemExit("the samples did not come back as they were sent")
    dr.sync_thread()


if __name__ == "__main__":
    main()
